//! `windlass spool load`: jobs on a spooler by the thousand.

mod args;
mod depth;
mod listener;
mod phases;
mod plan;
mod progress;
mod report;
mod session;
mod text;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use args::{LoadArgs, Run, Spoken};
use listener::listener;
use phases::Looker;
pub use report::Report;
use report::{HoldReport, LimitsReport, MachineReport, Made};
use session::{Processed, Session};
use signal_hook::consts::SIGHUP;
use signal_hook::flag;
use windlass_base::{Failure, Span};
use windlass_drive::Error as Driven;
use windlass_drive::client::resolve;
use windlass_drive::socket::Options;
use windlass_host::{Wanted, Watcher};
use windlass_print::load::{Control, Dialing, Files, Load, Place, Plan, Queued, Way};
use windlass_print::{Dial, Monitor, Protocol, Target};

use crate::commands::print::dial::Dialer;
use crate::commands::unwritten;
use crate::interrupt;
use crate::print::{Format, Output};

/// How long the spooler may take to say how many jobs wait, or to stop a printer.
const ANSWER: Duration = Duration::from_secs(10);

/// Runs the command.
///
/// # Errors
/// Where not all jobs are queued and processed, or the report cannot be written.
pub(super) fn run(args: &LoadArgs, output: &mut Output) -> anyhow::Result<()> {
    let plan = args.plan()?;
    let asking = args.control(&plan.queues)?;
    // Printers that are stopped here are to run again, so with them a second Ctrl-C
    // waits until they do.
    let may_end = Arc::new(AtomicBool::new(false));
    let stop = if args.hold { interrupt::listen_until(&may_end) } else { interrupt::listen() };
    let stop = stop.map_err(|error| Failure::new(args.doing(), error))?;
    if args.hold {
        // Nor may the end of a terminal leave them stopped.
        let heeded = flag::register(SIGHUP, Arc::clone(&stop));
        heeded.map_err(|error| Failure::new(args.doing(), error))?;
    }
    let hosts = Hosts::find(args, plan.queues.iter().chain(&asking))?;
    let dialing = |target: &Target| hosts.dial(target);
    reach(args, &plan, &dialing)?;
    let (files, from, _folders) = prepare(args, &plan)?;
    let server = server(args, &plan, &hosts);
    let watcher = args.watching.start(output.format() == Format::Json)?;

    let monitor = Monitor::default();
    let patience = plan.patience.min(ANSWER);
    let mut control = Control::new(&asking, &plan.user, &monitor, &dialing, patience);
    let load = Load::new(plan.clone());
    let has_control = !asking.is_empty();
    let mut session = Session::new(
        &load,
        has_control.then_some(&mut control),
        args.interval.to_duration(),
        &stop,
    );
    session.prepare();
    let mut held = args.hold.then(Held::default);
    if let Some(held) = &mut held
        && let Err(failure) = held.stop(args, &mut session)
    {
        held.start(&mut session);
        return Err(failure.into());
    }
    let mut looker = Looker::new(server);
    let queued = session.queue(&files, &dialing);
    let queued = match (queued, &mut held) {
        (Ok(queued), _) => queued,
        (Err(error), held) => {
            held.iter_mut().for_each(|held| held.start(&mut session));
            return Err(Failure::new(args.doing(), error).into());
        }
    };
    let mut machine =
        MachineReport { queue: looker.as_mut().and_then(Looker::look), process: None };
    let mut since = session.began() + queued.queueing.seconds.to_duration();
    let mut processed = None;
    if held.is_some() && !session.is_stopped() {
        session.all_wait();
    }
    if let Some(held) = held.as_mut().filter(|_| !args.keep_held) {
        held.start(&mut session);
        since = Instant::now();
    }
    may_end.store(true, Ordering::Relaxed);
    let waits = !args.no_wait && !args.keep_held && queued.counts.acknowledged > 0;
    if waits && !session.is_stopped() {
        processed = session.process(since);
        machine.process = looker.as_mut().and_then(Looker::look);
    }
    let all = session.began().elapsed();
    let lp = matches!(plan.way, Way::Program(_));
    let limits = LimitsReport {
        queue: machine.queue.as_ref().map_or_else(phases::unseen, |figures| {
            figures.of_queueing(&queued, plan.connections, lp)
        }),
        process: processed.and(machine.process.as_ref()).map(phases::Figures::of_processing),
    };
    let interrupted = session.is_stopped();
    let hold = held.as_ref().map(|held| held.report);
    let wrong = wrong(args, &plan, &queued, processed, interrupted, held.as_ref());
    let counted_by = session.counting();
    let (asked, points) = (session.asked, session.depth.points());
    let report = Report::new(Made {
        args,
        plan: &plan,
        files: &files,
        from,
        queued,
        processed,
        all,
        hold,
        counted_by,
        asked,
        points,
        machine,
        limits,
        watched: watcher.map(Watcher::finish),
        interrupted,
        failure: wrong.as_ref().map(ToString::to_string),
    });
    output.print(&report).map_err(unwritten)?;
    wrong.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Printers that are stopped while jobs are queued.
#[derive(Default)]
struct Held {
    paused: Vec<usize>,
    report: HoldReport,
    failure: Option<String>,
}

impl Held {
    fn stop(&mut self, args: &LoadArgs, session: &mut Session<'_>) -> Result<(), Failure> {
        let began = Instant::now();
        let stopped = session.pause(&mut self.paused);
        self.report.stop_seconds = Span::from_duration(began.elapsed());
        self.report.stopped = self.paused.len();
        self.report.left_stopped = self.paused.len();
        self.report.stopped_already = session.printers().saturating_sub(self.paused.len());
        stopped.map_err(|error| {
            Failure::new(format!("cannot stop the printers of {}", args.target), error).advise(
                "Stop them by cupsdisable, or leave --hold out. Where jobs go by LPR, --control \
                 says where the spooler speaks IPP.",
            )
        })
    }

    fn start(&mut self, session: &mut Session<'_>) {
        let began = Instant::now();
        self.failure = session.resume(&mut self.paused).err().map(|error| error.to_string());
        self.report.start_seconds = Some(Span::from_duration(began.elapsed()));
        self.report.left_stopped = self.paused.len();
    }
}

/// The addresses of servers.
struct Hosts(HashMap<(String, u16), Vec<SocketAddr>>);

impl Hosts {
    fn find<'t>(
        args: &LoadArgs,
        targets: impl Iterator<Item = &'t Target>,
    ) -> Result<Self, Failure> {
        let mut known = HashMap::new();
        for target in targets {
            let key = (target.host.clone(), target.port);
            if let Entry::Vacant(place) = known.entry(key) {
                place.insert(resolve(&target.host, target.port).map_err(|error| {
                    Failure::new(args.doing(), error).advise("Check the name, or give an address.")
                })?);
            }
        }
        Ok(Self(known))
    }

    fn of(&self, target: &Target) -> &[SocketAddr] {
        let key = (target.host.clone(), target.port);
        self.0.get(&key).map(Vec::as_slice).unwrap_or_default()
    }

    fn dial(&self, target: &Target) -> Result<TcpStream, Box<dyn std::error::Error + Send + Sync>> {
        let options = Options { nodelay: true, ..Options::default() };
        Dialer { addresses: self.of(target).to_vec(), options, reserved: false }.dial()
    }
}

/// Looks whether there is somebody to load.
fn reach(args: &LoadArgs, plan: &Plan, dialing: &Dialing<'_>) -> Result<(), Failure> {
    let Some(first) = plan.queues.first() else { return Ok(()) };
    // A raw port may take the end of a connection for the end of a job.
    if first.protocol == Protocol::Raw {
        return Ok(());
    }
    dialing(first).map(drop).map_err(|error| {
        let failure = Failure::new(args.doing(), &error);
        let port = first.port;
        match error.downcast_ref::<Driven>() {
            Some(Driven::Connect { source, .. })
                if source.kind() == io::ErrorKind::ConnectionRefused =>
            {
                failure.advise(format!(
                    "Nothing takes jobs on port {port} there. Start the spooler, or give its port \
                     as HOST:PORT."
                ))
            }
            Some(Driven::Connect { .. }) => failure.advise(format!(
                "Check that the host is reachable and that nothing blocks port {port}."
            )),
            _ => failure,
        }
    })
}

/// Makes the job files. They stay as long as the folders do.
fn prepare(
    args: &LoadArgs,
    plan: &Plan,
) -> Result<(Files, String, Vec<tempfile::TempDir>), Failure> {
    let folder = |base: &std::path::Path| {
        tempfile::Builder::new().prefix("windlass-load-").tempdir_in(base).map_err(|error| {
            Failure::new(format!("cannot make a folder in {}", base.display()), error)
        })
    };
    let scratch = folder(&std::env::temp_dir())?;
    let mut folders = Vec::new();
    let (place, from) = match args.place(&plan.way) {
        (Place::Folder(path), _) => {
            let name = path.display().to_string();
            (Place::Folder(path), name)
        }
        (Place::Memory, None) => (Place::Memory, "memory".to_owned()),
        (Place::Memory, Some(base)) => {
            let made = folder(&base)?;
            let path = made.path().to_owned();
            folders.push(made);
            (Place::Folder(path), base.display().to_string())
        }
    };
    let files = Files::prepare(&args.wanted(), &place, scratch.path()).map_err(|error| {
        Failure::new("cannot make the job files", error)
            .advise("A payload is text, zeros, random, pdf, or a file or a folder that is there.")
    })?;
    Ok((files, from, folders))
}

/// The processes of the server: those that are named, or the one that listens
/// there.
fn server(args: &LoadArgs, plan: &Plan, hosts: &Hosts) -> Vec<Wanted> {
    if !args.watching.watch_processes.is_empty() {
        return args.watching.watch_processes.clone();
    }
    let addresses = plan.queues.first().map(|first| hosts.of(first)).unwrap_or_default();
    let found = addresses.iter().find_map(|address| listener(*address));
    // What loads itself, as in a test, is no server to tell of.
    found.filter(|pid| *pid != std::process::id()).map(Wanted::Pid).into_iter().collect()
}

/// What went wrong, for people.
fn wrong(
    args: &LoadArgs,
    plan: &Plan,
    queued: &Queued,
    processed: Option<Processed>,
    interrupted: bool,
    held: Option<&Held>,
) -> Option<Failure> {
    if let Some(held) = held.filter(|held| held.failure.is_some()) {
        let wrong = held.failure.clone().unwrap_or_default();
        let doing = format!("cannot start {} printers again", held.paused.len());
        return Some(
            Failure::new(doing, wrong).advise("They are stopped still: start them by cupsenable."),
        );
    }
    let counts = queued.counts;
    let doing = format!("cannot queue all jobs on {}", args.target);
    if interrupted {
        let wrong = format!(
            "it was stopped before its end; {} of {} were queued",
            counts.acknowledged, plan.jobs
        );
        return Some(Failure::new(doing, wrong));
    }
    let worst = queued.wrong.troubles.iter().max_by_key(|trouble| trouble.jobs);
    if counts.acknowledged < plan.jobs {
        let missing = plan.jobs - counts.acknowledged;
        let words = worst.map_or_else(String::new, |worst| format!(": {}", worst.words));
        let failure = Failure::new(doing, format!("{missing} of {} were not{words}", plan.jobs));
        return Some(match worst.map(|worst| worst.kind) {
            Some(kind) => advised(failure, kind),
            None => failure,
        });
    }
    let left = processed.filter(|processed| !processed.is_done)?;
    let mut wrong = format!(
        "{} of {} jobs wait still, and none was processed for {}",
        left.left, plan.jobs, args.patience
    );
    let advice = match left.stopped {
        Some(stopped) if stopped > 0 => {
            let are = if stopped == 1 { "is" } else { "are" };
            wrong.push_str(&format!("; {stopped} of {} printers {are} stopped", plan.queues.len()));
            "cupsenable starts printers. --hold starts those that it stopped itself."
        }
        _ => "Look what the printers wait for. --patience waits for longer.",
    };
    let doing = format!("cannot wait for the jobs on {}", args.target);
    Some(Failure::new(doing, wrong).advise(advice))
}

/// What to do about jobs that were not queued.
fn advised(failure: Failure, kind: windlass_print::load::Kind) -> Failure {
    use windlass_print::load::Kind;
    let advice = match kind {
        Kind::SpoolFull => {
            "Its spool is full, or a job larger than it takes. --retry-full 60s tries jobs again \
             until there is room."
        }
        Kind::TooManyJobs => {
            "It has as many jobs as it may: raise MaxJobs of CUPS (0 is no limit), or wait with \
             --retry-full 60s."
        }
        Kind::NotAccepting => "The queue takes no jobs: cupsaccept lets it.",
        Kind::NotFound => "Check the names of the queues: CUPS has them at /printers/NAME.",
        Kind::NotAllowed => "Let the spooler take jobs from this host and user.",
        Kind::Busy => "It does another job. --retry-full 60s tries again until it is ready.",
        Kind::Refused => "Its own words tell why.",
        Kind::NoConnection => "Check that the spooler runs, and how many connections it takes.",
        Kind::Closed | Kind::Protocol => "Look into the spooler's log, and check the protocol.",
        Kind::Silent => "--patience waits for longer.",
        Kind::Stopped | Kind::Here => return failure,
    };
    failure.advise(advice)
}
