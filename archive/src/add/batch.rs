//! Batches of captures before they are committed to an archive.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Array as _, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use windlass_base::Failure;
use windlass_explain::file::ExplainedConnection;
use windlass_tables::{CaptureRow, PathPattern, Table, TableWriter, Tables};

use super::columns;
use super::known::KnownCaptures;
use super::source::Source;
use crate::store::objects::{self, StagedTable};
use crate::store::{CAPTURES, Change, ChangeReason, Place, State, new_id};
use crate::sums;

/// Minimum bytes of captures in a full batch.
const ENOUGH_BYTES: u64 = 1 << 30;

/// Minimum rows of a table in a full batch.
const ENOUGH_ROWS: u64 = 1 << 20;

/// Maximum age of a batch: a kill loses no more than this.
const ENOUGH_TIME: Duration = Duration::from_secs(30);

/// Row of `captures`, and its source.
#[derive(Clone, Debug)]
struct Row {
    row: CaptureRow,
    source: Source,
}

/// Counts of captures by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Captures that were explained, completely or up to the damage.
    pub explained: u64,
    /// Damaged captures among them.
    pub damaged: u64,
    /// Files whose content is already in the archive.
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

    /// Adds other counts.
    pub fn add(&mut self, other: Self) {
        self.explained += other.explained;
        self.damaged += other.damaged;
        self.copies += other.copies;
        self.failed += other.failed;
    }
}

/// Table that is being written to an unnamed file.
struct StagingTable {
    table: Table,
    writer: TableWriter<File>,
}

/// Batch of captures that is not in the archive yet.
pub struct BatchBuilder<'a> {
    pattern: Option<&'a PathPattern>,
    tables: Tables,
    staged: Vec<StagingTable>,
    /// Rows of finished sources, and of the unfinished one.
    rows: Vec<Row>,
    open: Vec<Row>,
    /// Contents whose connections are in the tables, of finished sources and of the unfinished one.
    told: HashSet<Arc<str>>,
    open_told: HashSet<Arc<str>>,
    /// Contents that were explained only in part.
    broken: HashSet<Arc<str>>,
    bytes: u64,
    began: Instant,
}

impl std::fmt::Debug for BatchBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchBuilder").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

/// Returns the tables that depend on captures.
fn hanging() -> impl Iterator<Item = Table> {
    Table::ALL.into_iter().filter(|table| *table != Table::Captures)
}

/// Returns the names of the fields that a path pattern gives captures.
fn field_names(pattern: Option<&PathPattern>) -> Vec<String> {
    let fields = pattern.into_iter().flat_map(PathPattern::fields);
    fields.map(|field| field.name().to_owned()).collect()
}

fn staging(error: &dyn std::fmt::Display) -> Failure {
    Failure::new("cannot write a table to the folder of temporary files", error)
        .advise("Check if its disk is full, or set TMPDIR to another folder.")
}

impl<'a> BatchBuilder<'a> {
    /// Starts an empty batch.
    ///
    /// # Errors
    /// Returns an error if temporary files cannot be created.
    pub fn new(pattern: Option<&'a PathPattern>) -> Result<Self, Failure> {
        let staged = hanging().map(|table| {
            let writer = TableWriter::new(tempfile::tempfile()?, table, None)?;
            Ok(StagingTable { table, writer })
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

    /// Returns whether this batch has the connections of a content.
    pub fn has(&self, capture: &str) -> bool {
        self.told.contains(capture) || self.open_told.contains(capture)
    }

    /// Returns the file with this content, if it is in this batch.
    fn first(&self, capture: &str) -> Option<&str> {
        let rows = self.rows.iter().chain(&self.open).map(|row| &row.row);
        let mut first = rows.filter(|row| row.copy_of.is_none() && row.error.is_none());
        first.find(|row| row.capture.as_deref() == Some(capture)).map(|row| row.file.as_str())
    }

    /// Adds connections of a content that is nowhere else.
    ///
    /// # Errors
    /// Returns an error if the connections cannot be written.
    pub fn connections(&mut self, rows: Vec<ExplainedConnection>) -> Result<(), Failure> {
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

    /// Adds a capture, after its connections.
    pub fn capture(&mut self, mut row: CaptureRow, source: &Source, known: &KnownCaptures) {
        if row.error.is_none()
            && let Some(capture) = row.capture.as_deref()
        {
            let first = known.first(capture).or_else(|| self.first(capture));
            row.copy_of = first.map(str::to_owned);
        }
        match &row.capture {
            // The connections before the failure are only a part of the content.
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

    /// Ends a source.
    pub fn end(&mut self, source: &Source) {
        self.rows.append(&mut self.open);
        self.told.extend(self.open_told.drain());
        self.bytes += source.bytes;
    }

    /// Returns whether the batch is full, given this maximum number of captures.
    pub fn is_enough(&self, captures: usize) -> bool {
        self.bytes >= ENOUGH_BYTES
            || self.rows.len() >= captures
            || self.staged.iter().any(|staged| staged.writer.rows() >= ENOUGH_ROWS)
            || self.began.elapsed() >= ENOUGH_TIME && !self.rows.is_empty()
    }

    /// Commits the batch to the archive, without the unfinished source, and without anything that
    /// another process has committed since.
    ///
    /// # Errors
    /// Returns an error if the archive cannot be written.
    pub async fn commit(
        mut self,
        place: &Place,
        state: &mut State,
        known: &mut KnownCaptures,
    ) -> Result<Counts, Failure> {
        let rest = self.tables.rest().map_err(|error| staging(&error))?;
        self.stage(rest)?;
        let mut rows = std::mem::take(&mut self.rows);
        // Connections of an interrupted source.
        let mut dropped: HashSet<Arc<str>> =
            self.open_told.drain().filter(|capture| !self.told.contains(capture)).collect();
        dropped.extend(self.broken.drain());
        let mut tables = Vec::new();
        for StagingTable { table, writer } in std::mem::take(&mut self.staged) {
            let rows = writer.rows();
            let file = writer.finish().map_err(|error| staging(&error))?;
            tables.push(StagedTable { table: table.id(), file, rows });
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
            let change = Change { add: vec![batch], ..Change::new(ChangeReason::Add) };
            if state.commit(place, change).await? {
                known.refresh(place, state).await?;
                let mut counts = Counts::of(&rows);
                counts.failed += still_failed;
                return Ok(counts);
            }
        }
    }

    /// Writes the table of captures.
    fn captures(&self, rows: &[Row]) -> Result<StagedTable, Failure> {
        let write = || -> Result<StagedTable, Box<dyn std::error::Error>> {
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
            Ok(StagedTable { table: CAPTURES, rows: writer.rows(), file: writer.finish()? })
        };
        write().map_err(|error| staging(&error))
    }
}

/// Compares rows with the archive. Rows whose source is there are removed, and rows whose content
/// is there become copies. Returns the contents whose connections are dropped. Files that still
/// cannot be read are counted.
fn settle(
    rows: &mut Vec<Row>,
    known: &KnownCaptures,
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
            // A copy of a content that was dropped since has its connections nowhere: the next run
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

/// Returns a staged table without the rows of some captures.
fn without(
    staged: &StagedTable,
    dropped: &HashSet<Arc<str>>,
) -> Result<StagedTable, Box<dyn std::error::Error>> {
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
    Ok(StagedTable { table: staged.table, rows: writer.rows(), file: writer.finish()? })
}
