//! `windlass print`: a job to a printer, and what held it back.

mod advice;
mod args;
pub(super) mod dial;
mod gauge;
mod learn;
mod packets;
mod report;
mod text;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{io, thread};

use advice::Advice;
pub use args::{Announced, Compressed, From, IppVersion, Made, PrintArgs, SendBuffer, Spoken};
pub(super) use args::{host_name, user_name};
use dial::Dialer;
use gauge::Gauge;
use learn::{Choice, Learner};
use packets::Packets;
pub use report::Report;
use report::{Measured, Sent};
use windlass_base::{Bytes, Failure};
use windlass_drive::Error as Driven;
use windlass_drive::client::resolve;
use windlass_drive::report::Interval;
use windlass_drive::socket::Options;
use windlass_drive::transfer::{Buffers, Transfer};
use windlass_host::cpu::{self, CpuTime};
use windlass_print::{Answer, Error, Job, JobEnd, Monitor, Protocol, send};
use windlass_wire::ipp::JobState;
use windlass_wire::lpr::Ack;

use super::send::Live;
use super::unwritten;
use super::watched::Watched;
use crate::interrupt;
use crate::print::{Format, Output, Progress};

/// How often the line on a terminal changes.
const CHANGE: Duration = Duration::from_millis(500);

/// What the thread that sends comes back with.
struct Worked {
    result: Result<Answer, Error>,
    /// The processor time that it took, and for how long it ran.
    cpu: CpuTime,
    ran: Duration,
}

/// Runs the command.
///
/// # Errors
/// Where the job does not arrive, or the report cannot be written.
pub fn run(args: &PrintArgs, output: &mut Output) -> anyhow::Result<()> {
    let job = args.job()?;
    let protocol = job.target.protocol;
    let mut document = args.document(protocol)?;
    let size = document.size();
    let stop = interrupt::listen().map_err(|error| Failure::new(args.doing(), error))?;
    let addresses = resolve(&job.target.host, job.target.port)
        .map_err(|error| failed_to_dial(args, &job, &error))?;
    let (send_buffer, mut learner) = buffer(args, &job, &addresses)?;
    let options = Options {
        buffers: Buffers { window: None, send: send_buffer },
        congestion: args.congestion.clone(),
        mss: args.mss,
        // As CUPS has it for all that it prints to: a short job is no wait for an ACK.
        nodelay: true,
        ..Options::default()
    };
    let watcher = args.watching.start(output.format() == Format::Json)?;
    let packets = args.explain.then(|| Packets::begin(&addresses)).transpose()?;
    let mut dialer = Dialer { addresses, options, reserved: args.reserved_port };
    let gauge = Gauge::default();
    let monitor = Arc::new(gauge.monitor());
    let work = {
        let (job, monitor) = (job.clone(), Arc::clone(&monitor));
        move || {
            let (began, before) = (Instant::now(), cpu::of_this_thread());
            let result = send(&job, &mut document, &monitor, &mut dialer);
            Worked { result, cpu: cpu::of_this_thread().since(before), ran: began.elapsed() }
        }
    };
    let worker = thread::Builder::new().name("print".to_owned()).spawn(work);
    let worker = worker.map_err(|error| Failure::new(args.doing(), error))?;
    let mut teller = Teller::new(args, output);
    while !worker.is_finished() {
        thread::sleep(gauge.pause());
        if let Some(interval) = gauge.tick(args.interval.to_duration()) {
            teller.interval(interval);
        }
        if let Some(learner) = &mut learner {
            learner.tick(&gauge);
        }
        teller.progress(&monitor, size, gauge.state().as_deref());
        if stop.load(Ordering::Relaxed) {
            monitor.stop();
        }
    }
    let broke_off = |_| Failure::new(args.doing(), "its thread broke off");
    let worked = worker.join().map_err(broke_off)?;
    let packets = packets.map(|packets| packets.end(gauge.ends().0)).transpose();
    let ended = monitor.times().acknowledged.unwrap_or_else(Instant::now);
    let learned = learner.map(|learner| learner.finish(&gauge, ended));
    let (packets, uncaptured) = match packets {
        Ok(packets) => (packets, None),
        Err(failure) => (None, Some(failure)),
    };
    let measured = measure(args, &gauge, &monitor, &worked, &mut teller);
    let (intervals, unwritable) = teller.end();
    if let Some(error) = unwritable {
        return Err(unwritten(error));
    }
    let began = monitor.times().began.is_some();
    let (answer, error) = match worked.result {
        Ok(answer) => (Some(answer), None),
        Err(error) => (None, Some(error)),
    };
    let problem = error
        .as_ref()
        .map(|error| failed(args, &job, error))
        .or_else(|| answer.as_ref().and_then(|answer| unfinished(args, answer)))
        .or(uncaptured);
    // Where nothing was sent there is nothing to report.
    if began || answer.is_some() {
        let sent = Sent { args, job: &job, size, answer, error: error.as_ref() };
        let report = Report::new(sent, &gauge, &monitor, measured, intervals, packets, learned);
        output.print(&Watched::new(report, watcher)).map_err(unwritten)?;
    }
    problem.map_or(Ok(()), |failure| Err(failure.into()))
}

/// The send buffer to ask for, and who learns another one from the job.
fn buffer(
    args: &PrintArgs,
    job: &Job,
    addresses: &[SocketAddr],
) -> Result<(Option<Bytes>, Option<Learner>), Failure> {
    match &args.send_buffer {
        None => Ok((None, None)),
        Some(SendBuffer::Size(size)) => Ok((Some(*size), None)),
        Some(SendBuffer::Learned) => Ok((None, Some(Learner::begin(Packets::begin(addresses))))),
        Some(SendBuffer::LearnedFrom(file)) => {
            let advice = Advice::from_file(file, addresses, &job.target.host)?;
            let choice = Choice::of_file(file.clone(), &advice);
            Ok((advice.needed, Some(Learner::decided(choice))))
        }
    }
}

/// What was measured of the data.
fn measure(
    args: &PrintArgs,
    gauge: &Gauge,
    monitor: &Monitor,
    worked: &Worked,
    teller: &mut Teller<'_>,
) -> Option<Measured> {
    let times = monitor.times();
    let began = times.began?;
    let end = times.acknowledged.unwrap_or_else(Instant::now);
    // What is acknowledged whole is what was sent.
    let whole = times.acknowledged.map(|_| Bytes::new(monitor.moved.load(Ordering::Relaxed)));
    let (last, stream) = gauge.finish(end, whole, args.interval.to_duration());
    if let Some(interval) = last {
        teller.last(interval);
    }
    let (stream, bytes) = stream?;
    Some(Measured {
        bytes,
        seconds: end.saturating_duration_since(began),
        answered: times.answered.map(|at| at.saturating_duration_since(began)),
        is_whole: times.acknowledged.is_some(),
        stream,
        cpu: worked.cpu,
        ran: worked.ran,
    })
}

/// Tells what goes on.
struct Teller<'a> {
    output: &'a mut Output,
    live: Live,
    progress: Progress,
    intervals: Vec<Interval>,
    unwritable: Option<io::Error>,
    has_told: bool,
}

impl<'a> Teller<'a> {
    fn new(args: &PrintArgs, output: &'a mut Output) -> Self {
        let transfer = Transfer { interval: args.interval, ..Transfer::default() };
        Self {
            output,
            live: Live::new(&transfer, windlass_drive::Protocol::Windlass),
            progress: Progress::new(CHANGE, CHANGE),
            intervals: Vec::new(),
            unwritable: None,
            has_told: false,
        }
    }

    fn interval(&mut self, interval: Interval) {
        gauge::keep(&mut self.intervals, interval);
        if self.output.format() != Format::Text || self.unwritable.is_some() {
            return;
        }
        if let Some(line) = self.live.line(&interval) {
            self.progress.clear();
            self.has_told = true;
            let told = self.output.print_line(&line).and_then(|()| self.output.flush());
            // What is measured goes on where nobody reads it.
            self.unwritable = told.err();
        }
    }

    /// The last one. A job of one interval has its figures in the report.
    fn last(&mut self, interval: Interval) {
        match self.has_told {
            true => self.interval(interval),
            false => gauge::keep(&mut self.intervals, interval),
        }
    }

    fn progress(&mut self, monitor: &Monitor, size: Option<u64>, state: Option<&str>) {
        let read = monitor.read.load(Ordering::Relaxed);
        let done = Bytes::new(read);
        self.progress.tell(|| match (state, size) {
            (Some(state), _) => format!("{done} sent; the job is {state}"),
            (None, Some(whole)) if whole > 0 => {
                let percent = read.saturating_mul(100) / whole;
                format!("{done} of {}, {percent} %", Bytes::new(whole))
            }
            _ => format!("{done}"),
        });
    }

    fn end(mut self) -> (Vec<Interval>, Option<io::Error>) {
        self.progress.clear();
        if let Some(line) = self.live.end().filter(|_| self.has_told && self.unwritable.is_none()) {
            self.unwritable = self.output.print_line(&line).err();
        }
        (self.intervals, self.unwritable)
    }
}

/// A job that arrived and came to no good end.
fn unfinished(args: &PrintArgs, answer: &Answer) -> Option<Failure> {
    let Answer::Ipp(ipp) = answer else { return None };
    let doing = format!("cannot finish the job on {}", args.host);
    let Some(JobEnd { state, reasons, is_late, .. }) = &ipp.end else {
        return args
            .wait
            .then(|| Failure::new(doing, "it was stopped while the job was waited for"));
    };
    let reasons = match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({})", reasons.join(", ")),
    };
    match state {
        Some(state @ (JobState::Aborted | JobState::Canceled)) => {
            Some(Failure::new(doing, format!("it was {}{reasons}", state.keyword())))
        }
        Some(state) if *is_late => {
            let wrong = format!("it is still {}{reasons}", state.keyword());
            Some(Failure::new(doing, wrong).advise("Wait for longer with --wait-limit."))
        }
        _ => None,
    }
}

/// What to do where there is nothing at a path.
const PATHS: &str = "Check the path: CUPS has its queues at /printers/NAME (--queue NAME), most \
                     printers theirs at /ipp/print.";

/// An error of the sender, for people.
fn failed(args: &PrintArgs, job: &Job, error: &Error) -> Failure {
    if let Error::Dial(source) = error {
        return match source.downcast_ref::<Driven>() {
            Some(driven) => failed_to_dial(args, job, driven),
            None => Failure::new(args.doing(), source),
        };
    }
    let failure = Failure::new(args.doing(), error);
    let advice = match error {
        Error::Lpr { ack: Ack::Later, .. } => "Its spool may be full. Try again later.".to_owned(),
        Error::Lpr { step: "the queue", .. } => format!(
            "Check the name of the queue ({:?}), and that the server takes jobs from this host. \
             Some take them from a port of 721 to 731 only: --reserved-port",
            job.target.queue
        ),
        Error::Ipp { status, .. } => match status.0 {
            0x0406 => PATHS.to_owned(),
            0x0408 | 0x050b => "It takes no more for now: its spool is full, or has as many jobs \
                                as it may. Try again later."
                .to_owned(),
            0x040a => "Give another --format: what a printer takes is in its \
                       document-format-supported."
                .to_owned(),
            0x040f => "Leave --compression out.".to_owned(),
            0x0501 if args.create_job => "Leave --create-job out.".to_owned(),
            0x0503 => "Give --ipp-version 1.1.".to_owned(),
            0x0506 => "The queue does not accept jobs: an administrator has stopped it \
                       (cupsaccept starts it again)."
                .to_owned(),
            0x0507 => "It does another job. Try again later.".to_owned(),
            _ => return failure,
        },
        Error::Http { status, text, .. } => match status {
            401 => "windlass has no passwords for printers. Let the queue take jobs without one, \
                    or another queue."
                .to_owned(),
            404 => PATHS.to_owned(),
            413 => "Free some space on the server, or raise its limits (LimitRequestBody, MaxJobs \
                    of CUPS)."
                .to_owned(),
            426 => "Let the server take unencrypted connections (DefaultEncryption IfRequested in \
                    CUPS)."
                .to_owned(),
            _ if text.is_empty() => return failure,
            _ => format!("Its page says: {text}"),
        },
        Error::Silent { window_closed: true, .. } => {
            "The printer may be out of paper, offline or stopped. --patience waits for longer."
                .to_owned()
        }
        Error::Silent { .. } => {
            format!(
                "Check the path, and that it speaks {}. --patience waits for longer.",
                job.target.protocol
            )
        }
        Error::Gone { .. } | Error::Protocol(_) => {
            format!("Check that it speaks {} on port {}.", job.target.protocol, job.target.port)
        }
        Error::Document(_)
        | Error::Asked(_)
        | Error::Io { .. }
        | Error::Stopped
        | Error::Dial(_)
        | Error::Lpr { .. } => {
            return failure;
        }
    };
    failure.advise(advice)
}

/// An error of a connection, for people.
fn failed_to_dial(args: &PrintArgs, job: &Job, error: &Driven) -> Failure {
    let port = job.target.port;
    let failure = Failure::new(args.doing(), error);
    let is = |source: &io::Error, kind| source.kind() == kind;
    match error {
        Driven::Resolve { .. } => failure.advise("Check the name, or give an address."),
        Driven::Connect { source, .. } if is(source, io::ErrorKind::ConnectionRefused) => {
            let others = match job.target.protocol {
                Protocol::Raw => "LPR (515) or IPP (631)",
                Protocol::Lpr => "raw (9100) or IPP (631)",
                Protocol::Ipp => "raw (9100) or LPR (515)",
            };
            failure.advise(format!("Nothing takes jobs on port {port} there. Try {others}."))
        }
        Driven::Connect { .. } => failure.advise(format!(
            "Check that the host is reachable and that nothing blocks port {port}."
        )),
        Driven::Option { option: "the source port", source, .. } => match source.kind() {
            io::ErrorKind::PermissionDenied => failure.advise(
                "Ports below 1024 take a right: run it as root, or grant it once: sudo setcap \
                 cap_net_bind_service=ep \"$(command -v windlass)\". Most servers take any port.",
            ),
            _ => failure
                .advise("All of 721 to 731 are in use; each is free again a minute after its job."),
        },
        Driven::Option { option, .. } if option.contains("congestion") => {
            failure.advise("See /proc/sys/net/ipv4/tcp_available_congestion_control.")
        }
        _ => failure,
    }
}
