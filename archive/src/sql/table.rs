//! Table of the archive for queries: the objects that one state of the log names.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use object_store::ObjectMeta;
use object_store::path::Path as Key;
use serde::{Deserialize, Serialize};

/// Object of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Key in the store.
    pub key: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of rows.
    pub rows: u64,
}

/// Table of an archive.
#[derive(Debug)]
pub struct ArchiveTable {
    schema: SchemaRef,
    store: ObjectStoreUrl,
    parts: Vec<Part>,
    /// URL and key prefix by which other processes find the objects, if these differ.
    elsewhere: Option<(String, String)>,
}

impl ArchiveTable {
    /// Creates a table of these objects, whose columns are some of the schema's.
    pub fn new(schema: SchemaRef, store: ObjectStoreUrl, parts: Vec<Part>) -> Self {
        Self { schema, store, parts, elsewhere: None }
    }

    /// Sets the URL and the key prefix by which other processes find the objects.
    #[must_use]
    pub fn elsewhere(self, url: String, front: String) -> Self {
        Self { elsewhere: Some((url, front)), ..self }
    }

    /// Returns the store URL and the objects for other processes.
    pub fn shared(&self) -> (String, Vec<Part>) {
        match &self.elsewhere {
            None => (self.store.to_string(), self.parts.clone()),
            Some((url, front)) => {
                let part = |part: &Part| Part { key: format!("{front}{}", part.key), ..*part };
                (url.clone(), self.parts.iter().map(part).collect())
            }
        }
    }

    fn statistics(&self) -> Statistics {
        let sum = |of: fn(&Part) -> u64| {
            let sum = self.parts.iter().map(of).sum::<u64>();
            usize::try_from(sum).unwrap_or(usize::MAX)
        };
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows = Precision::Exact(sum(|part| part.rows));
        statistics.total_byte_size = Precision::Inexact(sum(|part| part.bytes));
        statistics
    }
}

/// Returns an object for a scan, with its key unchanged.
fn file(part: &Part) -> Result<PartitionedFile> {
    let location = Key::parse(&part.key)?;
    Ok(PartitionedFile::new_from_meta(ObjectMeta {
        location,
        last_modified: Default::default(),
        size: part.bytes,
        e_tag: None,
        version: None,
    }))
}

#[async_trait::async_trait]
impl TableProvider for ArchiveTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // Rows are filtered after the scan; row groups without a match are not read.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.parts.is_empty() {
            let schema = match projection {
                Some(columns) => Arc::new(self.schema.project(columns)?),
                None => Arc::clone(&self.schema),
            };
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let files = self.parts.iter().map(file).collect::<Result<_>>()?;
        let groups = FileGroup::new(files).split_files(session.config().target_partitions());
        let options = session.default_table_options().parquet;
        let source =
            ParquetSource::new(Arc::clone(&self.schema)).with_table_parquet_options(options);
        let config = FileScanConfigBuilder::new(self.store.clone(), Arc::new(source))
            .with_statistics(self.statistics())
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
