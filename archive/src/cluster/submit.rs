//! Client of a scheduler.

use std::time::{Duration, Instant};

use ballista_core::BALLISTA_VERSION;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::execute_query_result;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, ExecuteQueryParams, GetJobStatusParams, KeyValuePair, RemoveSessionParams,
};
use ballista_core::version;
use tonic::transport::Channel;
use tonic::{Code, Request};
use windlass_base::Failure;

use super::address::Address;
use super::tls::{Tls, endpoint};
use super::{MOST_MESSAGE, root, task};

/// Interval of attempts to reach a scheduler that is not up.
const AGAIN: Duration = Duration::from_millis(250);

/// Connection to a scheduler that answers.
#[derive(Clone, Debug)]
pub struct Scheduler {
    client: SchedulerGrpcClient<Channel>,
    address: Address,
}

/// State of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// The scheduler does not know the job, not yet or no longer.
    Unknown,
    /// The job waits or runs.
    Running,
    /// The job is done.
    Done,
    /// The job failed, for this reason.
    Failed(String),
}

impl Scheduler {
    /// Connects to a scheduler.
    ///
    /// # Errors
    /// Returns an error if no scheduler answers, or it refuses these certificates.
    pub async fn connect(address: &Address, tls: Option<&Tls>) -> Result<Self, Failure> {
        let url = address.url(tls.is_some());
        let place = endpoint(url, tls).map_err(|error| unreached(address, tls, root(&error)))?;
        let channel = place.connect().await;
        let channel = channel.map_err(|error| unreached(address, tls, root(&error)))?;
        let most = usize::try_from(MOST_MESSAGE).unwrap_or(usize::MAX);
        let client = SchedulerGrpcClient::new(channel)
            .max_decoding_message_size(most)
            .max_encoding_message_size(most);
        let mut scheduler = Self { client, address: address.clone() };
        // A server refuses a certificate only with the first request.
        let job_id = "none".to_owned();
        match scheduler.client.get_job_status(GetJobStatusParams { job_id }).await {
            Err(status) if is_lost(&status) => Err(unreached(address, tls, wrong_of(&status))),
            _ => Ok(scheduler),
        }
    }

    /// Waits until a scheduler is up.
    ///
    /// # Errors
    /// Returns an error if none is up in time, or it refuses these certificates.
    pub async fn await_up(
        address: &Address,
        tls: Option<&Tls>,
        patience: Duration,
    ) -> Result<(), Failure> {
        let end = Instant::now() + patience;
        loop {
            // A listening scheduler is asked; any other may not be up yet, or its name may not
            // resolve yet.
            let listens = tokio::net::TcpStream::connect(address.to_string()).await;
            match listens {
                Ok(_) => return Self::connect(address, tls).await.map(|_| ()),
                Err(error) if Instant::now() >= end => {
                    return Err(unreached(address, tls, error.to_string()));
                }
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// Submits a plan, and returns its job.
    ///
    /// # Errors
    /// Returns an error if the scheduler refuses the plan.
    pub async fn submit(
        &mut self,
        plan: Vec<u8>,
        session: &str,
        settings: &[(&str, &str)],
    ) -> Result<String, Failure> {
        let pair = |(key, value): &(&str, &str)| KeyValuePair {
            key: (*key).to_owned(),
            value: Some((*value).to_owned()),
        };
        let mut request = Request::new(ExecuteQueryParams {
            query: Some(Query::PhysicalPlan(plan)),
            session_id: session.to_owned(),
            operation_id: session.to_owned(),
            settings: settings.iter().map(pair).collect(),
        });
        version::insert_version_header(request.metadata_mut());
        let refused = |wrong: &dyn std::fmt::Display| {
            Failure::new(format!("the scheduler at {} refused the job", self.address), wrong)
                .advise("Scheduler, executors and clients must have the same version.")
        };
        let answer = self.client.execute_query(request).await;
        let answer = answer.map_err(|status| refused(&wrong_of(&status)))?;
        let theirs = version::version_from_metadata(answer.metadata());
        let is_ours = version::check_compatibility(Some(BALLISTA_VERSION), theirs);
        let is_ours = is_ours.map_err(|wrong| refused(&wrong));
        match answer.into_inner().result {
            Some(execute_query_result::Result::Success(job)) => {
                is_ours?;
                Ok(job.job_id)
            }
            Some(execute_query_result::Result::Failure(failure)) => {
                Err(refused(&format!("{:?}", failure.failure)))
            }
            None => Err(refused(&"the scheduler gave no answer")),
        }
    }

    /// Returns the state of a job.
    ///
    /// # Errors
    /// Returns an error if the scheduler is gone.
    pub async fn status(&mut self, job: &str) -> Result<JobState, Failure> {
        let params = GetJobStatusParams { job_id: job.to_owned() };
        let answer = self.client.get_job_status(params).await;
        let answer = answer.map_err(|status| self.lost(wrong_of(&status)))?;
        match answer.into_inner().status.and_then(|status| status.status) {
            None => Ok(JobState::Unknown),
            Some(Status::Queued(_) | Status::Running(_)) => Ok(JobState::Running),
            Some(Status::Successful(_)) => Ok(JobState::Done),
            Some(Status::Failed(failed)) => {
                let plain = || failed.error.split_whitespace().collect::<Vec<_>>().join(" ");
                Ok(JobState::Failed(task::said(&failed.error).unwrap_or_else(plain)))
            }
        }
    }

    /// Returns the error of a scheduler that is gone, or was restarted.
    pub fn lost(&self, wrong: impl std::fmt::Display) -> Failure {
        Failure::new(format!("the scheduler at {} was lost", self.address), wrong)
            .advise("Added captures are kept; run the command again to continue.")
    }

    /// Cancels a job: its running tasks end soon, and keep what they have done.
    ///
    /// # Errors
    /// Returns an error if the scheduler is gone.
    pub async fn cancel(&mut self, job: &str) -> Result<(), Failure> {
        let params = CancelJobParams { job_id: job.to_owned() };
        let cancelled = self.client.cancel_job(params).await;
        cancelled.map(|_| ()).map_err(|status| {
            Failure::new(
                format!("cannot stop the job at the scheduler {}", self.address),
                wrong_of(&status),
            )
        })
    }

    /// Ends a session.
    pub async fn leave(&mut self, session: &str) {
        let params = RemoveSessionParams { session_id: session.to_owned() };
        // A lost message only costs the scheduler some memory.
        let _ = self.client.remove_session(params).await;
    }
}

/// Returns whether the scheduler did not answer: then the error has a cause on this side.
fn is_lost(status: &tonic::Status) -> bool {
    let code = status.code();
    std::error::Error::source(status).is_some()
        || matches!(
            code,
            Code::Unavailable | Code::Unknown | Code::Cancelled | Code::DeadlineExceeded
        )
}

/// Returns the reason of a failed request.
fn wrong_of(status: &tonic::Status) -> String {
    let source = std::error::Error::source(status).map(root);
    source.unwrap_or_else(|| status.message().to_owned())
}

fn unreached(address: &Address, tls: Option<&Tls>, wrong: String) -> Failure {
    let advice = if tls.is_some() {
        "Check that it runs, and that each side's certificate is of the other's authority and has \
         the host's name or address."
    } else {
        "Check that it runs. If it uses certificates, add --tls-cert, --tls-key and --tls-ca."
    };
    Failure::new(format!("cannot reach the scheduler at {address}"), wrong).advise(advice)
}
