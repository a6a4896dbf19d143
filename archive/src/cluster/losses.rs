//! Count of a scheduler's lost executors.
//!
//! After a loss, Ballista (55.0.0) repeats the executor's tasks and those that depend on them. A
//! query of several stages may then read some results of the other executors twice, which
//! duplicates rows. Such a query fails (`guard`), and the client repeats it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::ExecutorHeartbeat;
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_scheduler::cluster::{BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::state::task_manager::JobInfoCache;

/// Counter of lost executors.
#[derive(Clone, Debug, Default)]
pub struct Losses(Arc<AtomicU64>);

impl Losses {
    /// Returns the count so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// State of the cluster that counts lost executors. The count is increased before anything is done
/// about a loss.
pub struct CountedState {
    of: Arc<dyn ClusterState>,
    losses: Losses,
}

impl CountedState {
    /// Wraps the state of a cluster.
    pub fn new(of: Arc<dyn ClusterState>, losses: Losses) -> Self {
        Self { of, losses }
    }
}

#[tonic::async_trait]
impl ClusterState for CountedState {
    async fn init(&self) -> Result<()> {
        self.of.init().await
    }

    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        active_jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        self.of.bind_schedulable_tasks(distribution, active_jobs, executors).await
    }

    async fn unbind_tasks(&self, slots: Vec<ExecutorSlot>) -> Result<()> {
        self.of.unbind_tasks(slots).await
    }

    async fn register_executor(&self, about: ExecutorMetadata, data: ExecutorData) -> Result<()> {
        self.of.register_executor(about, data).await
    }

    async fn save_executor_metadata(&self, about: ExecutorMetadata) -> Result<()> {
        self.of.save_executor_metadata(about).await
    }

    async fn get_executor_metadata(&self, executor: &str) -> Result<ExecutorMetadata> {
        self.of.get_executor_metadata(executor).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.of.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.of.save_executor_heartbeat(heartbeat).await
    }

    async fn remove_executor(&self, executor: &str) -> Result<()> {
        self.losses.0.fetch_add(1, Ordering::SeqCst);
        self.of.remove_executor(executor).await
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        self.of.executor_heartbeats()
    }

    fn get_executor_heartbeat(&self, executor: &str) -> Option<ExecutorHeartbeat> {
        self.of.get_executor_heartbeat(executor)
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.of.cluster_state_events().await
    }
}
