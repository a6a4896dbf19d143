//! Compaction of small objects, removal of old captures, and deletion of unused objects.

use std::collections::HashMap;
use std::time::Duration;

use arrow::array::{Array as _, AsArray as _, BooleanArray, RecordBatch};
use arrow::datatypes::TimestampNanosecondType;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::{SignedDuration, Timestamp};
use object_store::ObjectStoreExt as _;
use windlass_base::Failure;

use crate::add::columns::MODIFIED_TIME;
use crate::rewrite::rewrite;
use crate::store::place::plain;
use crate::store::{self, Batch, CAPTURES, Change, ChangeReason, Place, State, objects};

/// Size limit of a batch's largest object for compaction.
const SMALL: u64 = 128 << 20;

/// Target size of the largest object. With a last batch just below the limit, the result stays
/// below 512 MB.
const FULL: u64 = 256 << 20;

/// Time for which objects that no log entry names may belong to a running writer.
const STRANGE_FOR: Duration = Duration::from_hours(24);

/// Objects that are queried or deleted concurrently.
const AT_ONCE: usize = 16;

/// Counts of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionCounts {
    /// Batches that were joined.
    pub batches: u64,
    /// Batches that they became.
    pub into: u64,
}

/// Returns groups of batches to join, ordered by name, which is by age.
fn groups(batches: Vec<Batch>, small: u64, full: u64) -> Vec<Vec<Batch>> {
    let mut groups = Vec::new();
    let mut group: Vec<Batch> = Vec::new();
    let mut sizes: HashMap<String, u64> = HashMap::new();
    for batch in batches.into_iter().filter(|batch| batch.largest() < small) {
        for (table, object) in &batch.tables {
            *sizes.entry(table.clone()).or_default() += object.bytes;
        }
        group.push(batch);
        if sizes.values().any(|bytes| *bytes >= full) {
            groups.push(std::mem::take(&mut group));
            sizes.clear();
        }
    }
    groups.push(group);
    groups.retain(|group| group.len() > 1);
    groups
}

/// Joins small batches. Each group is committed before the next is begun.
///
/// # Errors
/// Returns an error if the archive cannot be read or written.
pub async fn compact(
    place: &Place,
    state: &mut State,
    mut on_progress: impl FnMut(u64, u64),
) -> Result<CompactionCounts, Failure> {
    let mut compacted = CompactionCounts::default();
    let all: u64 = groups(state.seen().cloned().collect(), SMALL, FULL)
        .iter()
        .map(|group| group.len() as u64)
        .sum();
    while let Some(group) = groups(state.seen().cloned().collect(), SMALL, FULL).into_iter().next()
    {
        on_progress(compacted.batches, all);
        let of: Vec<&Batch> = group.iter().collect();
        let keep = |rows: &RecordBatch| Ok(BooleanArray::from(vec![true; rows.num_rows()]));
        let rewritten = rewrite(place, &of, keep).await?;
        let mut change = Change::new(ChangeReason::Compact);
        change.remove = group.iter().map(|batch| batch.id.clone()).collect();
        change.add.extend(rewritten.batch);
        // Another process may have removed some of them since.
        if commit_if_there(place, state, change).await? {
            compacted.batches += group.len() as u64;
            compacted.into += 1;
        }
    }
    Ok(compacted)
}

/// Commits a change, unless a batch that it removes is gone.
async fn commit_if_there(
    place: &Place,
    state: &mut State,
    change: Change,
) -> Result<bool, Failure> {
    loop {
        let is_there = |id: &String| state.batch(id).is_some_and(|batch| !batch.held);
        if !change.remove.iter().all(is_there) {
            return Ok(false);
        }
        if state.commit(place, change.clone()).await? {
            return Ok(true);
        }
    }
}

/// Returns the end time of each capture, or else the modification time of its file.
fn times(rows: &RecordBatch) -> Result<Vec<Option<i64>>, Failure> {
    let column = |name| {
        let column = rows.column_by_name(name);
        column.and_then(|column| column.as_primitive_opt::<TimestampNanosecondType>())
    };
    let (Some(end), Some(modified)) = (column("end_time"), column(MODIFIED_TIME)) else {
        let wrong = "its captures have no times";
        return Err(Failure::new("cannot tell the age of captures in the archive", wrong));
    };
    let at = |row| {
        let of = |column: &arrow::array::TimestampNanosecondArray| {
            column.is_valid(row).then(|| column.value(row))
        };
        of(end).or_else(|| of(modified))
    };
    Ok((0..rows.num_rows()).map(at).collect())
}

/// Drops captures that ended before a time, and returns their number.
///
/// # Errors
/// Returns an error if the archive cannot be read or written.
pub async fn retain(place: &Place, state: &mut State, before: Timestamp) -> Result<u64, Failure> {
    // The columns hold no earlier time.
    let before = i64::try_from(before.as_nanosecond()).unwrap_or(i64::MIN);
    // A capture of unknown age stays.
    let is_kept = |time: &Option<i64>| Some(time.is_none_or(|time| time >= before));
    let keep = |rows: &RecordBatch| {
        Ok::<_, Failure>(times(rows)?.iter().map(is_kept).collect::<BooleanArray>())
    };
    let mut dropped = 0;
    let ids: Vec<String> = state.seen().map(|batch| batch.id.clone()).collect();
    for id in ids {
        // The batch may have been removed since; the next run examines the batch that replaced it.
        let Some(batch) = state.batch(&id).cloned() else { continue };
        let columns = ["end_time", MODIFIED_TIME];
        let rows = objects::read(place, &batch, CAPTURES, Some(&columns)).await?;
        let Some(mut rows) = rows else { continue };
        let mut goes = false;
        while let Some(rows) = rows.batches.try_next().await? {
            goes |= keep(&rows)?.false_count() > 0;
        }
        if !goes {
            continue;
        }
        let rewritten = rewrite(place, &[&batch], &keep).await?;
        let mut change = Change::new(ChangeReason::Retain);
        change.remove.push(id);
        change.add.extend(rewritten.batch);
        if commit_if_there(place, state, change).await? {
            dropped += rewritten.dropped;
        }
    }
    Ok(dropped)
}

/// Deletes objects of batches removed longer than `grace` ago, so that their readers are done, and
/// the remains of killed writers. Returns the number of objects.
///
/// # Errors
/// Returns an error if the archive cannot be read or written.
pub async fn clean(place: &Place, state: &mut State, grace: Duration) -> Result<u64, Failure> {
    let now = Timestamp::now();
    let is_old = |since: Timestamp, age: Duration| {
        SignedDuration::try_from(age).is_ok_and(|age| now.duration_since(since) >= age)
    };
    let old: Vec<String> =
        state.gone().filter(|gone| is_old(gone.at, grace)).map(|gone| gone.id).collect();
    let mut doomed = Vec::new();
    for table in store::tables() {
        let folder = place.key(table);
        let failed =
            |error| Failure::new(format!("cannot list the archive {place}"), plain(&error));
        let list = async || place.store().list(Some(&folder)).try_collect::<Vec<_>>().await;
        let objects = place.patiently(list).await.map_err(failed)?;
        doomed.extend(objects.into_iter().filter_map(|object| {
            let id = object.location.filename()?.strip_suffix(".parquet")?;
            let made = object.last_modified.timestamp();
            let is_strange = !state.knows(id)
                && Timestamp::from_second(made).is_ok_and(|made| is_old(made, STRANGE_FOR));
            (is_strange || old.iter().any(|old| old == id)).then_some(object.location)
        }));
    }
    let count = doomed.len() as u64;
    let failed = |error| {
        Failure::new(format!("cannot delete objects of the archive {place}"), plain(&error))
            .advise("These files are no longer read; run the command again to delete them.")
    };
    futures::stream::iter(doomed)
        .map(|key| async move {
            match place.patiently(async || place.store().delete(&key).await).await {
                Err(object_store::Error::NotFound { .. }) => Ok(()),
                other => other,
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await
        .map_err(failed)?;
    sweep(place);
    if !old.is_empty() {
        let change = Change { forget: old, ..Change::new(ChangeReason::Clean) };
        // A concurrent change does not affect the deleted objects.
        while !state.commit(place, change.clone()).await? {}
    }
    Ok(count)
}

/// Deletes the remains of a killed writer in a folder.
fn sweep(place: &Place) {
    let Some(folder) = place.folder() else { return };
    let folders = store::tables().chain(["log"]);
    for file in folders.filter_map(|name| folder.join(name).read_dir().ok()).flatten().flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        let is_part = name.starts_with(".tmp") || name.contains(".parquet#");
        let age = file.metadata().and_then(|about| about.modified()).ok();
        let is_old = age.and_then(|time| time.elapsed().ok()).is_some_and(|age| age >= STRANGE_FOR);
        if is_part && is_old {
            // The next run tries again.
            let _ = std::fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::log::Object;

    fn batch(id: &str, sizes: &[(&str, u64)]) -> Batch {
        let object = |bytes| Object { rows: 1, bytes };
        let tables = sizes.iter().map(|(table, bytes)| ((*table).to_owned(), object(*bytes)));
        Batch { id: id.to_owned(), tables: tables.collect(), fields: Vec::new(), held: false }
    }

    fn named(groups: Vec<Vec<Batch>>) -> Vec<String> {
        let names = |group: Vec<Batch>| {
            group.into_iter().map(|batch| batch.id).collect::<Vec<_>>().join(" ")
        };
        groups.into_iter().map(names).collect()
    }

    #[test]
    fn small_batches_are_joined_until_one_table_is_large() {
        let sizes = [60, 200, 90, 120, 70, 10, 20];
        let batches = sizes.iter().zip('a'..);
        let batches = batches.map(|(bytes, id)| batch(&id.to_string(), &[("rtt", *bytes)]));
        assert_eq!(named(groups(batches.collect(), 128, 256)), ["a c d", "e f g"]);
        let many = (0..4).map(|id| batch(&id.to_string(), &[("rtt", 100), ("verdicts", 1)]));
        assert_eq!(named(groups(many.collect(), 128, 256)), ["0 1 2"]);
        assert!(groups(vec![batch("a", &[("rtt", 1)])], 128, 256).is_empty());
    }
}
