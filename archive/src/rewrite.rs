//! Rewriting of batches into one, without dropped captures.

use std::collections::{BTreeMap, HashSet};

use arrow::array::{Array as _, AsArray as _, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use futures::TryStreamExt as _;
use windlass_base::Failure;
use windlass_tables::{Table, TableWriter};

use crate::store::objects::{self, StagedTable};
use crate::store::{Batch, CAPTURES, Place, new_id};
use crate::sums;

/// Result of a rewrite.
#[derive(Debug)]
pub struct RewriteOutcome {
    /// New batch, if any capture was kept.
    pub batch: Option<Batch>,
    /// Number of dropped captures.
    pub dropped: u64,
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::new("cannot write a table to the folder of temporary files", error)
        .advise("Check if its disk is full, or set TMPDIR to another folder.")
}

/// Writes the rows of batches as a new batch. `keep` decides for each row of captures whether it
/// stays; dependent connections go with their captures.
///
/// # Errors
/// Returns an error if the batches cannot be read or written.
pub async fn rewrite(
    place: &Place,
    batches: &[&Batch],
    keep: impl Fn(&RecordBatch) -> Result<BooleanArray, Failure>,
) -> Result<RewriteOutcome, Failure> {
    let mut tables = Vec::new();
    let mut dropped = 0;
    // Contents whose connections are dropped, by batch.
    let mut gone: BTreeMap<&str, HashSet<String>> = BTreeMap::new();
    for table in Table::ALL.map(Table::id) {
        let Some(schema) = schema_of(place, batches, table).await? else { continue };
        let file = tempfile::tempfile().map_err(|error| failed(&error))?;
        let writer = TableWriter::with_schema(file, table, SchemaRef::clone(&schema));
        let mut writer = writer.map_err(|error| failed(&error))?;
        for batch in batches {
            let Some(mut rows) = objects::read(place, batch, table, None).await? else { continue };
            let gone = gone.entry(&batch.id).or_default();
            while let Some(rows) = rows.batches.try_next().await? {
                let kept = match table {
                    CAPTURES => {
                        let kept = keep(&rows)?;
                        dropped += (kept.len() - kept.true_count()) as u64;
                        gone.extend(contents_but(&rows, &kept));
                        kept
                    }
                    _ if gone.is_empty() => BooleanArray::from(vec![true; rows.num_rows()]),
                    _ => hanging_but(&rows, gone),
                };
                let rows = filter_record_batch(&rows, &kept).map_err(|error| failed(&error))?;
                let rows = objects::adapted(&rows, &schema).map_err(|wrong| failed(&wrong))?;
                writer.write(&rows).map_err(|error| failed(&error))?;
            }
        }
        let rows = writer.rows();
        let file = writer.finish().map_err(|error| failed(&error))?;
        if table == CAPTURES && rows == 0 {
            return Ok(RewriteOutcome { batch: None, dropped });
        }
        tables.push(StagedTable { table, file, rows });
    }
    sums::add(&mut tables).await?;
    let mut batch = objects::put(place, &new_id()?, &mut tables).await?;
    for field in batches.iter().flat_map(|batch| &batch.fields) {
        if !batch.fields.contains(field) {
            batch.fields.push(field.clone());
        }
    }
    Ok(RewriteOutcome { batch: Some(batch), dropped })
}

/// Returns the combined columns of a table's objects.
async fn schema_of(
    place: &Place,
    batches: &[&Batch],
    table: &str,
) -> Result<Option<SchemaRef>, Failure> {
    let mut schemas = Vec::new();
    for batch in batches {
        schemas.extend(objects::schema(place, batch, table).await?);
    }
    Ok((!schemas.is_empty()).then(|| objects::merged(schemas)))
}

/// Returns the text of a row's column, if it is not null.
pub fn text<'a>(rows: &'a RecordBatch, column: &str, row: usize) -> Option<&'a str> {
    let column = rows.column_by_name(column)?.as_string_opt::<i32>()?;
    column.is_valid(row).then(|| column.value(row))
}

/// Returns the contents that were explained in dropped rows.
fn contents_but<'a>(
    rows: &'a RecordBatch,
    kept: &'a BooleanArray,
) -> impl Iterator<Item = String> + 'a {
    let goes = |row: &usize| !kept.value(*row) && text(rows, "copy_of", *row).is_none();
    (0..rows.num_rows())
        .filter(goes)
        .filter_map(|row| text(rows, "capture", row))
        .map(str::to_owned)
}

/// Marks the rows that belong to none of these contents.
fn hanging_but(rows: &RecordBatch, gone: &HashSet<String>) -> BooleanArray {
    let is_kept = |row| text(rows, "capture", row).is_none_or(|capture| !gone.contains(capture));
    (0..rows.num_rows()).map(|row| Some(is_kept(row))).collect()
}
