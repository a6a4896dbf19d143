//! The record of `windlass spool load`.

use std::time::Duration;

use serde::Serialize;
use windlass_base::{Bytes, Rate, Schema, Span};
use windlass_host::HostReport;
use windlass_print::load::{
    Counting, Counts, Files, Plan, Program, Queued, Queueing, Troubles, Way, jobs_per_second,
};

use super::args::LoadArgs;
use super::depth::Point;
use super::phases::{Figures, Limit};
use super::session::{Asked, Processed};

/// What came of a load.
#[derive(Debug, Serialize)]
pub struct Report {
    pub(super) schema: Schema,
    pub(super) target: TargetReport,
    pub(super) asked: AskedReport,
    pub(super) files: FilesReport,
    pub(super) counts: Counts,
    pub(super) queue: Queueing,
    /// How the jobs were processed; null where that was not waited for, or nobody
    /// could say.
    pub(super) process: Option<ProcessReport>,
    /// The printers that were stopped; null without --hold.
    pub(super) hold: Option<HoldReport>,
    pub(super) waiting: WaitingReport,
    #[serde(flatten)]
    pub(super) wrong: Troubles,
    pub(super) limits: LimitsReport,
    pub(super) machine: MachineReport,
    /// What this machine did, by intervals; null without --watch.
    pub(super) watched: Option<HostReport>,
    /// Whether it was stopped before its end.
    pub(super) interrupted: bool,
    /// What went wrong; null where nothing did.
    pub(super) failure: Option<String>,
}

/// Where to.
#[derive(Debug, Serialize)]
pub(super) struct TargetReport {
    /// As it was given.
    pub(super) given: String,
    pub(super) protocol: &'static str,
    /// The program that was run for each job; null where none was.
    pub(super) program: Option<Program>,
    pub(super) queues: usize,
    pub(super) first_queue: String,
    pub(super) last_queue: String,
}

/// What was asked for.
#[derive(Debug, Serialize)]
pub(super) struct AskedReport {
    pub(super) jobs: u64,
    pub(super) connections: usize,
    pub(super) create_job: bool,
    pub(super) retry_full_seconds: Option<Span>,
    pub(super) patience_seconds: Span,
}

/// The job files.
#[derive(Debug, Serialize)]
pub(super) struct FilesReport {
    /// Their kinds or paths, as they were given.
    pub(super) payload: Vec<String>,
    pub(super) count: usize,
    pub(super) least_bytes: Bytes,
    pub(super) most_bytes: Bytes,
    pub(super) all_bytes: Bytes,
    /// How long it took to make them; null where none was made.
    pub(super) create_seconds: Option<Span>,
    pub(super) copy_seconds: Span,
    /// `memory`, or the folder.
    pub(super) from: String,
}

/// How the jobs were processed.
#[derive(Debug, Serialize)]
pub(super) struct ProcessReport {
    /// From when: `last-answer`, or `release` of the printers.
    pub(super) from: &'static str,
    /// Until none of them waited any more, or the wait was over.
    pub(super) seconds: Span,
    pub(super) complete: bool,
    /// Jobs that wait still.
    pub(super) left: u64,
    /// Printers that are stopped, where jobs wait still; null where none do, or
    /// that is not known.
    pub(super) stopped_printers: Option<usize>,
    /// From the first job's beginning: all of it.
    pub(super) all_seconds: Span,
    /// Jobs that were processed, in that time; with --hold in the time from the
    /// release on.
    pub(super) jobs_per_second: f64,
    pub(super) bytes_per_second: Rate,
}

/// The printers that were stopped.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct HoldReport {
    /// Printers that were stopped here.
    pub(super) stopped: usize,
    /// Those that were so already, and stay so.
    pub(super) stopped_already: usize,
    pub(super) stop_seconds: Span,
    /// Null where they were not started again.
    pub(super) start_seconds: Option<Span>,
    /// Printers that are stopped still, of those stopped here.
    pub(super) left_stopped: usize,
}

/// How many jobs waited.
#[derive(Debug, Serialize)]
pub(super) struct WaitingReport {
    /// By what they are counted; null where they are not.
    pub(super) counted_by: Option<Counting>,
    /// How many waited before the first job.
    pub(super) before: Option<u64>,
    /// The most beyond those that were seen.
    pub(super) most: Option<u64>,
    /// Questions, and how long they took: they are work for the spooler, too.
    pub(super) questions: u64,
    pub(super) questions_seconds: Span,
    /// Why the last question had no answer; null where it had.
    pub(super) failure: Option<String>,
    pub(super) points: Vec<Point>,
}

/// What limited it.
#[derive(Debug, Serialize)]
pub(super) struct LimitsReport {
    pub(super) queue: Limit,
    pub(super) process: Option<Limit>,
}

/// What the machine did in each part.
#[derive(Debug, Serialize)]
pub(super) struct MachineReport {
    pub(super) queue: Option<Figures>,
    pub(super) process: Option<Figures>,
}

/// What a report is made of.
pub(super) struct Made<'a> {
    pub(super) args: &'a LoadArgs,
    pub(super) plan: &'a Plan,
    pub(super) files: &'a Files,
    pub(super) from: String,
    pub(super) queued: Queued,
    pub(super) processed: Option<Processed>,
    /// From the first job's beginning to the end of all.
    pub(super) all: Duration,
    pub(super) hold: Option<HoldReport>,
    pub(super) counted_by: Option<Counting>,
    pub(super) asked: Asked,
    pub(super) points: Vec<Point>,
    pub(super) machine: MachineReport,
    pub(super) limits: LimitsReport,
    pub(super) watched: Option<HostReport>,
    pub(super) interrupted: bool,
    pub(super) failure: Option<String>,
}

fn span(time: Duration) -> Span {
    Span::from_duration(time)
}

impl Report {
    /// The shape of the JSON, described by `schemas/spool-load.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.spool-load", version: 2 };

    pub(super) fn new(made: Made<'_>) -> Self {
        let Made { args, plan, files, queued, .. } = made;
        let program = match &plan.way {
            Way::Program(program) => Some(*program),
            _ => None,
        };
        let protocol = match &plan.way {
            Way::Ipp(_) => "ipp",
            Way::Lpr(_) => "lpr",
            Way::Raw => "raw",
            Way::Program(_) => "lp",
        };
        let uri = |target: Option<&windlass_print::Target>| {
            target.map(windlass_print::Target::uri).unwrap_or_default()
        };
        let sizes = || files.files.iter().map(|file| file.size);
        let size = |size: Option<u64>| Bytes::new(size.unwrap_or(0));
        let counts = queued.counts;
        Self {
            schema: Self::SCHEMA,
            target: TargetReport {
                given: args.target.clone(),
                protocol,
                program,
                queues: plan.queues.len(),
                first_queue: uri(plan.queues.first()),
                last_queue: uri(plan.queues.last()),
            },
            asked: AskedReport {
                jobs: plan.jobs,
                connections: plan.connections,
                create_job: args.create_job,
                retry_full_seconds: args.retry_full,
                patience_seconds: args.patience,
            },
            files: FilesReport {
                payload: args.payload.iter().map(|path| path.display().to_string()).collect(),
                count: files.files.len(),
                least_bytes: size(sizes().min()),
                most_bytes: size(sizes().max()),
                all_bytes: Bytes::new(sizes().sum()),
                create_seconds: files.made.map(span),
                copy_seconds: span(files.copied),
                from: made.from,
            },
            counts,
            process: made.processed.map(|processed| {
                let is_held = made.hold.is_some();
                let over = span(if is_held { processed.took } else { made.all });
                // What waits still is not processed, whatever of it.
                let done = counts.acknowledged.saturating_sub(processed.left);
                let share = u128::from(queued.queueing.bytes.get()) * u128::from(done);
                let bytes = share / u128::from(counts.acknowledged.max(1));
                let bytes = u64::try_from(bytes).map_or(queued.queueing.bytes, Bytes::new);
                ProcessReport {
                    from: if is_held { "release" } else { "last-answer" },
                    seconds: span(processed.took),
                    complete: processed.is_done,
                    left: processed.left,
                    stopped_printers: processed.stopped,
                    all_seconds: span(made.all),
                    jobs_per_second: jobs_per_second(done, over),
                    bytes_per_second: bytes.per(over),
                }
            }),
            hold: made.hold,
            waiting: WaitingReport {
                counted_by: made.counted_by,
                before: made.asked.before,
                most: made.asked.most,
                questions: made.asked.requests,
                questions_seconds: span(made.asked.took),
                failure: made.asked.failure,
                points: made.points,
            },
            queue: queued.queueing,
            wrong: queued.wrong,
            limits: made.limits,
            machine: made.machine,
            watched: made.watched,
            interrupted: made.interrupted,
            failure: made.failure,
        }
    }
}
