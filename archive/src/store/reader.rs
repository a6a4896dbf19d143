//! Reader of Parquet from an object.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use object_store::path::Path as Key;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::place::Place;

/// Object of a known size, read by ranges.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Location of the object.
    pub place: Place,
    /// Key of the object.
    pub key: Key,
    /// Size in bytes.
    pub bytes: u64,
}

fn failed(error: &object_store::Error) -> ParquetError {
    ParquetError::External(super::place::plain(error).into())
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        async move {
            self.place.store().get_range(&self.key, range).await.map_err(|error| failed(&error))
        }
        .boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        async move {
            self.place.store().get_ranges(&self.key, &ranges).await.map_err(|error| failed(&error))
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        async move {
            let bytes = self.bytes;
            let reader = ParquetMetaDataReader::new().with_arrow_reader_options(options);
            Ok(Arc::new(reader.load_and_finish(self, bytes).await?))
        }
        .boxed()
    }
}
