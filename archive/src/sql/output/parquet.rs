//! Parquet.

use std::io;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::Sink;

/// Encoded size at which a row group is closed.
const GROUP_BYTES: usize = 8 << 20;

/// Writer of a Parquet file.
pub struct ParquetRows<'a> {
    writer: ArrowWriter<&'a mut Sink>,
}

fn plain(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

impl<'a> ParquetRows<'a> {
    pub(super) fn new(schema: &SchemaRef, to: &'a mut Sink) -> io::Result<Self> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(to, Arc::clone(schema), Some(properties));
        Ok(Self { writer: writer.map_err(plain)? })
    }

    pub(super) fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        self.writer.write(rows).map_err(plain)?;
        if self.writer.in_progress_size() >= GROUP_BYTES {
            self.writer.flush().map_err(plain)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.writer.close().map(drop).map_err(plain)
    }
}
