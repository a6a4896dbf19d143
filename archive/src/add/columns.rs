//! Columns of an archive's captures beyond those of `windlass-tables`: the source of each capture.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use windlass_tables::{PathPattern, Table, UTC};

use super::source::Source;
use crate::store::objects::merged;

/// File or object of the capture: itself, or an archive of captures.
pub const SOURCE: &str = "source";

/// Size of the source.
pub const SOURCE_BYTES: &str = "source_bytes";

/// Modification time of the source.
pub const MODIFIED_TIME: &str = "modified_time";

/// Returns the schema of an archive's captures whose names have these fields.
///
/// # Errors
/// Returns an error if one of the names is not a valid field.
pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> Result<SchemaRef, String> {
    let mut schemas = vec![captures(None)];
    for field in fields {
        schemas.push(captures(Some(&format!("{{{field}}}").parse()?)));
    }
    Ok(merged(schemas))
}

/// Returns the schema of captures on their way into an archive.
pub fn captures(pattern: Option<&PathPattern>) -> SchemaRef {
    let base = Table::Captures.schema(pattern);
    let time = DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into()));
    let fields = base.fields().iter().cloned().chain([
        Arc::new(Field::new(SOURCE, DataType::Utf8, true)),
        Arc::new(Field::new(SOURCE_BYTES, DataType::Int64, true)),
        Arc::new(Field::new(MODIFIED_TIME, time, true)),
    ]);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Adds the columns of the sources, one for each row.
///
/// # Errors
/// Returns an error if the numbers of rows and sources differ.
pub fn with_sources(
    rows: &RecordBatch,
    schema: &SchemaRef,
    sources: &[&Source],
) -> Result<RecordBatch, arrow::error::ArrowError> {
    let names = sources.iter().map(|source| Some(source.name.as_str()));
    let bytes = sources.iter().map(|source| i64::try_from(source.bytes).ok());
    let times = sources.iter().map(|source| source.modified);
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    columns.push(Arc::new(names.collect::<StringArray>()));
    columns.push(Arc::new(bytes.collect::<Int64Array>()));
    columns.push(Arc::new(times.collect::<TimestampNanosecondArray>().with_timezone(UTC)));
    RecordBatch::try_new(Arc::clone(schema), columns)
}
