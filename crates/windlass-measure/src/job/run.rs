//! Sending and measuring one job.

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
use windlass_host::processors::ProcessorSampler;
use windlass_print::{Access, Answer, Document, Error, FollowMode, Job, JobProtocol, Target};

use super::choice::Choice;
use super::decision::Decision;
use super::gauge::Gauge;
use super::learn::Learner;
use super::packets::{CapturePolicy, Packets, ReportMaker};
use super::report::{
    DocumentReport, DocumentSource, JobReport, PrintReport, TargetReport, TransferReport,
    as_direction, judged,
};
use crate::dial::Dialer;

/// Longest TLS handshake of a job without a time limit.
const HANDSHAKE: Duration = Duration::from_secs(60);

/// A job to send, and the settings of its measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the action, for messages.
    pub doing: String,
    /// The job.
    pub job: Job,
    /// Addresses of its target.
    pub addresses: Vec<SocketAddr>,
    /// Trusted TLS servers, and the user.
    pub access: Arc<Access>,
    /// Source of its data.
    pub from: DocumentSource,
    /// Requested send buffer; the kernel's choice if none is set.
    pub send_buffer: Option<SendBuffer>,
    /// Congestion control, such as `cubic`.
    pub congestion: Option<String>,
    /// Largest segment.
    pub mss: Option<u16>,
    /// True if the job is sent from a reserved LPR port.
    pub reserved_port: bool,
    /// True if stopping the job resets the connection; otherwise the kernel continues to send its
    /// part of the data.
    pub reset: bool,
    /// Condition for capturing its packets.
    pub capturing: CapturePolicy,
    /// Function that makes the report of its connection.
    pub reported: ReportMaker,
    /// Interval between two sets of figures.
    pub interval: Span,
}

/// Send buffer of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendBuffer {
    /// This size.
    Size(Bytes),
    /// Size that the beginning of the job shows to be needed.
    Learned,
    /// Size that a capture or a report of an earlier job shows to be needed.
    LearnedFrom(PathBuf),
}

/// Observer of a job.
pub trait Attendant {
    /// Reports the bytes read of a capture from which the send buffer is learned, and its size, if
    /// known.
    fn reads(&mut self, _file: &Path, _bytes: u64, _of: Option<u64>) {}

    /// Called when the job is about to be sent.
    ///
    /// # Errors
    /// Fails if the job is not to be sent.
    fn begins(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Reports an interval that has ended and is not the whole job.
    fn interval(&mut self, _interval: &Interval) {}

    /// Reports the bytes read of the document, its size, if known, and the state of the job, if the
    /// server reported one. Called repeatedly.
    fn progress(&mut self, _read: Bytes, _of: Option<Bytes>, _state: Option<&str>) {}
}

/// Outcome of a job.
#[derive(Debug)]
pub struct JobOutcome {
    /// Report on the job; nothing if nothing was sent.
    pub report: Option<PrintReport>,
    /// Reason why the job did not arrive.
    pub error: Option<Error>,
    /// Reason why its packets were not captured to the end.
    pub uncaptured: Option<Failure>,
}

/// Sends a job, and measures it. Once `stop` is set, no more is sent.
///
/// # Errors
/// Fails if the job cannot begin: the source of the send buffer has no answer, packets cannot be
/// captured, or a thread cannot be started.
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
        // CUPS sets this for every printer: a short job does not wait for an ACK.
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
    let mut processors = ProcessorMeasurement::begin();
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
            // A server may take long to answer, but the verdict is about the data.
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
            Err(failure) if plan.capturing == CapturePolicy::Required => (None, Some(failure)),
            Err(failure) => {
                without_packets = Some(failure.in_one_line().to_string());
                (None, None)
            }
        };
    let times = monitor.times();
    let end = times.acknowledged.unwrap_or(ended);
    let mut choice = learner.map(|learner| learner.finish(&gauge, end));
    // If everything is acknowledged, this is the number of bytes sent.
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
        JobProtocol::Ipp(ipp) => Some(ipp),
        JobProtocol::Raw(_) | JobProtocol::Lpr(_) => None,
    };
    let waits = is_ipp.is_some_and(|ipp| ipp.follow != FollowMode::No);
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
struct ProcessorMeasurement {
    /// Takes the first sample. With thousands of processes this takes a while, and no job waits for
    /// it.
    looker: Option<thread::JoinHandle<Option<ProcessorSampler>>>,
    machine: Option<Machine>,
}

impl ProcessorMeasurement {
    fn begin() -> Self {
        let looker =
            thread::Builder::new().name("machine".to_owned()).spawn(ProcessorSampler::begin);
        Self { looker: looker.ok(), machine: None }
    }

    /// Takes the last sample, once.
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

/// Returns the send buffer to request, and the learner if the job itself shows another one.
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

/// Stores an interval, up to a maximum number.
fn keep(intervals: &mut Vec<Interval>, interval: Interval) {
    if intervals.len() < MAX_INTERVALS {
        intervals.push(interval);
    }
}
