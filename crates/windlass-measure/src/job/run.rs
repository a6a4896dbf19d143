//! A job that is sent while it is measured.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, MAX_INTERVALS, Span};
use windlass_drive::meter::ThreadTime;
use windlass_drive::report::{DirectionReport, Interval, Machine};
use windlass_drive::socket::Options;
use windlass_drive::transfer::Buffers;
use windlass_host::cpu;
use windlass_host::processors::Looker;
use windlass_print::{Access, Answer, Document, Error, Follow, Job, Sending, Target};

use super::choice::Choice;
use super::decision::Decision;
use super::gauge::Gauge;
use super::learn::Learner;
use super::packets::{Capturing, Packets, Reported};
use super::report::{
    DocumentReport, From, JobReport, PrintReport, TargetReport, TransferReport, as_direction,
    judged,
};
use crate::dial::Dialer;

/// The longest TLS handshake of a job that has no limit.
const HANDSHAKE: Duration = Duration::from_secs(60);

/// A job to send, and its measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The name of the action, for messages.
    pub doing: String,
    /// The job.
    pub job: Job,
    /// The addresses of its target.
    pub addresses: Vec<SocketAddr>,
    /// The trusted servers of TLS, and the user.
    pub access: Arc<Access>,
    /// The source of its data.
    pub from: From,
    /// The send buffer to ask for; without it, the kernel's choice.
    pub send_buffer: Option<SendBuffer>,
    /// The congestion control, as `cubic`.
    pub congestion: Option<String>,
    /// The largest segment.
    pub mss: Option<u16>,
    /// True if it is sent from a port of LPR's.
    pub reserved_port: bool,
    /// True if the connection is reset where the job is stopped; else the kernel goes on to
    /// send what it has of it.
    pub reset: bool,
    /// True if its packets are captured.
    pub capturing: Capturing,
    /// The kind of report of its connection.
    pub reported: Reported,
    /// The time from one set of figures to the next.
    pub interval: Span,
}

/// A send buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendBuffer {
    /// Of this size.
    Size(Bytes),
    /// Of the size that the beginning of the job shows to be needed.
    Learned,
    /// Of the size that a capture or a report of an earlier job tells.
    LearnedFrom(PathBuf),
}

/// Receives what happens meanwhile.
pub trait Attendant {
    /// Called with the bytes read of a capture that tells the send buffer; of so many,
    /// where that is known.
    fn reads(&mut self, _file: &Path, _bytes: u64, _of: Option<u64>) {}

    /// The job is about to be sent.
    ///
    /// # Errors
    /// Fails where the job is not to be sent.
    fn begins(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// An interval is over, and was not all of the job.
    fn interval(&mut self, _interval: &Interval) {}

    /// This much was read of the document, of so much, where that is known; and the
    /// state of the job, where the server told it. Told again and again.
    fn progress(&mut self, _read: Bytes, _of: Option<Bytes>, _state: Option<&str>) {}
}

/// The outcome.
#[derive(Debug)]
pub struct JobOutcome {
    /// The measurements; nothing where nothing was sent.
    pub report: Option<PrintReport>,
    /// The reason why the job did not arrive.
    pub error: Option<Error>,
    /// The reason why its packets were not captured to the end.
    pub uncaptured: Option<Failure>,
}

/// Sends a job, and measures it. Once `stop` is set no more is sent.
///
/// # Errors
/// Fails where it is not begun: what the send buffer is to be learned from tells nothing,
/// packets cannot be captured, or there is no thread.
pub fn run(
    plan: &Plan,
    mut document: Document,
    stop: &Arc<AtomicBool>,
    attendant: &mut dyn Attendant,
) -> Result<JobOutcome, Failure> {
    let (send, mut learner) = buffer(plan, stop, attendant)?;
    attendant.begins()?;
    let (packets, mut without_packets) = plan.capturing.begin(&plan.addresses)?;
    let options = Options {
        buffers: Buffers { window: None, send },
        congestion: plan.congestion.clone(),
        mss: plan.mss,
        // As CUPS has it for all that it prints to: a short job is no wait for an ACK.
        nodelay: true,
        ..Options::default()
    };
    let reserved = plan.reserved_port;
    let dialer = Dialer { addresses: plan.addresses.clone(), options, reserved };
    let size = document.size().map(Bytes::new);
    let gauge = Gauge::default();
    let monitor = gauge.monitor();
    let dial = |_: &Target| dialer.connect();
    let patience = plan.job.patience.get().unwrap_or(HANDSHAKE);
    let dial = plan.access.over(&dial, patience);
    let mut intervals = Vec::new();
    let mut processors = MachineLook::begin();
    let (result, spent) = thread::scope(|scope| {
        let work = || {
            let (began, before) = (Instant::now(), cpu::of_this_thread());
            let waited = cpu::waited_of_this_thread();
            let result = windlass_print::send(&plan.job, &mut document, &monitor, &dial);
            let spent = ThreadTime {
                cpu: cpu::of_this_thread().since(before),
                ran: began.elapsed(),
                waited: cpu::waited_since(waited),
            };
            (result, spent)
        };
        let worker = thread::Builder::new().name("print".to_owned()).spawn_scoped(scope, work);
        let worker = worker.map_err(|error| Failure::new(&plan.doing, error))?;
        while !worker.is_finished() {
            thread::sleep(gauge.pause());
            if let Some(interval) = gauge.tick(plan.interval.to_duration()) {
                attendant.interval(&interval);
                keep(&mut intervals, interval);
            }
            if let Some(learner) = &mut learner {
                learner.tick(&gauge);
            }
            let read = Bytes::new(monitor.read.load(Ordering::Relaxed));
            attendant.progress(read, size, gauge.state().as_deref());
            if stop.load(Ordering::Relaxed) {
                monitor.stop();
            }
            // A server may take long to answer; the verdict is of the data.
            if monitor.times().acknowledged.is_some() {
                processors.end();
            }
        }
        worker.join().map_err(|_| Failure::new(&plan.doing, "its thread broke off"))
    })?;
    let ended = Instant::now();
    let machine = processors.finish();
    let was_stopped = matches!(result, Err(Error::Stopped));
    let is_reset = was_stopped && plan.reset && gauge.reset_on_close();
    let (packets, uncaptured) =
        match packets.map(|it| it.end(gauge.ends().0, plan.reported)).transpose() {
            Ok(packets) => (packets, None),
            Err(failure) if plan.capturing == Capturing::Required => (None, Some(failure)),
            Err(failure) => {
                without_packets = Some(failure.in_one_line().to_string());
                (None, None)
            }
        };
    let times = monitor.times();
    let end = times.acknowledged.unwrap_or(ended);
    let mut choice = learner.map(|learner| learner.finish(&gauge, end));
    // What is acknowledged whole is what was sent.
    let moved = Bytes::new(monitor.moved.load(Ordering::Relaxed));
    let whole = times.acknowledged.map(|_| moved);
    let (last, measured) = gauge.finish(end, whole, plan.interval.to_duration());
    if let Some(interval) = last {
        // A job of one interval has its figures in the report.
        if !intervals.is_empty() {
            attendant.interval(&interval);
        }
        keep(&mut intervals, interval);
    }
    let direction = times.began.zip(measured).map(|(began, (stream, bytes))| {
        let seconds = end.saturating_duration_since(began);
        DirectionReport { machine, ..as_direction(seconds, (bytes, moved), stream, spent) }
    });
    if let Some(choice) = &mut choice {
        choice.close(direction.as_ref());
    }
    let asked = match (&choice, &plan.send_buffer) {
        (Some(choice), _) => choice.asked_bytes,
        (None, Some(SendBuffer::Size(size))) => Some(*size),
        (None, _) => None,
    };
    let (answer, error) = match result {
        Ok(answer) => (Some(answer), None),
        Err(error) => (None, Some(error)),
    };
    if times.began.is_none() && answer.is_none() {
        return Ok(JobOutcome { report: None, error, uncaptured });
    }
    let is_ipp = match &plan.job.way {
        Sending::Ipp(ipp) => Some(ipp),
        Sending::Raw(_) | Sending::Lpr(_) => None,
    };
    let waits = is_ipp.is_some_and(|ipp| ipp.follow != Follow::No);
    let unwaited = waits && matches!(&answer, Some(Answer::Ipp(ipp)) if ipp.end.is_none());
    let kernel_verdict = direction.as_ref().filter(|all| all.bytes > Bytes::ZERO).map(judged);
    let connection = packets.as_ref().and_then(|packets| packets.connection.as_ref());
    let of_packets = connection.map(|connection| &connection.verdict);
    let decision = Decision::of(of_packets, kernel_verdict.as_ref());
    let report = PrintReport {
        schema: PrintReport::SCHEMA,
        target: TargetReport {
            uri: plan.job.target.uri(),
            protocol: plan.job.target.protocol,
            address: gauge.ends().1,
        },
        job: JobReport { name: plan.job.name.clone(), user: plan.job.user.clone() },
        document: DocumentReport {
            from: plan.from,
            bytes: size,
            read_bytes: Bytes::new(monitor.read.load(Ordering::Relaxed)),
            compression: is_ipp.map(|ipp| ipp.compression),
        },
        transfer: direction.map(|direction| TransferReport {
            is_reset,
            ..TransferReport::new(direction, &times, asked)
        }),
        verdict: decision.verdict,
        verdict_by: decision.by,
        kernel_verdict,
        send_buffer: choice,
        packets,
        without_packets,
        answer,
        intervals,
        interrupted: was_stopped || unwaited,
        failure: error.as_ref().map(ToString::to_string),
    };
    Ok(JobOutcome { report: Some(report), error, uncaptured })
}

/// Measures this machine's processors over the data of a job.
struct MachineLook {
    /// Takes the first look. At thousands of processes that takes its time, and no job waits.
    looker: Option<thread::JoinHandle<Option<Looker>>>,
    machine: Option<Machine>,
}

impl MachineLook {
    fn begin() -> Self {
        let looker = thread::Builder::new().name("machine".to_owned()).spawn(Looker::begin);
        Self { looker: looker.ok(), machine: None }
    }

    /// Takes the last look, once.
    fn end(&mut self) {
        if let Some(began) = self.looker.take() {
            let looker = began.join().ok().flatten();
            self.machine = looker.and_then(|mut looker| looker.look()).map(Machine::of);
        }
    }

    fn finish(mut self) -> Option<Machine> {
        self.end();
        self.machine
    }
}

/// The send buffer to ask for, and who learns another one from the job.
fn buffer(
    plan: &Plan,
    stop: &Arc<AtomicBool>,
    attendant: &mut dyn Attendant,
) -> Result<(Option<Bytes>, Option<Learner>), Failure> {
    match &plan.send_buffer {
        None => Ok((None, None)),
        Some(SendBuffer::Size(size)) => Ok((Some(*size), None)),
        Some(SendBuffer::Learned) => {
            Ok((None, Some(Learner::begin(Packets::begin(&plan.addresses)))))
        }
        Some(SendBuffer::LearnedFrom(file)) => {
            let reads = |bytes, of| attendant.reads(file, bytes, of);
            let to = (plan.job.target.host.as_str(), plan.addresses.as_slice());
            let choice = Choice::from_file(file, to, stop, reads)?.of_file(file.clone());
            Ok((choice.needed_bytes, Some(Learner::decided(choice))))
        }
    }
}

/// Keeps intervals, to a bound.
fn keep(intervals: &mut Vec<Interval>, interval: Interval) {
    if intervals.len() < MAX_INTERVALS {
        intervals.push(interval);
    }
}
