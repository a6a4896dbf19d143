//! A table as a Parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::pattern::PathPattern;
use crate::tables::Table;
use crate::{ANALYSER, SCHEMA};

/// Encoded size after which a row group is closed.
const GROUP_BYTES: usize = 8 << 20;

/// Number of rows after which a row group is closed: readers share a file out by row groups.
const GROUP_ROWS: usize = 128 << 10;

/// Key of a file's metadata for the name and version of the tables.
pub const SCHEMA_KEY: &str = "windlass.tables";

/// Key of a file's metadata for the table's name.
pub const TABLE_KEY: &str = "windlass.table";

/// Key of a file's metadata for the analyser's version.
pub const ANALYSER_KEY: &str = "windlass.analyser";

/// Writes a table as Parquet. Equal batches make equal bytes.
pub struct TableWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    rows: u64,
}

impl<W: Write + Send> std::fmt::Debug for TableWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// Returns the error of writing, without the library's words around it.
fn plain(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table without rows.
    ///
    /// # Errors
    /// Its first bytes cannot be written.
    pub fn new(to: W, table: Table, pattern: Option<&PathPattern>) -> io::Result<Self> {
        Self::with_schema(to, table.id(), table.schema(pattern))
    }

    /// Starts a table of this name with its own schema: rows with additional columns, rows read
    /// from such files, or sums of others.
    ///
    /// # Errors
    /// As [`TableWriter::new`].
    pub fn with_schema(to: W, table: &str, schema: Arc<Schema>) -> io::Result<Self> {
        let key = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(format!("windlass {ANALYSER}"))
            .set_key_value_metadata(Some(vec![
                key(SCHEMA_KEY, SCHEMA.to_string()),
                key(TABLE_KEY, table.to_owned()),
                key(ANALYSER_KEY, ANALYSER.to_owned()),
            ]))
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties);
        let writer = ArrowWriter::try_new_with_options(to, schema, options).map_err(plain)?;
        Ok(Self { writer, rows: 0 })
    }

    /// Writes rows of the table.
    ///
    /// # Errors
    /// The rows cannot be written, or are of another table.
    pub fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        self.writer.write(rows).map_err(plain)?;
        self.rows += rows.num_rows() as u64;
        if self.writer.in_progress_size() >= GROUP_BYTES
            || self.writer.in_progress_rows() >= GROUP_ROWS
        {
            self.writer.flush().map_err(plain)?;
        }
        Ok(())
    }

    /// Returns how many rows it has taken.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the file, which is incomplete before.
    ///
    /// # Errors
    /// The rest cannot be written.
    pub fn finish(self) -> io::Result<W> {
        self.writer.into_inner().map_err(plain)
    }
}
