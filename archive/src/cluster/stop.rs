//! Cancellation of tasks: by a cancelled job, and by an executor that ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpc;
use ballista_core::serde::protobuf::{
    CancelTasksParams, CancelTasksResult, LaunchMultiTaskParams, LaunchMultiTaskResult,
    LaunchTaskParams, LaunchTaskResult, RemoveJobDataParams, RemoveJobDataResult,
    StopExecutorParams, StopExecutorResult,
};
use tonic::{Request, Response, Status};

/// Stop flags of the running tasks.
#[derive(Debug, Default)]
pub struct Stops(Mutex<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_over: bool,
    tasks: Vec<(String, Weak<AtomicBool>)>,
}

impl Stops {
    fn flags(&self) -> MutexGuard<'_, Flags> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the stop flag of a task of this job.
    pub fn flag(&self, job: &str) -> Arc<AtomicBool> {
        let mut flags = self.flags();
        flags.tasks.retain(|(_, flag)| flag.strong_count() > 0);
        let flag = Arc::new(AtomicBool::new(flags.is_over));
        flags.tasks.push((job.to_owned(), Arc::downgrade(&flag)));
        flag
    }

    fn set(&self, is_meant: impl Fn(&str) -> bool) {
        for (job, flag) in &self.flags().tasks {
            if let Some(flag) = flag.upgrade().filter(|_| is_meant(job)) {
                flag.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Stops the tasks of a job.
    pub fn job(&self, job: &str) {
        self.set(|of| of == job);
    }

    /// Stops all tasks, including those that start later.
    pub fn all(&self) {
        self.flags().is_over = true;
        self.set(|_| true);
    }
}

/// Service for a scheduler's requests to an executor that fetches its tasks itself: cancellation
/// only.
#[derive(Debug)]
pub struct Orders(pub Arc<Stops>);

fn fetched<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("this executor fetches its tasks"))
}

#[tonic::async_trait]
impl ExecutorGrpc for Orders {
    async fn launch_task(
        &self,
        _: Request<LaunchTaskParams>,
    ) -> Result<Response<LaunchTaskResult>, Status> {
        fetched()
    }

    async fn launch_multi_task(
        &self,
        _: Request<LaunchMultiTaskParams>,
    ) -> Result<Response<LaunchMultiTaskResult>, Status> {
        fetched()
    }

    async fn stop_executor(
        &self,
        _: Request<StopExecutorParams>,
    ) -> Result<Response<StopExecutorResult>, Status> {
        // The scheduler sends this to executors that it has not heard of. This one is alive, and
        // will be heard.
        fetched()
    }

    async fn cancel_tasks(
        &self,
        request: Request<CancelTasksParams>,
    ) -> Result<Response<CancelTasksResult>, Status> {
        for task in request.into_inner().task_infos {
            self.0.job(&task.job_id);
        }
        Ok(Response::new(CancelTasksResult { cancelled: true }))
    }

    async fn remove_job_data(
        &self,
        _: Request<RemoveJobDataParams>,
    ) -> Result<Response<RemoveJobDataResult>, Status> {
        fetched()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_ends_and_others_do_not_until_all_do() {
        let stops = Stops::default();
        let (one, other) = (stops.flag("a"), stops.flag("b"));
        let are = || (one.load(Ordering::Relaxed), other.load(Ordering::Relaxed));
        stops.job("a");
        assert_eq!(are(), (true, false));
        stops.all();
        assert_eq!(are(), (true, true));
        assert!(stops.flag("c").load(Ordering::Relaxed));
    }
}
