//! Captures on their way into an archive, until they are there whole.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Array as _, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use windlass_base::Failure;
use windlass_explain::file::Explained;
use windlass_tables::{CaptureRow, PathPattern, Table, TableWriter, Tables};

use super::columns;
use super::known::Known;
use super::source::Source;
use crate::store::objects::{self, Staged};
use crate::store::{CAPTURES, Change, Did, Place, State, new_id};
use crate::sums;

/// A batch is large enough when its captures have so many bytes,
const ENOUGH_BYTES: u64 = 1 << 30;

/// or its tables have so many rows,
const ENOUGH_ROWS: u64 = 1 << 20;

/// or when it was begun so long ago: no more than that is lost by who is killed.
const ENOUGH_TIME: Duration = Duration::from_secs(30);

/// A row of `captures`, and where it came from.
#[derive(Clone, Debug)]
struct Row {
    row: CaptureRow,
    source: Source,
}

/// What came of captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Captures that were explained, whole or to where they are damaged.
    pub explained: u64,
    /// Of these, damaged ones.
    pub damaged: u64,
    /// Files with a content that is there.
    pub copies: u64,
    /// Files that could not be explained.
    pub failed: u64,
}

impl Counts {
    fn of(rows: &[Row]) -> Self {
        let mut counts = Self::default();
        for Row { row, .. } in rows {
            if row.error.is_some() {
                counts.failed += 1;
            } else if row.copy_of.is_some() {
                counts.copies += 1;
            } else {
                counts.explained += 1;
                let is_damaged = row.facts.as_ref().is_some_and(|facts| facts.damage.is_some());
                counts.damaged += u64::from(is_damaged);
            }
        }
        counts
    }

    /// The sum with others.
    pub fn add(&mut self, other: Self) {
        self.explained += other.explained;
        self.damaged += other.damaged;
        self.copies += other.copies;
        self.failed += other.failed;
    }
}

/// A table that is written to a file without a name.
struct Staging {
    table: Table,
    writer: TableWriter<File>,
}

/// Captures that are not in the archive yet.
pub struct Building<'a> {
    pattern: Option<&'a PathPattern>,
    tables: Tables,
    staged: Vec<Staging>,
    /// The rows of sources that are told to their end, and of the one that is not.
    rows: Vec<Row>,
    open: Vec<Row>,
    /// Contents whose connections are in the tables, and those of the source that is not at its
    /// end.
    told: HashSet<Arc<str>>,
    open_told: HashSet<Arc<str>>,
    /// Contents of which only a part was told.
    broken: HashSet<Arc<str>>,
    bytes: u64,
    began: Instant,
}

impl std::fmt::Debug for Building<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Building").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

/// The tables that hang on captures.
fn hanging() -> impl Iterator<Item = Table> {
    Table::ALL.into_iter().filter(|table| *table != Table::Captures)
}

/// What captures have by a pattern of their names.
fn field_names(pattern: Option<&PathPattern>) -> Vec<String> {
    let fields = pattern.into_iter().flat_map(PathPattern::fields);
    fields.map(|field| field.name().to_owned()).collect()
}

fn staging(error: &dyn std::fmt::Display) -> Failure {
    Failure::new("cannot write a table to the folder of temporary files", error)
        .advise("Is its disk full? TMPDIR names another folder.")
}

impl<'a> Building<'a> {
    /// None yet.
    ///
    /// # Errors
    /// Where there is no room for them.
    pub fn new(pattern: Option<&'a PathPattern>) -> Result<Self, Failure> {
        let staged = hanging().map(|table| {
            let writer = TableWriter::new(tempfile::tempfile()?, table, None)?;
            Ok(Staging { table, writer })
        });
        Ok(Self {
            pattern,
            tables: Tables::new(pattern),
            staged: staged.collect::<io::Result<_>>().map_err(|error| staging(&error))?,
            rows: Vec::new(),
            open: Vec::new(),
            told: HashSet::new(),
            open_told: HashSet::new(),
            broken: HashSet::new(),
            bytes: 0,
            began: Instant::now(),
        })
    }

    /// Whether this content has its connections here.
    pub fn has(&self, capture: &str) -> bool {
        self.told.contains(capture) || self.open_told.contains(capture)
    }

    /// The file that has this content, where it is one of these.
    fn first(&self, capture: &str) -> Option<&str> {
        let rows = self.rows.iter().chain(&self.open).map(|row| &row.row);
        let mut first = rows.filter(|row| row.copy_of.is_none() && row.error.is_none());
        first.find(|row| row.capture.as_deref() == Some(capture)).map(|row| row.file.as_str())
    }

    /// Takes connections of a content that is nowhere else.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn connections(&mut self, rows: Vec<Explained>) -> Result<(), Failure> {
        for (row, seconds) in rows {
            if !self.open_told.contains(&row.capture) {
                self.open_told.insert(Arc::clone(&row.capture));
            }
            self.tables.connection(&row, seconds);
        }
        let full = self.tables.full().map_err(|error| staging(&error))?;
        self.stage(full)
    }

    fn stage(&mut self, batches: Vec<(Table, RecordBatch)>) -> Result<(), Failure> {
        for (table, batch) in batches {
            if let Some(staged) = self.staged.iter_mut().find(|staged| staged.table == table) {
                staged.writer.write(&batch).map_err(|error| staging(&error))?;
            }
        }
        Ok(())
    }

    /// Takes a capture, behind its connections.
    pub fn capture(&mut self, mut row: CaptureRow, source: &Source, known: &Known) {
        if row.error.is_none()
            && let Some(capture) = row.capture.as_deref()
        {
            let first = known.first(capture).or_else(|| self.first(capture));
            row.copy_of = first.map(str::to_owned);
        }
        match &row.capture {
            // What was told of it before it failed is a part of it.
            Some(capture) if row.error.is_some() => {
                self.broken.extend(self.open_told.get(capture).cloned());
            }
            Some(capture) if row.copy_of.is_none() => {
                self.open_told.insert(Arc::clone(capture));
            }
            _ => {}
        }
        self.open.push(Row { row, source: source.clone() });
    }

    /// A source is told to its end.
    pub fn end(&mut self, source: &Source) {
        self.rows.append(&mut self.open);
        self.told.extend(self.open_told.drain());
        self.bytes += source.bytes;
    }

    /// Whether it should go into the archive, where so many captures are enough.
    pub fn is_enough(&self, captures: usize) -> bool {
        self.bytes >= ENOUGH_BYTES
            || self.rows.len() >= captures
            || self.staged.iter().any(|staged| staged.writer.rows() >= ENOUGH_ROWS)
            || self.began.elapsed() >= ENOUGH_TIME && !self.rows.is_empty()
    }

    /// Puts it into the archive: of the source that is not told to its end nothing, and nothing
    /// that another has put there meanwhile.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub async fn commit(
        mut self,
        place: &Place,
        state: &mut State,
        known: &mut Known,
    ) -> Result<Counts, Failure> {
        let rest = self.tables.rest().map_err(|error| staging(&error))?;
        self.stage(rest)?;
        let mut rows = std::mem::take(&mut self.rows);
        // Connections of a source that was broken off.
        let mut dropped: HashSet<Arc<str>> =
            self.open_told.drain().filter(|capture| !self.told.contains(capture)).collect();
        dropped.extend(self.broken.drain());
        let mut tables = Vec::new();
        for Staging { table, writer } in std::mem::take(&mut self.staged) {
            let rows = writer.rows();
            let file = writer.finish().map_err(|error| staging(&error))?;
            tables.push(Staged { table: table.id(), file, rows });
        }
        let mut is_clean = dropped.is_empty();
        let mut is_summed = false;
        let id = new_id()?;
        let mut still_failed = 0;
        loop {
            state.refresh(place).await?;
            known.refresh(place, state).await?;
            for capture in settle(&mut rows, known, &self.told, &mut still_failed) {
                is_clean &= !dropped.insert(capture);
            }
            if rows.is_empty() {
                return Ok(Counts { failed: still_failed, ..Counts::default() });
            }
            if !is_clean {
                for staged in &mut tables {
                    let kept = without(staged, &dropped).map_err(|error| staging(&error))?;
                    *staged = kept;
                }
                is_clean = true;
                is_summed = false;
            }
            if !is_summed {
                sums::add(&mut tables).await?;
                is_summed = true;
            }
            tables.retain(|staged| staged.table != CAPTURES);
            tables.push(self.captures(&rows)?);
            let mut batch = objects::put(place, &id, &mut tables).await?;
            let replaces = |Row { row, source }: &Row| {
                known.is_replaced_by(&source.name, row.capture.as_deref())
            };
            batch.fields = field_names(self.pattern);
            batch.held = rows.iter().any(replaces);
            let change = Change { add: vec![batch], ..Change::new(Did::Add) };
            if state.commit(place, change).await? {
                known.refresh(place, state).await?;
                let mut counts = Counts::of(&rows);
                counts.failed += still_failed;
                return Ok(counts);
            }
        }
    }

    /// The table of the captures themselves.
    fn captures(&self, rows: &[Row]) -> Result<Staged, Failure> {
        let write = || -> Result<Staged, Box<dyn std::error::Error>> {
            let mut tables = Tables::new(self.pattern);
            for Row { row, .. } in rows {
                tables.capture(row);
            }
            let schema = columns::captures(self.pattern);
            let file = tempfile::tempfile()?;
            let mut writer = TableWriter::with_schema(file, CAPTURES, Arc::clone(&schema))?;
            let mut from = 0;
            for (_, batch) in tables.rest()? {
                let to = from + batch.num_rows();
                let sources: Vec<&Source> = rows[from..to].iter().map(|row| &row.source).collect();
                writer.write(&columns::with_sources(&batch, &schema, &sources)?)?;
                from = to;
            }
            Ok(Staged { table: CAPTURES, rows: writer.rows(), file: writer.finish()? })
        };
        write().map_err(|error| staging(&error))
    }
}

/// Holds rows against what is in the archive: those of a source that is there go, those of a
/// content that is there are copies. The contents whose connections go are returned. Those that
/// could not be read and still cannot are counted.
fn settle(
    rows: &mut Vec<Row>,
    known: &Known,
    told: &HashSet<Arc<str>>,
    still_failed: &mut u64,
) -> Vec<Arc<str>> {
    let mut dropped = Vec::new();
    rows.retain_mut(|Row { row, source }| {
        if row.error.is_some() && row.capture.is_none() && known.is_unread(source) {
            *still_failed += 1;
            return false;
        }
        let Some(capture) = row.capture.clone().filter(|_| row.error.is_none()) else {
            return !known.has(source);
        };
        let Some(first) = known.first(&capture) else {
            // A copy of one that was dropped meanwhile has its connections nowhere: the next run
            // adds it.
            return row.copy_of.is_none() || told.contains(&capture);
        };
        if row.copy_of.is_none() {
            dropped.push(Arc::clone(&capture));
        }
        if known.has(source) {
            return false;
        }
        row.copy_of = Some(first.to_owned());
        true
    });
    dropped
}

/// The rows of a staged table but those of some captures.
fn without(
    staged: &Staged,
    dropped: &HashSet<Arc<str>>,
) -> Result<Staged, Box<dyn std::error::Error>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(staged.file.try_clone()?)?;
    let schema = Arc::clone(builder.schema());
    let mut writer = TableWriter::with_schema(tempfile::tempfile()?, staged.table, schema)?;
    for batch in builder.build()? {
        let batch = batch?;
        let captures = batch.column_by_name("capture").map(arrow::array::AsArray::as_string::<i32>);
        let Some(captures) = captures else { return Err("it has no column capture".into()) };
        let is_kept = |row| !captures.is_valid(row) || !dropped.contains(captures.value(row));
        let kept: BooleanArray = (0..batch.num_rows()).map(|row| Some(is_kept(row))).collect();
        writer.write(&filter_record_batch(&batch, &kept)?)?;
    }
    Ok(Staged { table: staged.table, rows: writer.rows(), file: writer.finish()? })
}
