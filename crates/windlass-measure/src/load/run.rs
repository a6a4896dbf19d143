//! A load from its job files to the last job that is processed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_base::Failure;
use windlass_host::{Running, Wanted};
use windlass_print::load::{Control, FileError, Files, Load, Place, Submission};
use windlass_print::{DialError, Monitor, Protocol, Target};

use super::hosts::Hosts;
use super::limits::{Figures, Looker, unseen};
use super::report::{
    AskedReport, FilesReport, LimitsReport, LoadReport, MachineReport, Since, TargetReport,
};
use super::session::Session;

/// How long the spooler may take to say how many jobs wait, or to stop a printer.
const ANSWER: Duration = Duration::from_secs(10);

/// What is sent where, and how it is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The target, as it was given.
    pub target: String,
    /// The jobs.
    pub load: windlass_print::load::Plan,
    /// The queues as the spooler is asked about them; none where it is not.
    pub asking: Vec<Target>,
    /// What jobs are of.
    pub wanted: Vec<windlass_print::load::Wanted>,
    /// The same as it was given.
    pub payload: Vec<String>,
    /// Where they are sent from.
    pub place: Place,
    /// Where a folder is made for copies that programs can read, instead of
    /// `place`.
    pub copies_in: Option<PathBuf>,
    /// Whether printers are stopped until all is queued.
    pub hold: bool,
    /// Whether they stay stopped.
    pub keep_held: bool,
    /// Whether it is waited until all is processed.
    pub waits: bool,
    /// How often it is looked how many jobs wait, at the most.
    pub interval: Duration,
    /// The processes of the server; none for the one that listens there.
    pub server: Vec<Wanted>,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Jobs are queued.
    Queueing {
        /// Those that came to an end.
        settled: u64,
        /// Of so many.
        of: u64,
        /// In so long.
        taken: Duration,
        /// How many wait, where that is known.
        waiting: Option<u64>,
    },
    /// Jobs are processed.
    Processing {
        /// Those that wait.
        waiting: u64,
        /// Of so many at the beginning.
        of: u64,
        /// So long ago.
        taken: Duration,
    },
}

/// Who is told what happens meanwhile.
pub trait Attendant {
    /// The first job is about to be sent. Who watches the machine by then has it in
    /// the report.
    ///
    /// # Errors
    /// Where it is not to be.
    fn begins(&mut self) -> Result<Running, Failure> {
        Ok(Running::begin(None))
    }

    /// How far it is: told again and again.
    fn progress(&mut self, _stage: Stage) {}

    /// That stage is over.
    fn stage_ends(&mut self) {}

    /// No printer waits any more to be started again: it may be ended at once.
    fn may_end(&mut self) {}
}

/// Why nothing was loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server has no address.
    #[error("{0}")]
    Resolve(windlass_drive::Error),
    /// The server takes no connections.
    #[error("{0}")]
    Reach(DialError),
    /// There is no folder for copies.
    #[error("cannot make a folder in {}: {source}", within.display())]
    Folder {
        /// Where it was to be.
        within: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There are no job files.
    #[error("{0}")]
    Files(FileError),
    /// The attendant said no.
    #[error(transparent)]
    Attendant(Failure),
    /// The printers cannot be stopped.
    #[error("{0}")]
    Hold(windlass_print::Error),
    /// Jobs cannot be made.
    #[error("{0}")]
    Queue(windlass_print::Error),
}

/// What came of it.
#[derive(Debug)]
pub struct Done {
    /// What was measured. Whether that is a failure is for the caller to say.
    pub report: LoadReport,
    /// Why printers could not be started again.
    pub unreleased: Option<windlass_print::Error>,
}

/// Loads a spooler. Once `stop` is set no more jobs are begun.
///
/// # Errors
/// Where no job could be sent. Printers that were stopped run again then. What
/// becomes of jobs is no error.
pub fn run(plan: &Plan, stop: &AtomicBool, attendant: &mut dyn Attendant) -> Result<Done, Error> {
    let queues = &plan.load.queues;
    let hosts = Hosts::find(queues.iter().chain(&plan.asking)).map_err(Error::Resolve)?;
    let dialing = |target: &Target| hosts.dial(target);
    // A raw port may take the end of a connection for the end of a job.
    if let Some(first) = queues.first().filter(|first| first.protocol != Protocol::Raw) {
        hosts.dial(first).map_err(Error::Reach)?;
    }
    let (files, from, _folders) = prepare(plan)?;
    let server = match plan.server.as_slice() {
        [] => queues.first().and_then(|first| hosts.server(first)).into_iter().collect(),
        named => named.to_vec(),
    };
    let running = attendant.begins().map_err(Error::Attendant)?;

    let monitor = Monitor::default();
    let patience = plan.load.patience.min(ANSWER);
    let mut control = Control::new(&plan.asking, &plan.load.user, &monitor, &dialing, patience);
    let control = (!plan.asking.is_empty()).then_some(&mut control);
    let load = Load::new(plan.load.clone());
    let mut session = Session::new(&load, control, plan.interval, stop, attendant);
    session.prepare();
    if plan.hold {
        session.hold().map_err(Error::Hold)?;
    }
    let mut looker = Looker::new(server);
    let queued = session.queue(&files, &dialing);
    let queued = queued.map_err(|error| {
        session.release();
        Error::Queue(error)
    })?;
    let mut machine =
        MachineReport { queue: looker.as_mut().and_then(Looker::look), process: None };
    if plan.hold && !session.is_stopped() {
        session.look();
    }
    let (mut from_when, mut since) =
        (Since::LastAnswer, session.began + queued.queueing.seconds.to_duration());
    let mut unreleased = None;
    if plan.hold && !plan.keep_held {
        unreleased = session.release();
        (from_when, since) = (Since::Release, Instant::now());
    }
    session.attendant.may_end();
    let waits = plan.waits && queued.counts.acknowledged > 0 && !session.is_stopped();
    let process = if waits { session.process(from_when, since, &queued) } else { None };
    if waits {
        machine.process = looker.as_mut().and_then(Looker::look);
    }
    let lp = matches!(plan.load.way, Submission::Program(_));
    let seen = process.as_ref().and(machine.process.as_ref());
    let limits = LimitsReport {
        queue: machine
            .queue
            .as_ref()
            .map_or_else(unseen, |figures| figures.of_queueing(&queued, plan.load.connections, lp)),
        process: seen.map(Figures::of_processing),
    };
    let report = LoadReport {
        schema: LoadReport::SCHEMA,
        target: TargetReport::new(plan),
        asked: AskedReport::new(plan),
        files: FilesReport::new(plan, &files, from),
        counts: queued.counts,
        queue: queued.queueing,
        process,
        hold: session.held,
        interrupted: session.is_stopped(),
        waiting: session.waited(),
        wrong: queued.wrong,
        limits,
        machine,
        meanwhile: running.end(),
        failure: None,
    };
    Ok(Done { report, unreleased })
}

/// Makes the job files, and says where they are. They go with the folders.
fn prepare(plan: &Plan) -> Result<(Files, String, [Option<TempDir>; 2]), Error> {
    let folder = |within: &Path| {
        let made = tempfile::Builder::new().prefix("windlass-load-").tempdir_in(within);
        made.map_err(|source| Error::Folder { within: within.to_owned(), source })
    };
    let scratch = folder(&std::env::temp_dir())?;
    let copies = plan.copies_in.as_deref().map(folder).transpose()?;
    let place = match &copies {
        Some(copies) => Place::Folder(copies.path().to_owned()),
        None => plan.place.clone(),
    };
    let from = match (&plan.copies_in, &place) {
        (Some(path), _) | (None, Place::Folder(path)) => path.display().to_string(),
        (None, Place::Memory) => "memory".to_owned(),
    };
    let files = Files::prepare(&plan.wanted, &place, scratch.path()).map_err(Error::Files)?;
    Ok((files, from, [Some(scratch), copies]))
}
