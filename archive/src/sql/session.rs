//! Local queries over one state of an archive, with limited memory.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::{DFParser, Statement};
use windlass_base::{Bytes, Failure};
use windlass_tables::Table;

use super::functions;
use super::table::{ArchiveTable, Part};
use crate::add::columns;
use crate::cluster::Cluster;
use crate::cluster::query::{self, is_for_executors};
use crate::store::{self, CAPTURES, Place, State};
use crate::sums::Sum;

/// URL of the archive's store in the query engine.
const STORE: &str = "archive://store";

/// Memory limit below which batches and partitions are smaller.
const SMALL: usize = 512 << 20;

/// Rows per batch with little memory.
const SMALL_BATCH: usize = 1_024;

/// Minimum memory of a partition.
const PARTITION: usize = 128 << 20;

/// Number of memory consumers named in an out-of-memory error.
const CONSUMERS: usize = 3;

/// Session of queries over an archive.
pub struct Session {
    place: Place,
    state: State,
    context: SessionContext,
    memory: Bytes,
    cluster: Option<Cluster>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("place", &self.place).finish_non_exhaustive()
    }
}

fn internal(error: &dyn std::fmt::Display) -> Failure {
    Failure::new("cannot start the query engine", error)
        .advise("Check the folder of temporary files, or set TMPDIR to another one.")
}

/// Returns the URL of the store in the query engine.
///
/// # Errors
/// Returns an error only if the constant URL is invalid.
pub fn store_url() -> Result<ObjectStoreUrl, Failure> {
    ObjectStoreUrl::parse(STORE).map_err(|error| internal(&plain(&error)))
}

/// Creates a query engine with windlass-archive's functions and without tables. Queries use about
/// `memory` at most; the rest spills to temporary files.
///
/// # Errors
/// Returns an error if the engine cannot be started.
pub fn context(memory: Bytes) -> Result<SessionContext, Failure> {
    let bound = usize::try_from(memory.get()).unwrap_or(usize::MAX);
    let consumers = std::num::NonZeroUsize::new(CONSUMERS).unwrap_or(std::num::NonZeroUsize::MIN);
    let pool = TrackConsumersPool::new(FairSpillPool::new(bound), consumers);
    let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::OsTmpDirectory);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(disk)
        .build_arc()
        .map_err(|error| internal(&plain(&error)))?;
    let mut config = SessionConfig::new().with_information_schema(true);
    let execution = &mut config.options_mut().execution;
    // The reservation of a sort counts against the limit.
    let reserved = &mut execution.sort_spill_reservation_bytes;
    *reserved = (*reserved).min(bound / 16);
    if bound < SMALL {
        // Each spilled file in a merge holds some batches, and each partition some files.
        let partitions = config.target_partitions().min(bound / PARTITION).max(1);
        config = config.with_batch_size(SMALL_BATCH).with_target_partitions(partitions);
    }
    let context = SessionContext::new_with_config_rt(config, runtime);
    functions::register(&context);
    Ok(context)
}

impl Session {
    /// Opens a session over the current state of an archive. Queries use about `memory` at most;
    /// the rest spills to temporary files.
    ///
    /// # Errors
    /// Returns an error if the archive cannot be read, or is not an archive.
    pub async fn open(place: &Place, memory: Bytes) -> Result<Self, Failure> {
        let state = State::read(place).await?;
        if state.number() == 0 {
            return Err(Failure::usage(
                format!("cannot query {place}"),
                "it is not an archive: it has no log",
            )
            .advise("Create one with windlass-archive add PATH --into DIR."));
        }
        let context = context(memory)?;
        context.register_object_store(store_url()?.as_ref(), Arc::clone(place.store()));
        let session = Self { place: place.clone(), state, context, memory, cluster: None };
        session.register()?;
        Ok(session)
    }

    /// Lets a cluster run the queries.
    #[must_use]
    pub fn on(self, cluster: Cluster) -> Self {
        Self { cluster: Some(cluster), ..self }
    }

    /// Cancels the cluster's running query.
    pub async fn cancel(&self) {
        if let Some(cluster) = &self.cluster {
            cluster.cancel().await;
        }
    }

    /// Reads changes of the archive since the last call.
    ///
    /// # Errors
    /// Returns an error if the archive cannot be read.
    pub async fn refresh(&mut self) -> Result<(), Failure> {
        if self.state.refresh(&self.place).await? {
            self.register()?;
        }
        Ok(())
    }

    fn register(&self) -> Result<(), Failure> {
        for name in store::tables() {
            let provider = self.table(name)?;
            let known = self.context.deregister_table(name);
            known
                .and_then(|_| self.context.register_table(name, Arc::new(provider)))
                .map_err(|error| internal(&plain(&error)))?;
        }
        Ok(())
    }

    fn table(&self, table: &str) -> Result<ArchiveTable, Failure> {
        let schema = self.schema(table)?;
        let part = |batch: &store::Batch| {
            let object = batch.object(table)?;
            let key = self.place.key(&batch.name(table)).to_string();
            Some(Part { key, bytes: object.bytes, rows: object.rows })
        };
        let parts = self.state.seen().filter_map(part).collect();
        let (elsewhere, front) = self.place.shared();
        Ok(ArchiveTable::new(schema, store_url()?, parts).elsewhere(elsewhere, front))
    }

    fn schema(&self, name: &str) -> Result<SchemaRef, Failure> {
        if name == CAPTURES {
            let fields = self.state.seen().flat_map(|batch| &batch.fields);
            return columns::of_fields(fields.map(String::as_str))
                .map_err(|wrong| internal(&wrong));
        }
        let table = Table::ALL.into_iter().find(|table| table.id() == name);
        let sum = Sum::ALL.into_iter().find(|sum| sum.id() == name);
        let schema = table.map(|table| table.schema(None)).or_else(|| Some(sum?.schema()));
        schema.ok_or_else(|| internal(&format!("there is no table {name}")))
    }

    /// Parses the statements of a text.
    ///
    /// # Errors
    /// Returns an error if the text is not valid SQL.
    pub fn statements(&self, text: &str) -> Result<Vec<Statement>, Failure> {
        let parsed = DFParser::parse_sql(text).map_err(|error| self.failure(&error))?;
        Ok(parsed.into())
    }

    /// Runs a statement. Statements that change anything beyond this session are refused.
    ///
    /// # Errors
    /// Returns an error if the statement is refused or fails.
    pub async fn run(&self, statement: Statement) -> Result<SendableRecordBatchStream, Failure> {
        let run = async {
            let plan = self.context.state().statement_to_plan(statement).await?;
            SQLOptions::new().with_allow_dml(false).verify_plan(&plan)?;
            match &self.cluster {
                Some(cluster) if is_for_executors(&plan)? => {
                    cluster.run(&self.context, &plan).await
                }
                _ => self.context.execute_logical_plan(plan).await?.execute_stream().await,
            }
        };
        run.await.map_err(|error: DataFusionError| self.failure(&error))
    }

    /// Converts an error of the engine to a failure.
    pub fn failure(&self, error: &DataFusionError) -> Failure {
        let doing = format!("cannot query {}", self.place);
        if self.cluster.is_some()
            && let Some((wrong, is_missing)) = query::plain(error)
        {
            let failure = Failure::new(doing, wrong);
            return if is_missing {
                failure.advise(
                    "Every executor must see the archive by the same path. If the archive was \
                     compacted meanwhile, run the query again.",
                )
            } else {
                failure
            };
        }
        match error.find_root() {
            DataFusionError::SQL(..)
            | DataFusionError::Plan(_)
            | DataFusionError::SchemaError(..)
            | DataFusionError::Diagnostic(..)
            | DataFusionError::NotImplemented(_) => Failure::usage(doing, plain(error)).advise(
                "`show tables` names the tables, `describe connections` the columns of one; \
                 \"limit\" stands in double quotes, as it is a word of SQL.",
            ),
            DataFusionError::ResourcesExhausted(_) => Failure::new(doing, plain(error)).advise(
                format!("The limit of its memory is {}: raise it with --memory.", self.memory),
            ),
            DataFusionError::ObjectStore(error) => Failure::new(doing, store::place::plain(error))
                .advise(
                    "Check that the archive exists and is readable. If it was compacted meanwhile, \
                     run the query again.",
                ),
            _ => Failure::new(doing, plain(error)),
        }
    }
}

/// Returns the message of an error on one line, without the names of the library's layers.
fn plain(error: &DataFusionError) -> String {
    let text = match error.find_root() {
        DataFusionError::SQL(error, _) => error.to_string(),
        DataFusionError::Plan(text)
        | DataFusionError::Execution(text)
        | DataFusionError::ResourcesExhausted(text) => text.clone(),
        other => other.strip_backtrace(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for head in ["sql parser error: ", "Error during planning: ", "Schema error: "] {
        if let Some(rest) = text.strip_prefix(head) {
            return rest.trim_end_matches('.').to_owned();
        }
    }
    text.trim_end_matches('.').to_owned()
}
