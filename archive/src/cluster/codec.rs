//! Serialization of windlass-archive's own plans between processes: `AddExec`, and the tables of an
//! archive.
//!
//! Everything else is Ballista's own. Functions are sent by name, because every process has them.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, Result, TableReference, internal_datafusion_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use serde::{Deserialize, Serialize};

use super::map::AddExec;
use super::task::Worker;
use crate::sql::{ArchiveTable, Part};

/// Prefix of windlass-archive's own plans.
const MARK: &[u8] = b"windlass-archive/1\n";

fn written(value: &impl Serialize, into: &mut Vec<u8>) -> Result<()> {
    into.extend_from_slice(MARK);
    serde_json::to_writer(into, value).map_err(|error| DataFusionError::External(error.into()))
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| DataFusionError::External(error.into()))
}

/// Codec of physical plans.
#[derive(Debug, Default)]
pub struct PhysicalCodec {
    of_ballista: BallistaPhysicalExtensionCodec,
    worker: Option<Arc<Worker>>,
}

impl PhysicalCodec {
    /// Returns the codec of an executor, which runs the plans.
    pub fn of(worker: Arc<Worker>) -> Self {
        Self { worker: Some(worker), ..Self::default() }
    }
}

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_decode(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(text) = buffer.strip_prefix(MARK) else {
            return self.of_ballista.try_decode(buffer, inputs, context, converter);
        };
        let [input] = inputs else {
            return Err(internal_datafusion_err!("AddExec stands over one plan"));
        };
        Ok(Arc::new(AddExec::new(read(text)?, Arc::clone(input), self.worker.clone())))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        match node.downcast_ref::<AddExec>() {
            Some(add) => written(add.order(), buffer),
            None => self.of_ballista.try_encode(node, buffer, converter),
        }
    }
}

/// Table for other processes: the objects that one state of the archive has of it.
#[derive(Debug, Serialize, Deserialize)]
struct Table {
    store: String,
    parts: Vec<Part>,
}

/// Codec of logical plans, for queries.
#[derive(Debug, Default)]
pub struct LogicalCodec {
    of_ballista: BallistaLogicalExtensionCodec,
}

impl LogicalExtensionCodec for LogicalCodec {
    fn try_decode(
        &self,
        buffer: &[u8],
        inputs: &[LogicalPlan],
        context: &TaskContext,
    ) -> Result<Extension> {
        self.of_ballista.try_decode(buffer, inputs, context)
    }

    fn try_encode(&self, node: &Extension, buffer: &mut Vec<u8>) -> Result<()> {
        self.of_ballista.try_encode(node, buffer)
    }

    fn try_decode_table_provider(
        &self,
        buffer: &[u8],
        name: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        let Some(text) = buffer.strip_prefix(MARK) else {
            return self.of_ballista.try_decode_table_provider(buffer, name, schema, context);
        };
        let Table { store, parts } = read(text)?;
        Ok(Arc::new(ArchiveTable::new(schema, ObjectStoreUrl::parse(store)?, parts)))
    }

    fn try_encode_table_provider(
        &self,
        name: &TableReference,
        node: Arc<dyn TableProvider>,
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(table) = node.downcast_ref::<ArchiveTable>() else {
            return self.of_ballista.try_encode_table_provider(name, node, buffer);
        };
        let (store, parts) = table.shared();
        written(&Table { store, parts }, buffer)
    }

    fn try_decode_file_format(
        &self,
        buffer: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.of_ballista.try_decode_file_format(buffer, context)
    }

    fn try_encode_file_format(
        &self,
        buffer: &mut Vec<u8>,
        node: Arc<dyn FileFormatFactory>,
    ) -> Result<()> {
        self.of_ballista.try_encode_file_format(buffer, node)
    }
}
