//! What came of a load.

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};
use windlass_host::Meanwhile;
use windlass_print::load::{
    Absences, Counting, Counts, Files, JobTimes, KnownBy, Outcomes, Program, Queueing, Submission,
    Troubles,
};
use windlass_print::{Sending, Target};

use super::advice::SettingAdvice;
use super::compare::{self, Comparison, NotComparable};
use super::cups::CupsSettings;
use super::depth::Point;
use super::figures::Figures;
use super::limits::Limit;
use super::observe::JobStages;
use super::plan::Plan;

/// What came of a load.
#[derive(Debug, Serialize)]
pub struct LoadReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// Where to.
    pub target: TargetReport,
    /// What was asked for.
    pub asked: AskedReport,
    /// What jobs were of.
    pub files: FilesReport,
    /// What became of them.
    pub counts: Counts,
    /// How they were queued.
    pub queue: Queueing,
    /// How they were processed; nothing where that was not waited for, or nobody
    /// could say.
    pub process: Option<ProcessReport>,
    /// What became of those that were acknowledged; nothing where that was not waited
    /// for, or nobody tells it.
    pub outcomes: Option<OutcomesReport>,
    /// What jobs were at while they were processed, by the filters and backends of CUPS
    /// on this machine; nothing where none was seen.
    pub stages: Option<JobStages>,
    /// The time when the server was away.
    pub absences: Absences,
    /// True if another process listened at the end of the queueing than before it;
    /// nothing where the server is elsewhere, or its process may not be known.
    pub restarted: Option<bool>,
    /// The printers that were stopped first, where that was asked for.
    pub hold: Option<HoldReport>,
    /// How many jobs waited.
    pub waiting: WaitingReport,
    /// What went wrong with jobs.
    #[serde(flatten)]
    pub wrong: Troubles,
    /// What limited it.
    pub limits: LimitsReport,
    /// What the machine did.
    pub machine: MachineReport,
    /// The settings of the cupsd that was loaded; nothing where it is none, or does not
    /// let them be read.
    pub cups: Option<CupsSettings>,
    /// Which of them to change, and why.
    pub advice: Vec<SettingAdvice>,
    /// The same load before; nothing where none was given.
    pub compared: Option<Comparison>,
    /// The time when that was; and the machine by intervals, where that was asked for.
    #[serde(flatten)]
    pub meanwhile: Meanwhile,
    /// True if it was stopped before its end.
    pub interrupted: bool,
    /// What went wrong with all of it; nothing where nothing did.
    pub failure: Option<String>,
}

/// Where to.
#[derive(Debug, Serialize)]
pub struct TargetReport {
    /// As it was given.
    pub given: String,
    /// How jobs were handed over: `ipp`, `lpr`, `raw`, or `lp` where a program did it.
    pub protocol: &'static str,
    /// The program that was run for each job; nothing where none was.
    pub program: Option<Program>,
    /// How many queues.
    pub queues: usize,
    /// The URI of the first.
    pub first_queue: String,
    /// The URI of the last.
    pub last_queue: String,
}

/// What was asked for.
#[derive(Debug, Serialize)]
pub struct AskedReport {
    /// How many jobs.
    pub jobs: u64,
    /// How many at once.
    pub connections: usize,
    /// True if each was created before its document was sent.
    pub create_job: bool,
    /// For how long a job was tried again that a full spool refused; nothing where
    /// it was not.
    pub retry_full_seconds: Option<Span>,
    /// The time for which nothing might move.
    pub patience_seconds: Span,
}

/// The job files.
#[derive(Debug, Serialize)]
pub struct FilesReport {
    /// Their kinds or paths, as they were given.
    pub payload: Vec<String>,
    /// How many.
    pub count: usize,
    /// The smallest.
    pub min_bytes: Bytes,
    /// The largest.
    pub max_bytes: Bytes,
    /// All of them.
    pub all_bytes: Bytes,
    /// The time for which it took to make them; nothing where none was made.
    pub create_seconds: Option<Span>,
    /// The time for which it took to copy them to where they were sent from.
    pub copy_seconds: Span,
    /// `memory`, or the folder.
    pub from: String,
}

/// The printers that were stopped.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HoldReport {
    /// Printers that were stopped here.
    pub stopped: usize,
    /// Those that were so already, and stay so.
    pub stopped_already: usize,
    /// The time for which that took.
    pub stop_seconds: Span,
    /// The time for which it took to start them again; nothing where they were not.
    pub start_seconds: Option<Span>,
    /// Printers that are stopped still, of those stopped here.
    pub left_stopped: usize,
}

/// How the jobs were processed.
#[derive(Debug, Serialize)]
pub struct ProcessReport {
    /// From when.
    pub from: Since,
    /// Until none of them waited any more, or the wait was over.
    pub seconds: Span,
    /// True if none waits any more.
    pub complete: bool,
    /// The reason why the wait was over.
    pub end: WaitEnd,
    /// Jobs that wait still; nothing where the server does not answer any more.
    pub left: Option<u64>,
    /// Printers that are stopped, where jobs wait still; nothing where none do, or
    /// that is not known.
    pub stopped_printers: Option<usize>,
    /// From the first job's beginning: all of it.
    pub all_seconds: Span,
    /// Jobs that were completed, and those that left the queue of a server that keeps no
    /// record of them; where it is not told what became of jobs, those that wait no more.
    pub jobs: u64,
    /// They, in all of that time; where printers were held, in the time from their
    /// release on.
    pub jobs_per_second: f64,
    /// Their documents.
    pub bytes_per_second: Rate,
}

/// Why the wait for jobs was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitEnd {
    /// None of them waits any more.
    Done,
    /// None was processed for the patience.
    NothingProcessed,
    /// The server did not answer for the patience.
    NoAnswer,
    /// It was stopped.
    Stopped,
}

/// What became of jobs that were acknowledged.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomesReport {
    /// By what it is known.
    pub known_by: KnownBy,
    /// How many became what.
    #[serde(flatten)]
    pub outcomes: Outcomes,
    /// The time for which jobs waited and were printed, by the spooler's own times; nothing where
    /// it keeps none.
    pub times: Option<JobTimes>,
    /// The reason why the spooler did not tell in the end; nothing where it did.
    pub failure: Option<String>,
}

/// From when jobs were waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// The last answer to a job.
    LastAnswer,
    /// The release of the printers.
    Release,
}

/// How many jobs waited.
#[derive(Debug, Default, Serialize)]
pub struct WaitingReport {
    /// By what they are counted; nothing where they are not.
    pub counted_by: Option<Counting>,
    /// How many waited before the first job.
    pub before: Option<u64>,
    /// The most beyond those that were seen.
    pub max: Option<u64>,
    /// How often the spooler was asked: that is work for it, too.
    pub questions: u64,
    /// The time for which that took.
    pub questions_seconds: Span,
    /// The share that they are of the time from the first job to the end: a server of one
    /// thread does nothing else meanwhile.
    pub questions_share: f64,
    /// The reason why the last question had no answer; nothing where it had.
    pub failure: Option<String>,
    /// Over time.
    pub points: Vec<Point>,
}

/// What limited each part.
#[derive(Debug, Serialize)]
pub struct LimitsReport {
    /// The queueing.
    pub queue: Limit,
    /// The processing; nothing where that was not seen.
    pub process: Option<Limit>,
}

/// What the machine did in each part, where it tells.
#[derive(Debug, Serialize)]
pub struct MachineReport {
    /// While jobs were queued.
    pub queue: Option<Figures>,
    /// While they were processed.
    pub process: Option<Figures>,
}

impl LoadReport {
    /// The shape of the JSON, described by `schemas/spool-load.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.spool-load", version: 3 };

    /// Looks whether a text is such a report, with which one may be compared.
    ///
    /// # Errors
    /// Fails where it is none of this version.
    pub fn check(text: &str) -> Result<(), NotComparable> {
        compare::read(text, &Self::SCHEMA.to_string()).map(|_| ())
    }

    /// Sets beside it what an earlier run reported, in a file.
    ///
    /// # Errors
    /// Fails where that is no report of this version.
    pub fn compare(&mut self, file: &str, earlier: &str) -> Result<(), NotComparable> {
        let now = serde_json::to_value(&*self);
        let now = now.map_err(|error| NotComparable::NoJson(error.to_string()))?;
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
            create_job: matches!(&load.way, Submission::Job(Sending::Ipp(ipp)) if ipp.create_job),
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
