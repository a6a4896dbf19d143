//! Report on a load.

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};
use windlass_host::RunContext;
use windlass_print::load::{
    Absences, CountingMethod, Counts, Files, JobTimes, OutcomeSource, Outcomes, Program,
    QueueingFigures, Submission, Troubles,
};
use windlass_print::{JobProtocol, Target};

use super::advice::SettingAdvice;
use super::compare::{self, CompareError, Comparison};
use super::cups::CupsSettings;
use super::depth::Point;
use super::figures::Figures;
use super::limits::Limit;
use super::observe::JobStages;
use super::plan::Plan;

/// Report on a load.
#[derive(Debug, Serialize)]
pub struct LoadReport {
    /// Schema of the JSON.
    pub schema: Schema,
    /// Target of the load.
    pub target: TargetReport,
    /// Requested settings.
    pub asked: AskedReport,
    /// Files of the jobs.
    pub files: FilesReport,
    /// Counts of the submissions.
    pub counts: Counts,
    /// Figures of the queueing.
    pub queue: QueueingFigures,
    /// Figures of the processing; nothing if it was not awaited, or the server did not report it.
    pub process: Option<ProcessReport>,
    /// Outcomes of acknowledged jobs; nothing if they were not awaited, or there is no source for
    /// them.
    pub outcomes: Option<OutcomesReport>,
    /// Stages of jobs during processing, by the filters and backends of CUPS on this machine;
    /// nothing if none was seen.
    pub stages: Option<JobStages>,
    /// Times when the server was away.
    pub absences: Absences,
    /// True if another process listened at the end of the queueing than before it; nothing if the
    /// server is elsewhere, or its process is unknown.
    pub restarted: Option<bool>,
    /// Printers that were stopped first, if requested.
    pub hold: Option<HoldReport>,
    /// Number of waiting jobs over time.
    pub waiting: WaitingReport,
    /// Problems with jobs.
    #[serde(flatten)]
    pub wrong: Troubles,
    /// Limits of the load.
    pub limits: LimitsReport,
    /// Figures of the machine.
    pub machine: MachineReport,
    /// Settings of the cupsd under load; nothing if the server is no cupsd, or they cannot be read.
    pub cups: Option<CupsSettings>,
    /// Advice on these settings, with reasons.
    pub advice: Vec<SettingAdvice>,
    /// Comparison with an earlier load; nothing if none was given.
    pub compared: Option<Comparison>,
    /// Start time of the load, and the machine by intervals, if requested.
    #[serde(flatten)]
    pub meanwhile: RunContext,
    /// True if the load was stopped before its end.
    pub interrupted: bool,
    /// Error of the whole load; nothing if there was none.
    pub failure: Option<String>,
}

/// Target of a load.
#[derive(Debug, Serialize)]
pub struct TargetReport {
    /// Target as given.
    pub given: String,
    /// Protocol of the jobs: `ipp`, `lpr`, `raw`, or `lp` if a program submitted them.
    pub protocol: &'static str,
    /// Program run for each job; nothing if none was.
    pub program: Option<Program>,
    /// Number of queues.
    pub queues: usize,
    /// URI of the first queue.
    pub first_queue: String,
    /// URI of the last queue.
    pub last_queue: String,
}

/// Requested settings.
#[derive(Debug, Serialize)]
pub struct AskedReport {
    /// Number of jobs.
    pub jobs: u64,
    /// Number of concurrent jobs.
    pub connections: usize,
    /// True if each job was created before its document was sent.
    pub create_job: bool,
    /// Time for which a job was retried after a refusal by a full spool; nothing if it was not.
    pub retry_full_seconds: Option<Span>,
    /// Longest time without progress.
    pub patience_seconds: Span,
}

/// Files of the jobs.
#[derive(Debug, Serialize)]
pub struct FilesReport {
    /// Their kinds or paths, as given.
    pub payload: Vec<String>,
    /// Number of files.
    pub count: usize,
    /// Size of the smallest file.
    pub min_bytes: Bytes,
    /// Size of the largest file.
    pub max_bytes: Bytes,
    /// Size of all files.
    pub all_bytes: Bytes,
    /// Time for creating them; nothing if none was created.
    pub create_seconds: Option<Span>,
    /// Time for copying them to where they were sent from.
    pub copy_seconds: Span,
    /// `memory`, or the folder.
    pub from: String,
}

/// Printers that were stopped.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HoldReport {
    /// Number of printers stopped here.
    pub stopped: usize,
    /// Number of printers that were stopped before, and stay so.
    pub stopped_already: usize,
    /// Time for stopping them.
    pub stop_seconds: Span,
    /// Time for starting them again; nothing if they were not started.
    pub start_seconds: Option<Span>,
    /// Number of printers stopped here that are still stopped.
    pub left_stopped: usize,
}

/// Figures of the processing.
#[derive(Debug, Serialize)]
pub struct ProcessReport {
    /// Beginning of the wait.
    pub from: WaitStart,
    /// Time until no job waited any more, or the wait ended.
    pub seconds: Span,
    /// True if no job waits any more.
    pub complete: bool,
    /// Reason for the end of the wait.
    pub end: WaitEnd,
    /// Number of jobs that still wait; nothing if the server does not answer any more.
    pub left: Option<u64>,
    /// Number of stopped printers while jobs still wait; nothing if none wait, or the number is
    /// unknown.
    pub stopped_printers: Option<usize>,
    /// Total time from the beginning of the first job.
    pub all_seconds: Span,
    /// Number of completed jobs, including those that left the queue of a server without records.
    /// If outcomes are unknown, the number of jobs that wait no more.
    pub jobs: u64,
    /// These jobs per second of the total time; if printers were held, of the time since their
    /// release.
    pub jobs_per_second: f64,
    /// Bytes per second of their documents.
    pub bytes_per_second: Rate,
}

/// Reason for the end of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitEnd {
    /// No job waits any more.
    Done,
    /// No job was processed within the patience.
    NothingProcessed,
    /// The server did not answer within the patience.
    NoAnswer,
    /// The user stopped the wait.
    Stopped,
}

/// Outcomes of acknowledged jobs.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomesReport {
    /// Source of the outcomes.
    pub known_by: OutcomeSource,
    /// Number of jobs with each outcome.
    #[serde(flatten)]
    pub outcomes: Outcomes,
    /// Times that jobs waited and were printed, by the spooler's own records; nothing if it keeps
    /// none.
    pub times: Option<JobTimes>,
    /// Reason why the spooler did not answer in the end; nothing if it did.
    pub failure: Option<String>,
}

/// Beginning of the wait for jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitStart {
    /// Last answer to a job.
    LastAnswer,
    /// Release of the printers.
    Release,
}

/// Number of waiting jobs over time.
#[derive(Debug, Default, Serialize)]
pub struct WaitingReport {
    /// Method of counting; nothing if jobs are not counted.
    pub counted_by: Option<CountingMethod>,
    /// Number of waiting jobs before the first job.
    pub before: Option<u64>,
    /// Maximum beyond that number.
    pub max: Option<u64>,
    /// Number of questions to the spooler, which cost it time, too.
    pub questions: u64,
    /// Time for these questions.
    pub questions_seconds: Span,
    /// Share of the time from the first job to the end: a server with one thread does nothing else
    /// meanwhile.
    pub questions_share: f64,
    /// Reason why the last question had no answer; nothing if it had one.
    pub failure: Option<String>,
    /// Points over time.
    pub points: Vec<Point>,
}

/// Limit of each part.
#[derive(Debug, Serialize)]
pub struct LimitsReport {
    /// Limit of the queueing.
    pub queue: Limit,
    /// Limit of the processing; nothing if it was not observed.
    pub process: Option<Limit>,
}

/// Figures of the machine in each part, if it reports them.
#[derive(Debug, Serialize)]
pub struct MachineReport {
    /// Figures while jobs were queued.
    pub queue: Option<Figures>,
    /// Figures while jobs were processed.
    pub process: Option<Figures>,
}

impl LoadReport {
    /// Schema of the JSON, described by `schemas/spool-load.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.spool-load", version: 3 };

    /// Checks that a text is such a report, which can be compared.
    ///
    /// # Errors
    /// Fails if the text is no report of this version.
    pub fn check(text: &str) -> Result<(), CompareError> {
        compare::read(text, &Self::SCHEMA.to_string()).map(|_| ())
    }

    /// Adds the comparison with an earlier report, in a file.
    ///
    /// # Errors
    /// Fails if the text is no report of this version.
    pub fn compare(&mut self, file: &str, earlier: &str) -> Result<(), CompareError> {
        let now = serde_json::to_value(&*self);
        let now = now.map_err(|error| CompareError::NoJson(error.to_string()))?;
        self.compared = Some(Comparison::of(file, earlier, &now)?);
        Ok(())
    }
}

impl TargetReport {
    pub(super) fn new(plan: &Plan) -> Self {
        let (queues, way) = (&plan.load.queues, &plan.load.way);
        let uri = |target: Option<&Target>| target.map(Target::uri).unwrap_or_default();
        Self {
            given: plan.target.clone(),
            protocol: match way {
                Submission::Job(_) => queues.first().map_or("ipp", |first| first.protocol.id()),
                Submission::Program(_) => "lp",
            },
            program: match way {
                Submission::Program(program) => Some(*program),
                _ => None,
            },
            queues: queues.len(),
            first_queue: uri(queues.first()),
            last_queue: uri(queues.last()),
        }
    }
}

impl AskedReport {
    pub(super) fn new(plan: &Plan) -> Self {
        let load = &plan.load;
        Self {
            jobs: load.jobs,
            connections: load.connections,
            create_job: matches!(&load.way, Submission::Job(JobProtocol::Ipp(ipp)) if ipp.create_job),
            retry_full_seconds: load.retry_full.map(Span::from_duration),
            patience_seconds: Span::from_duration(load.patience),
        }
    }
}

impl FilesReport {
    pub(super) fn new(plan: &Plan, files: &Files, from: String) -> Self {
        let sizes = || files.files.iter().map(|file| file.size);
        let size = |size: Option<u64>| Bytes::new(size.unwrap_or(0));
        Self {
            payload: plan.payload.clone(),
            count: files.files.len(),
            min_bytes: size(sizes().min()),
            max_bytes: size(sizes().max()),
            all_bytes: Bytes::new(sizes().sum()),
            create_seconds: files.made.map(Span::from_duration),
            copy_seconds: Span::from_duration(files.copied),
            from,
        }
    }
}
