//! Replacement of captures that an older version explained, or that could not be read.
//!
//! The new rows are committed as hidden batches. When all are there, one log entry shows them and
//! removes the older rows: a reader sees each capture once, as one version explained it.

use std::collections::HashSet;

use arrow::array::{BooleanArray, RecordBatch};
use futures::TryStreamExt as _;
use windlass_base::Failure;

use crate::add::columns::SOURCE;
use crate::add::is_older;
use crate::rewrite::{rewrite, text};
use crate::store::{Batch, CAPTURES, Change, ChangeReason, Place, State, objects};

const COLUMNS: [&str; 5] = ["capture", "copy_of", "error", "analyser", SOURCE];

/// Sources and contents of the hidden batches.
#[derive(Debug, Default)]
struct HiddenContents {
    sources: HashSet<String>,
    captures: HashSet<String>,
}

impl HiddenContents {
    async fn of(place: &Place, held: &[Batch]) -> Result<Self, Failure> {
        let mut fresh = Self::default();
        for batch in held {
            for rows in captures(place, batch).await? {
                for row in 0..rows.num_rows() {
                    fresh.sources.extend(text(&rows, SOURCE, row).map(str::to_owned));
                    if text(&rows, "copy_of", row).is_none() {
                        fresh.captures.extend(text(&rows, "capture", row).map(str::to_owned));
                    }
                }
            }
        }
        Ok(fresh)
    }

    /// Returns whether the hidden batches replace a row.
    fn replaces(&self, rows: &RecordBatch, row: usize) -> bool {
        let has = |set: &HashSet<String>, column| {
            text(rows, column, row).is_some_and(|value| set.contains(value))
        };
        let is_copy = text(rows, "copy_of", row).is_some();
        let is_unread = text(rows, "error", row).is_some() && text(rows, "capture", row).is_none();
        if is_unread && has(&self.sources, SOURCE) {
            return true;
        }
        is_older(text(rows, "analyser", row).unwrap_or_default())
            && (has(&self.sources, SOURCE) || !is_copy && has(&self.captures, "capture"))
    }

    fn kept(&self, rows: &RecordBatch) -> BooleanArray {
        (0..rows.num_rows()).map(|row| Some(!self.replaces(rows, row))).collect()
    }
}

async fn captures(place: &Place, batch: &Batch) -> Result<Vec<RecordBatch>, Failure> {
    match objects::read(place, batch, CAPTURES, Some(&COLUMNS)).await? {
        Some(rows) => rows.batches.try_collect().await,
        None => Ok(Vec::new()),
    }
}

/// Shows the hidden batches in place of the rows that they replace, and returns the number of
/// replaced captures.
///
/// # Errors
/// Returns an error if the archive cannot be read or written.
pub async fn show_held(place: &Place, state: &mut State) -> Result<u64, Failure> {
    loop {
        let held: Vec<Batch> = state.batches().filter(|batch| batch.held).cloned().collect();
        if held.is_empty() {
            return Ok(0);
        }
        let fresh = HiddenContents::of(place, &held).await?;
        let mut change = Change::new(ChangeReason::Replace);
        let mut replaced = 0;
        for batch in state.seen() {
            let all = captures(place, batch).await?;
            if all.iter().all(|rows| fresh.kept(rows).true_count() == rows.num_rows()) {
                continue;
            }
            let rewritten = rewrite(place, &[batch], |rows| Ok(fresh.kept(rows))).await?;
            replaced += rewritten.dropped;
            change.remove.push(batch.id.clone());
            change.add.extend(rewritten.batch);
        }
        change.remove.extend(held.iter().map(|batch| batch.id.clone()));
        change.add.extend(held.into_iter().map(|batch| Batch { held: false, ..batch }));
        if state.commit(place, change).await? {
            return Ok(replaced);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray};
    use tokio::runtime::Runtime;
    use windlass_tables::TableWriter;

    use super::*;
    use crate::add::{Job, Summary, add};
    use crate::store::objects::StagedTable;

    /// Marks the captures of an archive as those of an older version.
    async fn age(place: &Place) {
        let mut state = State::read(place).await.unwrap();
        let batches: Vec<Batch> = state.seen().cloned().collect();
        let of: Vec<&Batch> = batches.iter().collect();
        let keep = |rows: &RecordBatch| Ok(BooleanArray::from(vec![true; rows.num_rows()]));
        let mut aged = rewrite(place, &of, keep).await.unwrap().batch.unwrap();
        let rows = objects::read(place, &aged, CAPTURES, None).await.unwrap().unwrap();
        let schema = Arc::clone(&rows.schema);
        let file = tempfile::tempfile().unwrap();
        let mut writer = TableWriter::with_schema(file, CAPTURES, Arc::clone(&schema)).unwrap();
        for rows in rows.batches.try_collect::<Vec<_>>().await.unwrap() {
            let mut columns = rows.columns().to_vec();
            let old: ArrayRef = Arc::new(StringArray::from(vec!["0.0.9"; rows.num_rows()]));
            columns[schema.index_of("analyser").unwrap()] = old;
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()).unwrap();
        }
        let rows = writer.rows();
        let mut staged = [StagedTable { table: CAPTURES, rows, file: writer.finish().unwrap() }];
        let put = objects::put(place, &aged.id, &mut staged).await.unwrap();
        aged.tables.extend(put.tables);
        let mut change = Change::new(ChangeReason::Add);
        change.remove = batches.into_iter().map(|batch| batch.id).collect();
        change.add.push(aged);
        assert!(state.commit(place, change).await.unwrap());
    }

    fn added(runtime: &Runtime, from: &Path, into: &Place) -> Summary {
        let paths = [from.to_str().unwrap().to_owned()];
        let job = Job {
            paths: &paths,
            into,
            pattern: None,
            newer_than: None,
            at_once: 1,
            batch: 1,
            reread: false,
        };
        add(&job, &Arc::default(), runtime.handle(), |_| {}).unwrap()
    }

    async fn versions(place: &Place) -> Vec<(String, bool)> {
        let state = State::read(place).await.unwrap();
        let mut all = Vec::new();
        for batch in state.seen() {
            for rows in captures(place, batch).await.unwrap() {
                for row in 0..rows.num_rows() {
                    let of = |name| text(&rows, name, row).map(str::to_owned);
                    all.push((of("analyser").unwrap(), of("copy_of").is_some()));
                }
            }
        }
        all.sort();
        all
    }

    #[test]
    fn what_an_older_version_explained_is_replaced_in_one_step() {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("captures");
        std::fs::create_dir(&from).unwrap();
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus");
        for (name, file) in [
            ("a", "nagle-delayed-ack.snd.pcap.gz"),
            ("b", "loss-ack-loss.rcv.pcap.gz"),
            ("c", "nagle-delayed-ack.snd.pcap.gz"),
        ] {
            std::fs::copy(corpus.join(file), from.join(name)).unwrap();
        }
        let into = Place::made(folder.path().join("archive").to_str().unwrap(), "").unwrap();
        let first = added(&runtime, &from, &into);
        assert_eq!((first.counts.explained, first.counts.copies), (2, 1));
        runtime.block_on(age(&into));
        let version = windlass_tables::ANALYSER.to_owned();

        // One of them is added again: the other capture and its copy stay.
        let one = added(&runtime, &from.join("b"), &into);
        assert_eq!((one.counts.explained, one.replaced), (1, 1));
        let old = "0.0.9".to_owned();
        let expected = [(old.clone(), false), (old, true), (version.clone(), false)];
        assert_eq!(runtime.block_on(versions(&into)), expected);

        let rest = added(&runtime, &from, &into);
        assert_eq!((rest.there, rest.counts.explained, rest.counts.copies), (1, 1, 1));
        assert_eq!(rest.replaced, 2);
        let expected = [(version.clone(), false), (version.clone(), false), (version, true)];
        assert_eq!(runtime.block_on(versions(&into)), expected);
        assert_eq!(added(&runtime, &from, &into).there, 3);
        // No hidden batch is left.
        let state = runtime.block_on(State::read(&into)).unwrap();
        assert!(state.batches().all(|batch| !batch.held));
    }
}
