//! A load, from its job files to the last processed job.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_base::Failure;
use windlass_print::load::{
    Control, DocumentStorage, FileError, Files, Follower, Load, Submission,
};
use windlass_print::{DialError, Monitor, Target};

use super::advice::CupsMeasurements;
use super::cups;
use super::figures::{MachineSampler, PartFigures};
use super::hosts::Hosts;
use super::limits::{self, ProcessingRun, QueueingRun};
use super::observe::Observer;
use super::plan::{Attendant, Plan};
use super::report::{
    AskedReport, FilesReport, LimitsReport, LoadReport, MachineReport, TargetReport, WaitStart,
};
use super::session::Session;

/// Longest time for an answer to a count of jobs, or to stop a printer.
const ANSWER: Duration = Duration::from_secs(10);

/// Reason why no load was made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server has no address.
    #[error("{0}")]
    Resolve(windlass_drive::Error),
    /// The server accepts no connections.
    #[error("{0}")]
    Reach(DialError),
    /// The folder for copies cannot be made.
    #[error("cannot make a folder in {}: {source}", within.display())]
    Folder {
        /// Parent folder.
        within: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// There are no job files.
    #[error("{0}")]
    Files(FileError),
    /// The attendant refused.
    #[error(transparent)]
    Attendant(Failure),
    /// The printers cannot be stopped.
    #[error("{0}")]
    Hold(windlass_print::Error),
    /// Jobs cannot be made.
    #[error("{0}")]
    Queue(windlass_print::Error),
}

/// Outcome of a load.
#[derive(Debug)]
pub struct LoadOutcome {
    /// Report on the load. The caller decides whether it is a failure.
    pub report: LoadReport,
    /// Reason why printers could not be started again.
    pub unreleased: Option<windlass_print::Error>,
}

/// Loads a spooler. Once `stop` is set, no more jobs begin.
///
/// # Errors
/// Fails if no job could be sent. Printers that were stopped run again then. Failures of single
/// jobs are no error.
pub fn run(
    plan: &Plan,
    stop: &AtomicBool,
    attendant: &mut dyn Attendant,
) -> Result<LoadOutcome, Error> {
    let queues = &plan.load.queues;
    let hosts = Hosts::find(queues.iter().chain(&plan.asking)).map_err(Error::Resolve)?;
    let bare = |target: &Target| hosts.dial(target);
    let dial = plan.access.over(&bare, plan.load.patience);
    // A raw port may take the end of a connection for the end of a job.
    if let Some(first) = queues.first().filter(|first| !first.protocol.is_data_alone()) {
        hosts.dial(first).map_err(Error::Reach)?;
    }
    let (files, from, _folders) = prepare(plan)?;
    let found = || queues.first().and_then(|first| hosts.server(first));
    let first_server = found();
    let server = match plan.server.as_slice() {
        [] => first_server.iter().cloned().collect(),
        named => named.to_vec(),
    };
    let running = attendant.begins().map_err(Error::Attendant)?;

    let monitor = Monitor::default();
    let patience = plan.load.patience.min(ANSWER);
    let mut control = Control::new(&plan.asking, &plan.load.user, &monitor, &dial, patience);
    let control = (!plan.asking.is_empty()).then_some(&mut control);
    let load = Load::new(windlass_print::load::Plan { follows: plan.waits, ..plan.load.clone() });
    let asking = plan.asking.first();
    let cups = cups::CupsBaseline::read(&server, asking, &monitor, &dial, patience);
    let follower = Follower::new(&load, &plan.asking, &monitor, &dial, patience).map(|follower| {
        let cups = cups.as_ref();
        follower.with_records(
            cups.and_then(cups::CupsBaseline::keeps_history),
            cups.and_then(cups::CupsBaseline::job_log),
            cups.and_then(cups::CupsBaseline::documents),
        )
    });
    let mut session = Session::new(&load, control, follower, plan.interval, stop, attendant);
    session.watch_for_restarts(&found);
    session.prepare();
    if plan.hold {
        session.hold().map_err(Error::Hold)?;
    }
    let observer = Observer::begin(&server);
    let mut looker = MachineSampler::new(server);
    let queued = session.queue(&files, &dial);
    let queued = queued.map_err(|error| {
        session.release();
        Error::Queue(error)
    })?;
    let look = |looker: &mut Option<MachineSampler>| {
        looker.as_mut().map_or(PartFigures::Unseen, MachineSampler::look)
    };
    let looked = look(&mut looker);
    let absences = load.absences();
    let ran = QueueingRun {
        queued: &queued,
        absences: &absences,
        connections: plan.load.connections,
        by_program: matches!(plan.load.way, Submission::Program(_)),
    };
    let limit_of_queueing = ran.limit(&looked);
    let last_server = found();
    let restarted =
        first_server.as_ref().zip(last_server.as_ref()).map(|(one, other)| one != other);
    if restarted == Some(true)
        && let Some(looker) = looker.as_mut().filter(|_| plan.server.is_empty())
    {
        looker.follow(last_server.into_iter().collect());
    }
    if plan.hold && !session.is_stopped() {
        session.look();
    }
    let (mut from_when, mut since) =
        (WaitStart::LastAnswer, session.began + queued.queueing.seconds.to_duration());
    let mut unreleased = None;
    if plan.hold && !plan.keep_held {
        unreleased = session.release();
        (from_when, since) = (WaitStart::Release, Instant::now());
    }
    session.attendant.may_end();
    let waits = plan.waits && queued.counts.acknowledged > 0 && !session.is_stopped();
    let process = if waits { session.process(from_when, since, &queued) } else { None };
    let limit_of_processing = process.as_ref().map(|process| {
        let looked = look(&mut looker);
        let away = load.absences();
        let processed = ProcessingRun {
            seconds: process.seconds,
            is_complete: process.complete,
            away: away.seconds - away.within(queued.queueing.seconds),
            stopped_printers: process.stopped_printers.unwrap_or(0),
        };
        let limit = limits::of_processing(processed, &looked);
        (limit, looked.figures())
    });
    let stages = observer.and_then(Observer::end);
    let outcomes = if process.is_some() { session.outcomes() } else { None };
    let (limit_of_processing, figures_of_processing) =
        limit_of_processing.map_or((None, None), |(limit, figures)| (Some(limit), figures));
    let limits = LimitsReport { queue: limit_of_queueing, process: limit_of_processing };
    let machine = MachineReport { queue: looked.figures(), process: figures_of_processing };
    let cups = cups.map(cups::CupsBaseline::after);
    let advice = cups.as_ref().map_or_else(Vec::new, |settings| {
        let measured = CupsMeasurements {
            settings,
            counts: queued.counts,
            queue: &queued.queueing,
            wrong: &queued.wrong,
            outcomes: outcomes.as_ref().map(|it| (&it.outcomes, it.known_by)),
            limits: [Some(&limits.queue), limits.process.as_ref()],
            connections: plan.load.connections,
        };
        measured.advice()
    });
    let report = LoadReport {
        schema: LoadReport::SCHEMA,
        target: TargetReport::new(plan),
        asked: AskedReport::new(plan),
        files: FilesReport::new(plan, &files, from),
        counts: queued.counts,
        queue: queued.queueing,
        process,
        outcomes,
        stages,
        absences: load.absences(),
        restarted,
        hold: session.held,
        interrupted: session.is_stopped(),
        waiting: session.waited(),
        wrong: queued.wrong,
        limits,
        machine,
        cups,
        advice,
        compared: None,
        meanwhile: running.end(),
        failure: None,
    };
    Ok(LoadOutcome { report, unreleased })
}

/// Prepares the job files, and returns their location. They are deleted with the folders.
fn prepare(plan: &Plan) -> Result<(Files, String, [Option<TempDir>; 2]), Error> {
    let folder = |within: &Path| {
        let made = tempfile::Builder::new().prefix("windlass-load-").tempdir_in(within);
        made.map_err(|source| Error::Folder { within: within.to_owned(), source })
    };
    let scratch = folder(&std::env::temp_dir())?;
    let copies = plan.copies_in.as_deref().map(folder).transpose()?;
    let place = match &copies {
        Some(copies) => DocumentStorage::Folder(copies.path().to_owned()),
        None => plan.place.clone(),
    };
    let from = match (&plan.copies_in, &place) {
        (Some(path), _) | (None, DocumentStorage::Folder(path)) => path.display().to_string(),
        (None, DocumentStorage::Memory) => "memory".to_owned(),
    };
    let files = Files::prepare(&plan.wanted, &place, scratch.path()).map_err(Error::Files)?;
    Ok((files, from, [Some(scratch), copies]))
}
