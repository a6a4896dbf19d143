//! CSV and JSON.

use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::csv::WriterBuilder;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::json::writer::{LineDelimited, WriterBuilder as JsonBuilder};
use serde::Serialize;
use windlass_base::Schema as Shape;

use super::Sink;
use super::aligned::cells;

/// Schema of the JSON document, described by `docs/archive.md`.
pub(crate) const SHAPE: Shape = Shape { name: "windlass.archive-rows", version: 1 };

/// Writer of CSV. CSV has no lists, so they become text.
pub struct Csv<'a> {
    to: &'a mut Sink,
    schema: SchemaRef,
}

impl<'a> Csv<'a> {
    pub(super) fn new(schema: &SchemaRef, to: &'a mut Sink) -> io::Result<Self> {
        let flat = |field: &Arc<Field>| {
            if field.data_type().is_nested() {
                Arc::new(Field::new(field.name(), DataType::Utf8, true))
            } else {
                Arc::clone(field)
            }
        };
        let fields: Vec<_> = schema.fields().iter().map(flat).collect();
        let mut csv = Self { to, schema: Arc::new(Schema::new(fields)) };
        if !schema.fields().is_empty() {
            let none = RecordBatch::new_empty(Arc::clone(&csv.schema));
            csv.put(&none, true)?;
        }
        Ok(csv)
    }

    pub(super) fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        let flat = |column: &ArrayRef| -> Result<ArrayRef, arrow::error::ArrowError> {
            if !column.data_type().is_nested() {
                return Ok(Arc::clone(column));
            }
            let texts = cells(column)?.into_iter().enumerate();
            let texts = texts.map(|(row, text)| column.is_valid(row).then_some(text));
            Ok(Arc::new(texts.collect::<StringArray>()))
        };
        let columns = rows.columns().iter().map(flat).collect::<Result<Vec<_>, _>>();
        let rows = columns.and_then(|all| RecordBatch::try_new(Arc::clone(&self.schema), all));
        self.put(&rows.map_err(io::Error::other)?, false)
    }

    /// Writes rows to memory first: the library would hide a closed pipe.
    fn put(&mut self, rows: &RecordBatch, header: bool) -> io::Result<()> {
        let mut text = Vec::new();
        let mut writer = WriterBuilder::new().with_header(header).build(&mut text);
        writer.write(rows).map_err(io::Error::other)?;
        drop(writer);
        self.to.write_all(&text)
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Column in the document.
#[derive(Serialize)]
struct Column<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: String,
}

/// Writer of JSON, as lines or as a document.
pub struct Json<'a> {
    to: &'a mut Sink,
    is_document: bool,
    is_first: bool,
}

impl<'a> Json<'a> {
    pub(super) fn lines(_: &SchemaRef, to: &'a mut Sink) -> Self {
        Self { to, is_document: false, is_first: true }
    }

    pub(super) fn document(schema: &SchemaRef, to: &'a mut Sink) -> io::Result<Self> {
        let column = |field: &'_ Arc<Field>| {
            serde_json::to_string(&Column {
                name: field.name(),
                kind: field.data_type().to_string(),
            })
        };
        let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
        write!(to, "{{\"schema\":\"{SHAPE}\",\"columns\":[{}],\"rows\":[", columns.join(","))?;
        Ok(Self { to, is_document: true, is_first: true })
    }

    pub(super) fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        let mut text = Vec::new();
        let mut writer =
            JsonBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut text);
        writer.write(rows).and_then(|()| writer.finish()).map_err(io::Error::other)?;
        drop(writer);
        if !self.is_document {
            return self.to.write_all(&text);
        }
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let between: &[u8] = if self.is_first { b"\n" } else { b",\n" };
            self.is_first = false;
            self.to.write_all(between)?;
            self.to.write_all(line)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        if self.is_document {
            self.to.write_all(if self.is_first { b"]}\n" } else { b"\n]}\n" })?;
        }
        self.to.flush()
    }
}
