//! Results of sources, counted by the archive's log: executors may run a task twice, or die after
//! it.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::datatypes::{Int64Type, TimestampNanosecondType};
use futures::TryStreamExt as _;
use windlass_base::Failure;
use windlass_tables::PathPattern;

use crate::add::source::Source;
use crate::add::{Counts, KnownCaptures, MAX_PROBLEMS, Problem, columns, is_older, taken};
use crate::store::{CAPTURES, Place, State, objects};

/// Columns of `captures` that are read.
const COLUMNS: [&str; 9] = [
    "capture",
    "file",
    "copy_of",
    "error",
    "damage",
    "analyser",
    columns::SOURCE,
    columns::SOURCE_BYTES,
    columns::MODIFIED_TIME,
];

/// Source that was requested.
#[derive(Clone, Copy, Debug, Default)]
struct RequestedSource {
    bytes: u64,
    is_told: bool,
}

/// Requested sources, and the rows that came of them.
#[derive(Debug)]
pub struct AddTally<'a> {
    before: &'a KnownCaptures,
    pattern: Option<&'a PathPattern>,
    wanted: HashMap<String, RequestedSource>,
    batches: HashSet<String>,
    /// Files of counted rows: compaction writes rows again.
    files: HashSet<String>,
    /// Counts of the new rows.
    pub counts: Counts,
    /// Files whose names do not match the pattern.
    pub unmatched: u64,
    /// First files that could not be explained.
    pub problems: Vec<Problem>,
}

impl<'a> AddTally<'a> {
    /// Starts the count for these sources. `before` and `state` describe the archive before.
    pub fn new(
        sources: &[Source],
        before: &'a KnownCaptures,
        state: &State,
        pattern: Option<&'a PathPattern>,
    ) -> Self {
        let wanted = |source: &Source| {
            (source.name.clone(), RequestedSource { bytes: source.bytes, is_told: false })
        };
        Self {
            before,
            pattern,
            wanted: sources.iter().map(wanted).collect(),
            batches: state.batches().map(|batch| batch.id.clone()).collect(),
            files: HashSet::new(),
            counts: Counts::default(),
            unmatched: 0,
            problems: Vec::new(),
        }
    }

    /// Reads batches that are new in a state.
    ///
    /// # Errors
    /// Returns an error if the archive cannot be read.
    pub async fn refresh(&mut self, place: &Place, state: &State) -> Result<(), Failure> {
        let fresh: Vec<_> =
            state.batches().filter(|batch| !self.batches.contains(&batch.id)).cloned().collect();
        for batch in fresh {
            let rows = objects::read(place, &batch, CAPTURES, Some(&COLUMNS)).await?;
            if let Some(rows) = rows {
                let rows: Vec<RecordBatch> = rows.batches.try_collect().await?;
                rows.iter().for_each(|rows| self.take(rows));
            }
            self.batches.insert(batch.id);
        }
        Ok(())
    }

    fn take(&mut self, rows: &RecordBatch) {
        let text = |name: &str, row: usize| {
            let column = rows.column_by_name(name)?.as_string::<i32>();
            column.is_valid(row).then(|| column.value(row))
        };
        for row in 0..rows.num_rows() {
            let Some(source) = text(columns::SOURCE, row) else { continue };
            let Some(wanted) = self.wanted.get_mut(source) else { continue };
            let is_unread = text("error", row).is_some() && text("capture", row).is_none();
            let stamp = stamp(rows, row);
            let was_there = is_older(text("analyser", row).unwrap_or_default())
                || (if is_unread {
                    self.before.had_unread(source)
                } else {
                    stamp.is_some_and(|(bytes, time)| self.before.has_stamp(source, bytes, time))
                });
            let file = text("file", row).unwrap_or(source);
            if was_there || !self.files.insert(file.to_owned()) {
                continue;
            }
            wanted.is_told = true;
            let is_unmatched = |pattern: &PathPattern| taken(pattern, source, file).is_none();
            self.unmatched += u64::from(self.pattern.is_some_and(is_unmatched));
            if let Some(wrong) = text("error", row) {
                self.counts.failed += 1;
                self.problem(file, wrong);
            } else if text("copy_of", row).is_some() {
                self.counts.copies += 1;
            } else {
                self.counts.explained += 1;
                self.counts.damaged += u64::from(text("damage", row).is_some());
            }
        }
    }

    fn problem(&mut self, file: &str, wrong: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { file: file.to_owned(), wrong: wrong.to_owned() });
        }
    }

    /// Returns the number of finished sources, and their bytes.
    pub fn so_far(&self) -> (usize, u64) {
        let told = self.wanted.values().filter(|wanted| wanted.is_told);
        told.fold((0, 0), |(count, bytes), wanted| (count + 1, bytes + wanted.bytes))
    }

    /// Returns whether a source has new rows.
    pub fn has(&self, source: &Source) -> bool {
        self.wanted.get(&source.name).is_some_and(|wanted| wanted.is_told)
    }

    /// Counts a source that still cannot be read: its row stays.
    pub fn still_unread(&mut self, source: &Source) {
        self.counts.failed += 1;
        self.problem(&source.name, "it still cannot be read; its row of captures has the reason");
        if let Some(wanted) = self.wanted.get_mut(&source.name) {
            wanted.is_told = true;
        }
    }
}

fn stamp(rows: &RecordBatch, row: usize) -> Option<(u64, Option<i64>)> {
    let bytes = rows.column_by_name(columns::SOURCE_BYTES)?.as_primitive::<Int64Type>();
    let time = rows.column_by_name(columns::MODIFIED_TIME)?;
    let time = time.as_primitive::<TimestampNanosecondType>();
    let bytes = u64::try_from(bytes.is_valid(row).then(|| bytes.value(row))?).ok()?;
    Some((bytes, time.is_valid(row).then(|| time.value(row))))
}
