//! Objects of rows: read as record batches, and written completely.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{Schema, SchemaRef};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt as _, WriteMultipart};
use parquet::arrow::ProjectionMask;
use parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;
use windlass_base::Failure;
use windlass_tables::SCHEMA_KEY;

use super::log::{Batch, Object, object_name};
use super::place::{Place, plain};
use super::reader::Reader;

/// Maximum size of an object that is uploaded in one request; larger ones are uploaded in parts.
const PART: usize = 8 << 20;

/// Parts that are uploaded concurrently.
const PARTS_AT_ONCE: usize = 4;

/// Rows per record batch.
const ROWS: usize = 8_192;

/// Rows that are read from an object.
pub struct Rows {
    /// Columns of the object, or those that were requested.
    pub schema: SchemaRef,
    /// Rows as record batches.
    pub batches: BoxStream<'static, Result<RecordBatch, Failure>>,
}

fn unreadable(place: &Place, name: &str, wrong: impl std::fmt::Display) -> Failure {
    Failure::new(format!("cannot read {name} of the archive {place}"), wrong)
        .advise("If this file is lost, its captures are lost too: create the archive again.")
}

/// Reads a batch's object of a table, or some of its columns; returns `None` if there is no object.
///
/// # Errors
/// Returns an error if the object cannot be read, or is of a newer version.
pub async fn read(
    place: &Place,
    batch: &Batch,
    table: &str,
    columns: Option<&[&str]>,
) -> Result<Option<Rows>, Failure> {
    let Some(object) = batch.object(table) else { return Ok(None) };
    let name = batch.name(table);
    let failed = |wrong: &dyn std::fmt::Display| unreadable(place, &name, wrong);
    let reader = Reader { place: place.clone(), key: place.key(&name), bytes: object.bytes };
    let builder = ParquetRecordBatchStreamBuilder::new(reader).await;
    let builder = builder.map_err(|error| failed(&error))?.with_batch_size(ROWS);
    check_version(&builder).map_err(|wrong| {
        failed(&wrong).advise("A newer windlass-archive wrote it: install that version.")
    })?;
    let builder = match columns {
        Some(columns) => {
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            builder.with_projection(mask)
        }
        None => builder,
    };
    let stream = builder.build().map_err(|error| failed(&error))?;
    let schema = Arc::clone(stream.schema());
    let (place, name) = (place.clone(), name.clone());
    let batches = stream.map_err(move |error| unreadable(&place, &name, error)).boxed();
    Ok(Some(Rows { schema, batches }))
}

/// Reads the schema from the end of an object; returns `None` if there is no object.
///
/// # Errors
/// Returns an error if the object cannot be read.
pub async fn schema(
    place: &Place,
    batch: &Batch,
    table: &str,
) -> Result<Option<SchemaRef>, Failure> {
    Ok(read(place, batch, table, None).await?.map(|rows| rows.schema))
}

fn check_version(builder: &ParquetRecordBatchStreamBuilder<Reader>) -> Result<(), String> {
    let pairs = builder.metadata().file_metadata().key_value_metadata();
    let pair = pairs.into_iter().flatten().find(|pair| pair.key == SCHEMA_KEY);
    let shape = pair.and_then(|pair| pair.value.as_deref()).unwrap_or_default();
    let ours = windlass_tables::SCHEMA;
    let version = shape.strip_prefix(ours.name).and_then(|rest| rest.strip_prefix('/'));
    match version.and_then(|version| version.parse::<u32>().ok()) {
        Some(version) if (1..=ours.version).contains(&version) => Ok(()),
        _ => Err(format!("its tables have the schema {shape:?}, and this program reads {ours}")),
    }
}

/// Combines the columns of several objects: those of the first, then additional ones of the others.
pub fn merged(schemas: impl IntoIterator<Item = SchemaRef>) -> SchemaRef {
    let mut fields: Vec<Arc<arrow::datatypes::Field>> = Vec::new();
    for schema in schemas {
        for field in schema.fields() {
            if !fields.iter().any(|there| there.name() == field.name()) {
                fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
            }
        }
    }
    Arc::new(Schema::new(fields))
}

/// Converts rows to another schema: missing columns are null.
///
/// # Errors
/// Returns an error if the type of a column cannot be converted.
pub fn adapted(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, String> {
    let column = |field: &Arc<arrow::datatypes::Field>| -> Result<ArrayRef, String> {
        match batch.column_by_name(field.name()) {
            Some(column) if column.data_type() == field.data_type() => Ok(Arc::clone(column)),
            Some(column) => cast(column, field.data_type()).map_err(|error| error.to_string()),
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
        }
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|error| error.to_string())
}

/// Table in an unnamed file, before its upload as an object.
#[derive(Debug)]
pub struct StagedTable {
    /// Name of the table.
    pub table: &'static str,
    /// Unnamed file.
    pub file: File,
    /// Number of rows.
    pub rows: u64,
}

/// Writes tables as the objects of a batch, durably on a local disk.
///
/// # Errors
/// Returns an error if the tables cannot be read or written.
pub async fn put(place: &Place, id: &str, tables: &mut [StagedTable]) -> Result<Batch, Failure> {
    let id = id.to_owned();
    let mut batch = Batch { id, tables: BTreeMap::new(), fields: Vec::new(), held: false };
    let mut names = Vec::new();
    for staged in tables.iter_mut().filter(|staged| staged.rows > 0) {
        let name = object_name(staged.table, &batch.id);
        let put = put_file(place, &name, &mut staged.file).await;
        let bytes = put.map_err(|wrong| {
            Failure::new(format!("cannot write {name} of the archive {place}"), wrong)
                .advise("The captures reported before are kept; run the command again.")
        })?;
        batch.tables.insert(staged.table.to_owned(), Object { rows: staged.rows, bytes });
        names.push(name);
    }
    place.settle(&names).map_err(|error| {
        Failure::new(format!("cannot write to the archive {place}"), error)
            .advise("Check if its disk is full.")
    })?;
    Ok(batch)
}

async fn put_file(place: &Place, name: &str, file: &mut File) -> Result<u64, String> {
    let bytes = file.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
    let key = place.key(name);
    let file = &*file;
    let put = async || {
        if bytes <= PART as u64 {
            let mut all = Vec::new();
            let mut from = file;
            from.rewind().and_then(|()| from.read_to_end(&mut all)).map_err(unreadable_here)?;
            place.store().put(&key, all.into()).await.map(drop)
        } else {
            put_parts(place, &key, file).await
        }
    };
    place.patiently(put).await.map(|()| bytes).map_err(|error| plain(&error))
}

/// Wraps an error of the local file, which a retry would not solve.
fn unreadable_here(error: io::Error) -> object_store::Error {
    object_store::Error::NotSupported { source: Box::new(error) }
}

async fn put_parts(place: &Place, key: &Key, mut file: &File) -> object_store::Result<()> {
    file.rewind().map_err(unreadable_here)?;
    let upload = place.store().put_multipart(key).await?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, PART);
    let mut block = vec![0; PART];
    loop {
        let count = match file.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable_here(error)),
        };
        upload.wait_for_capacity(PARTS_AT_ONCE).await?;
        upload.write(&block[..count]);
    }
    upload.finish().await.map(drop)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field};

    use super::*;

    #[test]
    fn rows_of_other_columns_are_adapted() {
        let field = |name, kind| Field::new(name, kind, true);
        let one = Arc::new(Schema::new(vec![field("a", DataType::Int64)]));
        let two =
            Arc::new(Schema::new(vec![field("site", DataType::Utf8), field("a", DataType::Int64)]));
        let both = merged([Arc::clone(&one), Arc::clone(&two)]);
        let names: Vec<&str> = both.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["a", "site"]);
        let rows = vec![
            Arc::new(StringArray::from(vec!["ams"])) as ArrayRef,
            Arc::new(Int64Array::from(vec![7])),
        ];
        let turned = adapted(&RecordBatch::try_new(two, rows).unwrap(), &both).unwrap();
        assert_eq!(turned.column(0).as_ref(), &Int64Array::from(vec![7]));
        let alone = RecordBatch::try_new(one, vec![Arc::new(Int64Array::from(vec![1]))]).unwrap();
        assert_eq!(adapted(&alone, &both).unwrap().column(1).null_count(), 1);
    }
}
