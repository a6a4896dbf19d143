//! What an archive's captures have behind the columns of `windlass-tables`: where each came from.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use windlass_tables::{PathPattern, Table, UTC};

use super::source::Source;
use crate::store::objects::merged;

/// The file or object in which the capture is: itself, or an archive of captures.
pub const SOURCE: &str = "source";

/// The size of that.
pub const SOURCE_BYTES: &str = "source_bytes";

/// When that was changed last.
pub const MODIFIED_TIME: &str = "modified_time";

/// The schema of an archive's captures whose names have these fields.
///
/// # Errors
/// Where one can be no field.
pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> Result<SchemaRef, String> {
    let mut schemas = vec![captures(None)];
    for field in fields {
        schemas.push(captures(Some(&format!("{{{field}}}").parse()?)));
    }
    Ok(merged(schemas))
}

/// The schema of captures on their way into an archive.
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

/// The same rows with their sources, one for each.
///
/// # Errors
/// Where there are not as many.
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
