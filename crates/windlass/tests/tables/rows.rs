//! Parquet files as rows of JSON, by the library's own reader.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Date32Type, Float64Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use serde_json::{Map, Value, json};
use windlass_base::Timestamp;
use windlass_tables::Table;

/// A row by the names of its columns.
pub(crate) type Row = Map<String, Value>;

/// A table as it was read.
pub(crate) struct Rows {
    pub(crate) schema: SchemaRef,
    pub(crate) metadata: ParquetMetaData,
    pub(crate) rows: Vec<Row>,
}

/// Reads a table from its folder.
pub(crate) fn read(folder: &Path, table: Table) -> Rows {
    let file = File::open(folder.join(format!("{table}.parquet"))).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let (schema, metadata) = (builder.schema().clone(), builder.metadata().as_ref().clone());
    let batches = builder.build().unwrap().map(|batch| batch.unwrap());
    Rows { schema, metadata, rows: batches.flat_map(|batch| rows_of(&batch)).collect() }
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let schema = batch.schema();
    (0..batch.num_rows())
        .map(|row| {
            let columns = schema.fields().iter().zip(batch.columns());
            columns.map(|(field, of)| (field.name().clone(), value(of.as_ref(), row))).collect()
        })
        .collect()
}

fn value(of: &dyn Array, row: usize) -> Value {
    if of.is_null(row) {
        return Value::Null;
    }
    match of.data_type() {
        DataType::Boolean => of.as_boolean().value(row).into(),
        DataType::Int32 => of.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => of.as_primitive::<Int64Type>().value(row).into(),
        DataType::Date32 => of.as_primitive::<Date32Type>().value(row).into(),
        DataType::Float64 => of.as_primitive::<Float64Type>().value(row).into(),
        DataType::Utf8 => of.as_string::<i32>().value(row).into(),
        DataType::Binary => json!(of.as_binary::<i32>().value(row)),
        DataType::Timestamp(..) => {
            let nanos = of.as_primitive::<TimestampNanosecondType>().value(row);
            Timestamp::from_nanos(nanos).to_string().into()
        }
        DataType::List(_) => {
            let list = of.as_list::<i32>().value(row);
            (0..list.len()).map(|place| value(list.as_ref(), place)).collect()
        }
        other => panic!("{other} is in no table"),
    }
}
