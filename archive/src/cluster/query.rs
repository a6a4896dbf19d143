//! `sql --cluster`: queries that executors compute.

use std::sync::{Arc, Mutex, PoisonError};

use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::{SessionConfigExt as _, SessionStateExt as _};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion_proto::protobuf::LogicalPlanNode;
use futures::StreamExt as _;
use windlass_base::Failure;

use super::address::Address;
use super::codec::LogicalCodec;
use super::guard::LOST;
use super::scalars::named_apart;
use super::submit::Scheduler;
use super::tls::Tls;
use super::{MOST_MESSAGE, task};
use crate::sql::ArchiveTable;

/// Maximum attempts of a query while executors are lost.
const TRIES: u32 = 5;

/// Number of partitions of tables and results, for executors to share.
const PARTS: usize = 16;

/// Client of a cluster.
pub struct Cluster {
    address: Address,
    tls: Option<Tls>,
    /// Query that is running.
    at_work: Mutex<Option<Arc<dyn ExecutionPlan>>>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cluster").field(&self.address).finish()
    }
}

/// Returns whether executors can compute a plan: it reads tables of the archive, and nothing that
/// only this process has.
///
/// # Errors
/// Returns an error if the plan cannot be examined.
pub fn is_for_executors(plan: &LogicalPlan) -> Result<bool> {
    if matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::Ddl(_)) {
        return Ok(false);
    }
    let (mut reads, mut is_shared) = (false, true);
    plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::TableScan(scan) => {
                reads = true;
                let provider = source_as_provider(&scan.source)?;
                is_shared &= provider.downcast_ref::<ArchiveTable>().is_some();
            }
            LogicalPlan::Statement(_)
            | LogicalPlan::DescribeTable(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::RecursiveQuery(_) => is_shared = false,
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(reads && is_shared)
}

impl Cluster {
    /// Returns the cluster of a scheduler.
    pub fn new(address: Address, tls: Option<Tls>) -> Self {
        Self { address, tls, at_work: Mutex::default() }
    }

    /// Connects to the scheduler.
    ///
    /// # Errors
    /// Returns an error if the scheduler does not answer.
    pub async fn scheduler(&self) -> Result<Scheduler, Failure> {
        Scheduler::connect(&self.address, self.tls.as_ref()).await
    }

    /// Returns a session whose queries run on executors, with the settings of a local session.
    fn state(&self, local: &SessionContext) -> Result<SessionState> {
        let most = usize::try_from(MOST_MESSAGE).unwrap_or(usize::MAX);
        let state = local.state();
        let mut config = state
            .config()
            .clone()
            .upgrade_for_ballista()
            .with_target_partitions(PARTS)
            // In 55.0.0 the adaptive planner does not end for some queries, such as those of the
            // archive's report.
            .with_ballista_adaptive_query_planner(false)
            .with_ballista_grpc_client_max_message_size(most)
            .with_ballista_job_name("sql")
            .with_ballista_use_tls(self.tls.is_some())
            .with_ballista_logical_extension_codec(Arc::new(LogicalCodec::default()));
        if let Some(tls) = &self.tls {
            config = config.with_ballista_override_create_grpc_client_endpoint(tls.endpoints());
        }
        let state = SessionStateBuilder::new_from_existing(state).with_config(config).build();
        // The library names each endpoint without TLS; the endpoint override corrects that.
        state.upgrade_for_ballista(self.address.url(false))
    }

    /// Runs a query, and repeats it if an executor was lost.
    ///
    /// # Errors
    /// Returns an error if the query is refused or fails.
    pub async fn run(
        &self,
        local: &SessionContext,
        plan: &LogicalPlan,
    ) -> Result<SendableRecordBatchStream> {
        let context = SessionContext::new_with_state(self.state(local)?);
        let plan = named_apart(plan.clone())?;
        let mut tries = 1;
        loop {
            let plan = context.state().create_physical_plan(&plan).await?;
            *self.at_work.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&plan));
            let mut rows = execute_stream(plan, context.task_ctx())?;
            let schema = rows.schema();
            // The whole query is computed before the first row comes.
            let first = rows.next().await;
            if let Some(Err(error)) = &first
                && tries < TRIES
                && is_lost(error)
            {
                tries += 1;
                continue;
            }
            let rows = futures::stream::iter(first).chain(rows);
            return Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)));
        }
    }

    /// Cancels the running query.
    pub async fn cancel(&self) {
        let plan = self.at_work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let job = plan.and_then(|plan| {
            let query = plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>()?;
            query.job_id()
        });
        let Some(job) = job else { return };
        // If the scheduler is gone, so is the job.
        if let Ok(mut scheduler) = self.scheduler().await {
            let _ = scheduler.cancel(job.as_str()).await;
        }
    }
}

/// Returns whether an executor was lost: the scheduler reports it, or another executor could not
/// fetch its results.
fn is_lost(error: &DataFusionError) -> bool {
    let text = error.to_string();
    text.contains(LOST) || text.contains("failed 1 times, most recent failure reason")
}

/// Returns the message of an executor's error, and whether a file was not found there; `None` for
/// other errors.
pub fn plain(error: &DataFusionError) -> Option<(String, bool)> {
    let text = error.to_string();
    let (_, rest) = text.split_once("Job ")?;
    let (_, wrong) = rest.split_once(" failed: ")?;
    let is_missing = ["NotFound", "No such file"].iter().any(|sign| wrong.contains(sign));
    let said = task::said(wrong).or_else(|| innermost(wrong));
    let said = said.unwrap_or_else(|| wrong.to_owned());
    Some((said.split_whitespace().collect::<Vec<_>>().join(" "), is_missing))
}

/// Extracts the inner text of the library's error: `Task failed …: Error(Kind("…"))`.
fn innermost(error: &str) -> Option<String> {
    let (_, rest) = error.split_once("(\"")?;
    let mut text = String::new();
    let mut letters = rest.chars();
    loop {
        match letters.next()? {
            '"' => return Some(text),
            '\\' => match letters.next()? {
                'n' | 'r' | 't' => text.push(' '),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_executors_are_told_without_the_librarys_layers() {
        let of = |text: &str| plain(&DataFusionError::Execution(text.to_owned()));
        let layers = "Job 0AB failed: Job failed due to stage 0 failed: Task failed due to \
                      runtime execution error: DataFusionError(Shared(Plan(\"\\\"a\\\" is no \
                      network\")))";
        assert_eq!(of(layers).unwrap(), ("\"a\" is no network".to_owned(), false));
        let (said, is_missing) = of("Job 1 failed: ObjectStore(NotFound { path: 3 })").unwrap();
        assert!(said.contains("NotFound") && is_missing);
        assert!(of("cannot connect").is_none());
    }
}
