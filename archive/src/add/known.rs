//! Captures that an archive already has, by content and by file metadata.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array as _, RecordBatch};
use arrow::datatypes::{Int64Type, TimestampNanosecondType};
use futures::{StreamExt as _, TryStreamExt as _};
use windlass_base::Failure;
use windlass_tables::ANALYSER;

use super::columns;
use super::source::Source;
use crate::store::{Batch, CAPTURES, Place, State, objects};

/// Batches whose captures are read concurrently.
const AT_ONCE: usize = 8;

/// Columns of `captures` that are read.
const COLUMNS: [&str; 8] = [
    "capture",
    "file",
    "copy_of",
    "error",
    "analyser",
    columns::SOURCE,
    columns::SOURCE_BYTES,
    columns::MODIFIED_TIME,
];

/// Size and modification time, which identify a file without reading it.
type Stamp = (u64, Option<i64>);

/// Returns whether a version is older than this one. Captures explained by a newer version stay.
pub fn is_older(analyser: &str) -> bool {
    let parts = |version: &str| -> Vec<u64> {
        version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    parts(analyser) < parts(ANALYSER)
}

/// Captures of an archive.
#[derive(Debug, Default)]
pub struct KnownCaptures {
    /// Batches that were read.
    batches: HashSet<String>,
    /// Sources explained by this version or a newer one.
    sources: HashMap<String, HashSet<Stamp>>,
    /// File of each explained content.
    captures: HashMap<Arc<str>, String>,
    /// Sources that could not be read, and will be tried again.
    unread: HashSet<String>,
    /// Sources and contents explained by an older version.
    older_sources: HashSet<String>,
    older_captures: HashSet<String>,
}

impl KnownCaptures {
    /// Reads the captures of batches that are new in a state.
    ///
    /// # Errors
    /// Returns an error if the captures cannot be read.
    pub async fn refresh(&mut self, place: &Place, state: &State) -> Result<(), Failure> {
        // Captures of a removed batch may be nowhere now.
        if self.batches.iter().any(|id| state.batch(id).is_none()) {
            *self = Self::default();
        }
        let fresh = state.batches().filter(|batch| !self.batches.contains(&batch.id));
        let fresh: Vec<Batch> = fresh.cloned().collect();
        let mut all = futures::stream::iter(fresh)
            .map(|batch| async move {
                let rows = objects::read(place, &batch, CAPTURES, Some(&COLUMNS)).await?;
                let rows: Vec<RecordBatch> = match rows {
                    Some(rows) => rows.batches.try_collect().await?,
                    None => Vec::new(),
                };
                Ok::<_, Failure>((batch.id, rows))
            })
            .buffered(AT_ONCE);
        while let Some((id, rows)) = all.try_next().await? {
            for batch in &rows {
                self.take(batch);
            }
            self.batches.insert(id);
        }
        Ok(())
    }

    fn take(&mut self, batch: &RecordBatch) {
        let text = |name| batch.column_by_name(name).map(arrow::array::AsArray::as_string::<i32>);
        let (capture, file, copy_of) = (text("capture"), text("file"), text("copy_of"));
        let (analyser, source) = (text("analyser"), text(columns::SOURCE));
        let error = text("error");
        let bytes = batch.column_by_name(columns::SOURCE_BYTES);
        let bytes = bytes.map(arrow::array::AsArray::as_primitive::<Int64Type>);
        let time = batch.column_by_name(columns::MODIFIED_TIME);
        let time = time.map(arrow::array::AsArray::as_primitive::<TimestampNanosecondType>);
        for row in 0..batch.num_rows() {
            let at = |column: Option<&arrow::array::StringArray>| {
                let column = column.filter(|column| column.is_valid(row));
                column.map(|column| column.value(row).to_owned())
            };
            let is_ours = !is_older(&at(analyser).unwrap_or_default());
            let is_unread = at(error).is_some() && at(capture).is_none();
            if let Some(source) = at(source) {
                if is_unread {
                    self.unread.insert(source);
                    continue;
                }
                let bytes = bytes.filter(|column| column.is_valid(row));
                let bytes = bytes.and_then(|column| u64::try_from(column.value(row)).ok());
                let time = time.filter(|column| column.is_valid(row));
                let time = time.map(|column| column.value(row));
                if is_ours {
                    let stamps = self.sources.entry(source).or_default();
                    stamps.extend(bytes.map(|bytes| (bytes, time)));
                } else {
                    self.older_sources.insert(source);
                }
            }
            if at(copy_of).is_some() || at(error).is_some() {
                continue;
            }
            match (at(capture), at(file)) {
                (Some(capture), Some(file)) if is_ours => {
                    self.captures.entry(capture.into()).or_insert(file);
                }
                (Some(capture), _) => {
                    self.older_captures.insert(capture);
                }
                (None, _) => {}
            }
        }
    }

    /// Returns whether a source need not be read, because one with this name, size and time was.
    pub fn has(&self, source: &Source) -> bool {
        source.is_exact
            && source.modified.is_some()
            && self
                .sources
                .get(&source.name)
                .is_some_and(|stamps| stamps.contains(&(source.bytes, source.modified)))
    }

    /// Returns whether a source with this name, size and time was explained.
    pub fn has_stamp(&self, source: &str, bytes: u64, modified: Option<i64>) -> bool {
        self.sources.get(source).is_some_and(|stamps| stamps.contains(&(bytes, modified)))
    }

    /// Returns the file with this content.
    pub fn first(&self, capture: &str) -> Option<&str> {
        self.captures.get(capture).map(String::as_str)
    }

    /// Returns whether a source could not be read before.
    pub fn is_unread(&self, source: &Source) -> bool {
        self.had_unread(&source.name)
    }

    /// Returns whether a source with this name could not be read before.
    pub fn had_unread(&self, source: &str) -> bool {
        self.unread.contains(source)
    }

    /// Returns whether new rows of this source or content replace existing ones: an older version
    /// wrote those, or the source could not be read.
    pub fn is_replaced_by(&self, source: &str, capture: Option<&str>) -> bool {
        self.older_sources.contains(source)
            || self.unread.contains(source)
            || capture.is_some_and(|capture| self.older_captures.contains(capture))
    }
}
