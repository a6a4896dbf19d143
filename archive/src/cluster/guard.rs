//! Scheduler that fails queries whose rows may be duplicated (`losses` explains why).

use std::pin::Pin;

use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::job_status;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpc;
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CleanJobDataParams, CleanJobDataResult,
    CreateUpdateSessionParams, CreateUpdateSessionResult, ExecuteQueryParams, ExecuteQueryResult,
    ExecutorStoppedParams, ExecutorStoppedResult, FailedJob, GetJobMetricsParams,
    GetJobMetricsResult, GetJobStatusParams, GetJobStatusResult, HeartBeatParams, HeartBeatResult,
    JobStatus, PollWorkParams, PollWorkResult, RegisterExecutorParams, RegisterExecutorResult,
    RemoveSessionParams, RemoveSessionResult, SuccessfulJob, UpdateTaskStatusParams,
    UpdateTaskStatusResult,
};
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures::{Stream, StreamExt as _};
use tonic::{Request, Response, Status};

use super::losses::Losses;

/// Error of a query that can be repeated.
pub const LOST: &str = "an executor was lost during the query";

/// Scheduler that counts its lost executors.
pub struct GuardedScheduler {
    of: SchedulerServer<LogicalPlanNode, PhysicalPlanNode>,
    losses: Losses,
}

impl GuardedScheduler {
    /// Wraps a scheduler.
    pub fn new(of: SchedulerServer<LogicalPlanNode, PhysicalPlanNode>, losses: Losses) -> Self {
        Self { of, losses }
    }
}

/// Turns the success of a job into a failure, because an executor was lost meanwhile.
fn failed(mut result: GetJobStatusResult) -> GetJobStatusResult {
    if let Some(JobStatus { status: Some(status), .. }) = &mut result.status
        && let job_status::Status::Successful(SuccessfulJob {
            queued_at, started_at, ended_at, ..
        }) = status
    {
        *status = job_status::Status::Failed(FailedJob {
            error: LOST.to_owned(),
            queued_at: *queued_at,
            started_at: *started_at,
            ended_at: *ended_at,
        });
    }
    result
}

#[tonic::async_trait]
impl SchedulerGrpc for GuardedScheduler {
    type ExecuteQueryPushStream =
        Pin<Box<dyn Stream<Item = Result<GetJobStatusResult, Status>> + Send>>;

    async fn execute_query_push(
        &self,
        request: Request<ExecuteQueryParams>,
    ) -> Result<Response<Self::ExecuteQueryPushStream>, Status> {
        let (losses, before) = (self.losses.clone(), self.losses.count());
        let answer = SchedulerGrpc::execute_query_push(&self.of, request).await?;
        Ok(answer.map(|statuses| {
            let guarded = statuses.map(move |result| {
                result.map(|result| if losses.count() == before { result } else { failed(result) })
            });
            Box::pin(guarded) as Self::ExecuteQueryPushStream
        }))
    }

    async fn execute_query(
        &self,
        request: Request<ExecuteQueryParams>,
    ) -> Result<Response<ExecuteQueryResult>, Status> {
        // A poll for the state of a query does not learn of losses. A plan of windlass-archive has
        // one stage, which may run twice.
        match request.get_ref().query {
            Some(Query::PhysicalPlan(_)) => SchedulerGrpc::execute_query(&self.of, request).await,
            _ => Err(Status::unimplemented("queries are asked with ExecuteQueryPush")),
        }
    }

    async fn poll_work(
        &self,
        request: Request<PollWorkParams>,
    ) -> Result<Response<PollWorkResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::poll_work(&self.of, request).await
    }

    async fn register_executor(
        &self,
        request: Request<RegisterExecutorParams>,
    ) -> Result<Response<RegisterExecutorResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::register_executor(&self.of, request).await
    }

    async fn heart_beat_from_executor(
        &self,
        request: Request<HeartBeatParams>,
    ) -> Result<Response<HeartBeatResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::heart_beat_from_executor(&self.of, request).await
    }

    async fn update_task_status(
        &self,
        request: Request<UpdateTaskStatusParams>,
    ) -> Result<Response<UpdateTaskStatusResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::update_task_status(&self.of, request).await
    }

    async fn create_update_session(
        &self,
        request: Request<CreateUpdateSessionParams>,
    ) -> Result<Response<CreateUpdateSessionResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::create_update_session(&self.of, request).await
    }

    async fn remove_session(
        &self,
        request: Request<RemoveSessionParams>,
    ) -> Result<Response<RemoveSessionResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::remove_session(&self.of, request).await
    }

    async fn get_job_status(
        &self,
        request: Request<GetJobStatusParams>,
    ) -> Result<Response<GetJobStatusResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::get_job_status(&self.of, request).await
    }

    async fn get_job_metrics(
        &self,
        request: Request<GetJobMetricsParams>,
    ) -> Result<Response<GetJobMetricsResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::get_job_metrics(&self.of, request).await
    }

    async fn executor_stopped(
        &self,
        request: Request<ExecutorStoppedParams>,
    ) -> Result<Response<ExecutorStoppedResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::executor_stopped(&self.of, request).await
    }

    async fn cancel_job(
        &self,
        request: Request<CancelJobParams>,
    ) -> Result<Response<CancelJobResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::cancel_job(&self.of, request).await
    }

    async fn clean_job_data(
        &self,
        request: Request<CleanJobDataParams>,
    ) -> Result<Response<CleanJobDataResult>, Status> {
        // An inherent method may have the same name.
        SchedulerGrpc::clean_job_data(&self.of, request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_fails_and_what_is_at_work_goes_on() {
        let of = |status| GetJobStatusResult {
            status: Some(JobStatus { status: Some(status), ..JobStatus::default() }),
            flight_proxy: None,
        };
        let done = of(job_status::Status::Successful(SuccessfulJob::default()));
        let status = failed(done).status.and_then(|status| status.status);
        assert!(matches!(status, Some(job_status::Status::Failed(job)) if job.error == LOST));
        let running = of(job_status::Status::Running(Default::default()));
        assert_eq!(failed(running.clone()), running);
    }
}
