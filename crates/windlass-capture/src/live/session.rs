//! Session of a capture, from opening to its results.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZeroU16;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use windlass_base::{Bytes, Failure, Span};
use windlass_sys::capture::{
    Capture, Direction, Instruction, Interface, OpenStep, Refusal, Settings, Source, Statistics,
};
use windlass_sys::cpu::{self, CpuTime};
use windlass_sys::interfaces::ListedInterface;
use windlass_sys::namespace::Namespace;
use windlass_sys::privileges::{self, Identity};
use windlass_sys::wait::ready;
use windlass_trace::{Analysis, Keep, Snapshot};
use windlass_wire::Segments;
use windlass_wire::filter as built_in;

use super::encode::{CaptureOrigin, DescribedInterface};
use super::file::{Outcome, WriteSettings, Writer};
use super::filter::{self, CaptureFilter};
use super::machine;
use super::patience::{Patience, PatientFile};
use super::sink::{Gap, HEADERS, KernelDrops, Lines, Sink, Tally, kept_bytes, link_type};
use super::work::{self, SharedState};

/// Check interval of the main thread; a signal ends the wait early.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time to take packets after a signal: packets from before it may still be on their way to the
/// ring.
const LATE: Duration = Duration::from_millis(20);

/// Maximum snap length at which a packet counts as cut to its headers.
const CUT: u32 = 512;

/// Size of the ring for packets cut to their headers, and for whole ones. At 400,000 packets/s of
/// 1,514 bytes the first holds a second, the second 0.4 s. A pause of a disk takes about that long.
const RING_HEADERS: u64 = 64 << 20;
const RING_WHOLE: u64 = 256 << 20;

/// Size of the smallest ring to try if memory is short.
const RING_MIN: u64 = 4 << 20;

/// Method of reading packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReaderKind {
    /// Many packets at a time, from a ring shared with the kernel
    #[default]
    Ring,
    /// One packet for each system call, as traditional readers do
    Single,
}

/// Plan of a capture.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Interfaces; `any`, alone, for all.
    pub interfaces: Vec<String>,
    /// Network namespace, by name or path; `None` for the current one.
    pub namespace: Option<String>,
    /// Method of reading packets.
    pub reader: ReaderKind,
    /// Size of the ring, or of the socket's buffer; `None` for the default.
    pub buffer: Option<Bytes>,
    /// Size of a block of the ring; `None` for the default.
    pub block: Option<Bytes>,
    /// Maximum number of bytes kept of a packet.
    pub snap_length: u32,
    /// Direction of packets.
    pub direction: Option<Direction>,
    /// True if packets for other hosts are captured.
    pub promiscuous: bool,
    /// Number of reading threads.
    pub threads: NonZeroU16,
    /// Filter of packets.
    pub filter: CaptureFilter,
    /// Output file, if any.
    pub writing: Option<WriteSettings>,
    /// Connections to explain, if any.
    pub explain: Option<Keep>,
    /// Number of packets after which the capture ends.
    pub count: Option<u64>,
    /// Duration after which the capture ends.
    pub duration: Option<Span>,
}

/// Reason why a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Ctrl-C or SIGTERM.
    Signal,
    /// All wanted packets have come.
    Count,
    /// All wanted files are full.
    Files,
    /// The duration is over.
    Duration,
    /// The interface is gone.
    InterfaceGone,
    /// Writing a file failed.
    WriteFailed,
    /// The reader of the output is gone.
    ReaderGone,
}

/// Capture that is open.
pub struct Session {
    /// Captures, each with the number of its interface.
    captures: Vec<NumberedCapture>,
    sink: Sink,
    /// Interfaces of the captures.
    pub interfaces: Vec<Interface>,
    /// Total buffer of all threads.
    pub buffer: Bytes,
    /// Filter in tcpdump's syntax.
    pub filter: Option<String>,
    /// True if the buffer is smaller than intended, for lack of memory.
    pub is_small: bool,
    duration: Option<Span>,
    /// Maximum wait for the reader of a pipe.
    patience: Patience,
}

/// Counts of a running capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Duration so far.
    pub elapsed: Duration,
    /// Packets taken.
    pub tally: Tally,
    /// Counts of the kernel.
    pub kernel: Statistics,
    /// Processor time of this process.
    pub cpu: CpuTime,
}

/// Results of a capture.
pub struct CaptureResult {
    /// Reason of the end.
    pub ended_by: EndReason,
    /// Duration of the capture.
    pub lasted: Span,
    /// Total counts.
    pub count: Count,
    /// Counts of the kernel for each interface.
    pub each: Vec<Statistics>,
    /// True for each interface that disappeared.
    pub gone: Vec<bool>,
    /// Results of writing.
    pub outcome: Option<Outcome>,
    /// Analyser, if the connections were explained.
    pub analysis: Option<Segments<Analysis<()>>>,
    /// Times at which the kernel dropped packets.
    pub dropping: Vec<KernelDrops>,
    /// Times at which an interface was down.
    pub gaps: Vec<Gap>,
    /// Reason why the text output failed, if it did.
    pub unprinted: Option<io::Error>,
}

impl Session {
    /// Opens the interfaces and outputs, then drops all privileges.
    pub fn open(plan: &Plan) -> Result<Self, Failure> {
        let doing = || plan.doing();
        for (number, name) in plan.interfaces.iter().enumerate() {
            if plan.interfaces[..number].contains(name) {
                return Err(Failure::usage(doing(), format!("{name} is named twice")));
            }
        }
        let namespace = plan.namespace.as_deref().map(namespace).transpose()?;
        let namespace = namespace.as_ref();
        let ways: Vec<PacketSource> = plan
            .interfaces
            .iter()
            .map(|name| PacketSource::to(name, plan, namespace))
            .collect::<Result<_, _>>()?;
        if ways.len() > 1 && ways.iter().any(|way| way.interface.is_any()) {
            return Err(Failure::usage(doing(), "`any` already means all interfaces")
                .advise("Name only `any`, or only the interfaces that you want."));
        }
        let (captures, is_small) = open_captures(plan, &ways, namespace)
            .map_err(|(name, refused)| explained(&refused, plan, &name))?;
        let buffer = Bytes::new(captures.iter().map(|(_, capture)| capture.buffer_bytes()).sum());
        let text = plan.filter.text();
        let patience = Patience::default();
        let interfaces: Vec<Interface> = ways.into_iter().map(|way| way.interface).collect();
        let mut sink = Self::sink(plan, &interfaces, text.as_deref())?;
        sink.writer = sink.writer.map(|writer| writer.with(&patience));
        privileges::give_up()
            .map_err(|error| Failure::new(doing(), format!("cannot drop privileges: {error}")))?;
        Ok(Self {
            captures,
            sink,
            interfaces,
            buffer,
            filter: text,
            is_small,
            duration: plan.duration,
            patience,
        })
    }

    /// Creates the outputs, with the right owner of the files.
    fn sink(plan: &Plan, interfaces: &[Interface], filter: Option<&str>) -> Result<Sink, Failure> {
        let names = interfaces.iter().map(|one| (one.framing(), one.name.clone()));
        let mut sink = Sink::new(names);
        sink.most = plan.count;
        if let Some(writing) = &plan.writing {
            become_owner(&writing.path);
            let described = |one: &Interface| DescribedInterface {
                name: one.name.clone(),
                link: link_type(one.framing()),
                snap_length: kept_bytes(one.framing(), plan.snap_length),
            };
            let about = CaptureOrigin {
                interfaces: interfaces.iter().map(described).collect(),
                filter: filter.unwrap_or_default().to_owned(),
                hardware: machine::hardware(),
                system: machine::system(),
            };
            sink.writer = Some(Writer::begin_in(writing, about)?);
        }
        sink.analysis = plan.explain.map(|keep| Segments::to(Analysis::new(keep, ())));
        Ok(sink)
    }

    /// Adds text output of the packets.
    #[must_use]
    pub fn printing(mut self, out: File) -> Self {
        let out = PatientFile::new(out, self.patience.clone());
        self.sink.lines = Some(Lines::new(Box::new(BufWriter::with_capacity(1 << 16, out))));
        self
    }

    /// Captures until the end. Calls `tick` now and then with the counts, and with a function that
    /// returns the active transfers. Sets `again` when an orderly end has begun, so that another
    /// Ctrl-C may end it at once.
    pub fn run(
        self,
        stop: &AtomicBool,
        again: &AtomicBool,
        mut tick: impl FnMut(&Count, &dyn Fn(usize) -> Option<Snapshot>),
    ) -> Result<CaptureResult, Failure> {
        let Self { mut captures, sink, interfaces, duration, patience, .. } = self;
        let numbers: Vec<usize> = captures.iter().map(|(number, _)| *number).collect();
        let shared = SharedState::new(sink, numbers.clone());
        let (began, cpu_before) = (Instant::now(), cpu::of_this_process());
        let so_far = |shared: &SharedState| {
            // A writer whose reader pauses keeps the sink locked. These counts need no such lock.
            Count {
                elapsed: began.elapsed(),
                tally: shared.tally(),
                kernel: shared.counts(),
                cpu: cpu::of_this_process().since(cpu_before),
            }
        };
        let (ended_by, results) = thread::scope(|scope| {
            let threads: Vec<_> = captures
                .iter_mut()
                .enumerate()
                .map(|(thread, (_, capture))| {
                    let shared = &shared;
                    scope.spawn(move || {
                        let done = work::take(capture, thread, shared);
                        // If one thread fails, the others end.
                        if done.is_err() {
                            shared.stop();
                        }
                        done
                    })
                })
                .collect();
            let ended_by = loop {
                // A thread whose interface is gone does not end the others.
                let is_over = |(thread, number): (&thread::ScopedJoinHandle<'_, _>, &usize)| {
                    thread.is_finished() && !shared.has_gone(*number)
                };
                if threads.iter().zip(&numbers).any(is_over) {
                    break None;
                }
                if let Some(ended) = ended(&shared, stop, duration, began) {
                    break Some(ended);
                }
                let left = duration.map(|time| time.to_duration().saturating_sub(began.elapsed()));
                // The reasons for an early end are checked above.
                let _ = ready(&[], Some(left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL)));
                let so_far = so_far(&shared);
                // `tick` may be slow: the threads keep taking packets meanwhile.
                let is_over = || ended(&shared, stop, duration, began).is_some();
                tick(&so_far, &|most| shared.sink_until(is_over)?.look(most));
            };
            patience.limit();
            if ended_by == Some(EndReason::Signal) {
                thread::sleep(LATE);
                // A second Ctrl-C means that the user does not want to wait.
                again.store(true, Ordering::Relaxed);
            }
            shared.stop();
            let results: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
            (ended_by, results)
        });
        let lasted = Span::from_duration(began.elapsed());
        let count_at_end = so_far(&shared);
        // A thread may have noticed the end before the main thread did.
        let mut ended_by = ended_by.or_else(|| ended(&shared, stop, duration, began));
        let mut broken = None;
        for result in results {
            match result {
                Ok(Ok(())) => {}
                Ok(Err(error)) => broken = Some(error.to_string()),
                Err(_) => broken = Some("a thread failed".to_owned()),
            }
        }
        let each = shared.counts_of_each();
        let gone = (0..interfaces.len()).map(|number| shared.has_gone(number)).collect();
        let mut sink = shared.into_sink();
        if ended_by == Some(EndReason::Count) && sink.has_all_files {
            ended_by = Some(EndReason::Files);
        }
        let comments = sink.end();
        let unprinted = sink.lines.as_mut().and_then(|lines| lines.failed.take());
        let outcome = sink.writer.map(|writer| writer.finish_all(&comments));
        if let Some(wrong) = broken {
            let names: Vec<&str> = interfaces.iter().map(|one| one.name.as_str()).collect();
            return Err(Failure::new(format!("cannot capture on {}", names.join(", ")), wrong));
        }
        Ok(CaptureResult {
            ended_by: ended_by.unwrap_or(EndReason::Signal),
            lasted,
            count: count_at_end,
            each,
            gone,
            outcome,
            analysis: sink.analysis,
            dropping: sink.dropping,
            gaps: sink.gaps,
            unprinted,
        })
    }
}

/// Returns the reason for the end of a capture; `None` while it runs.
fn ended(
    shared: &SharedState,
    stop: &AtomicBool,
    duration: Option<Span>,
    began: Instant,
) -> Option<EndReason> {
    let time = || duration.is_some_and(|duration| began.elapsed() >= duration.to_duration());
    if shared.has_failed() {
        let is_pipe = shared.has_no_reader();
        return Some(if is_pipe { EndReason::ReaderGone } else { EndReason::WriteFailed });
    }
    if shared.is_full() {
        Some(EndReason::Count)
    } else if shared.is_gone() {
        Some(EndReason::InterfaceGone)
    } else if stop.load(Ordering::Relaxed) {
        Some(EndReason::Signal)
    } else {
        time().then_some(EndReason::Duration)
    }
}

impl Plan {
    /// Returns the plan of a capture on one interface that only explains its packets.
    pub fn explaining(interface: &str, built_in: built_in::PacketFilter, keep: Keep) -> Self {
        Self {
            interfaces: vec![interface.to_owned()],
            namespace: None,
            reader: ReaderKind::Ring,
            buffer: None,
            block: None,
            snap_length: HEADERS,
            direction: None,
            promiscuous: false,
            threads: NonZeroU16::MIN,
            filter: CaptureFilter { expression: None, built_in },
            writing: None,
            explain: Some(keep),
            count: None,
            duration: None,
        }
    }

    /// Returns the action, for errors.
    pub fn doing(&self) -> String {
        format!("cannot capture on {}", self.interfaces.join(", "))
    }
}

/// Source of an interface's packets, with its filter.
struct PacketSource {
    interface: Interface,
    direction: Direction,
    program: Option<Vec<Instruction>>,
}

impl PacketSource {
    fn to(name: &str, plan: &Plan, namespace: Option<&Namespace>) -> Result<Self, Failure> {
        let interface =
            Interface::look(name, namespace).map_err(|refused| explained(&refused, plan, name))?;
        let loopback = match interface.is_any() {
            true => Interface::look("lo", namespace).ok().map(|lo| lo.index),
            false => None,
        };
        // A packet from a host to itself passes the loopback interface twice.
        let usual = if interface.is_loopback() { Direction::In } else { Direction::Both };
        let direction = plan.direction.unwrap_or(usual);
        let twice = plan.direction == Some(Direction::Both);
        let loopback = loopback.filter(|_| !twice);
        let snap_length = plan.snap_length;
        let program =
            filter::program(&plan.filter, &interface, namespace, snap_length, direction, loopback)
                .map_err(|failure| failure.doing(plan.doing()))?;
        Ok(Self { interface, direction, program })
    }
}

/// A capture with the number of its interface.
type NumberedCapture = (usize, Capture);

/// Opens the sockets. If memory is too short for the rings, smaller ones are tried, unless their
/// size was given. An error names its interface.
fn open_captures(
    plan: &Plan,
    ways: &[PacketSource],
    namespace: Option<&Namespace>,
) -> Result<(Vec<NumberedCapture>, bool), (String, Refusal)> {
    let open = |source| {
        let mut all = Vec::new();
        for (number, way) in ways.iter().enumerate() {
            let settings = Settings {
                source,
                snap_length: plan.snap_length,
                direction: way.direction,
                promiscuous: plan.promiscuous,
                filter: way.program.as_deref(),
                namespace,
                spread: plan.threads,
            };
            let name = &way.interface.name;
            let opened = Capture::open_many(name, &settings);
            let captures = opened.map_err(|refused| (name.clone(), refused))?;
            all.extend(captures.into_iter().map(|capture| (number, capture)));
        }
        Ok(all)
    };
    if plan.reader == ReaderKind::Single {
        let buffer = plan.buffer.map(Bytes::get);
        return open(Source::Single { buffer }).map(|captures| (captures, false));
    }
    let usual = if plan.snap_length <= CUT { RING_HEADERS } else { RING_WHOLE };
    let mut bytes = plan.buffer.map_or(usual, Bytes::get);
    let mut is_small = false;
    let rings = u64::from(plan.threads.get()) * ways.len().max(1) as u64;
    // With too little memory, the kernel would end arbitrary programs to make room for a ring.
    let room = machine::free_memory().map_or(u64::MAX, |free| free / 4 * 3);
    loop {
        let each = bytes / rings;
        let source = match plan.block {
            Some(block) => Source::with_block(each, u32::try_from(block.get()).unwrap_or(u32::MAX)),
            None => Source::ring(each, plan.snap_length),
        };
        let block = if let Source::Ring { block, .. } = source { block } else { 0 };
        // A ring has at least two blocks.
        let whole = each.max(u64::from(block) * 2).saturating_mul(rings);
        let opened = if whole > room {
            let error = io::ErrorKind::OutOfMemory.into();
            let name = ways.first().map(|way| way.interface.name.clone()).unwrap_or_default();
            Err((name, Refusal { step: OpenStep::Buffer, error }))
        } else {
            open(source)
        };
        match opened {
            Err((_, Refusal { step: OpenStep::Buffer, error }))
                if error.kind() == io::ErrorKind::OutOfMemory
                    && plan.buffer.is_none()
                    && bytes > RING_MIN =>
            {
                bytes /= 2;
                is_small = true;
            }
            opened => return opened.map(|captures| (captures, is_small)),
        }
    }
}

/// Returns the existing interfaces, in a namespace by its name or path.
///
/// # Errors
/// Returns an error if the namespace does not exist or cannot be entered.
pub fn interfaces(name: Option<&str>) -> Result<Vec<ListedInterface>, Failure> {
    let place = name.map(namespace).transpose()?;
    windlass_sys::interfaces::interfaces(place.as_ref()).map_err(|refused| {
        let failure = Failure::new("cannot list the interfaces", refused);
        match name {
            Some(_) => failure.advise("Entering a namespace needs root (CAP_SYS_ADMIN)."),
            None => failure,
        }
    })
}

/// Opens the namespace of a name, as `ip netns` gives it, or of a path.
fn namespace(name: &str) -> Result<Namespace, Failure> {
    let path = match name.contains('/') {
        true => PathBuf::from(name),
        false => Path::new("/run/netns").join(name),
    };
    Namespace::at(&path).map_err(|refused| {
        let doing = format!("cannot open the network namespace {}", path.display());
        Failure::new(doing, refused.error)
            .advise("`ip netns` lists them; a path such as /proc/PID/ns/net works, too.")
    })
}

/// Makes root write as the owner of the directory. The owner then owns the files, and nobody can
/// have root write where they cannot write themselves.
fn become_owner(path: &Path) {
    if Identity::own().user != 0 || path.as_os_str() == "-" {
        return;
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if let Ok(about) = std::fs::metadata(directory)
        && about.uid() != 0
    {
        // If the system refuses, as in a container without that user, root writes.
        let _ = privileges::become_user(Identity { user: about.uid(), group: about.gid() });
    }
}

/// Returns the failure of an interface that cannot be opened.
fn explained(refused: &Refusal, plan: &Plan, name: &str) -> Failure {
    let doing = format!("cannot capture on {name}");
    match refused.step {
        OpenStep::Open if refused.error.kind() == io::ErrorKind::PermissionDenied => {
            let wrong = "it needs CAP_NET_RAW, the privilege to open packet sockets";
            Failure::new(doing, wrong).advise(
                "Run windlass as root, or grant the privilege once: \
                 sudo setcap cap_net_raw=ep \"$(command -v windlass)\"",
            )
        }
        OpenStep::Namespace => {
            Failure::new(doing, refused).advise("Entering a namespace needs root (CAP_SYS_ADMIN).")
        }
        OpenStep::Interface if refused.error.kind() != io::ErrorKind::PermissionDenied => {
            let failure = Failure::usage(doing, format!("there is no interface {name:?}"));
            match machine::interfaces() {
                names if plan.namespace.is_none() && !names.is_empty() => failure
                    .advise(format!("The interfaces are {}, and any for all.", names.join(", "))),
                _ => failure.advise("`ip link` lists them."),
            }
        }
        OpenStep::Buffer if plan.reader == ReaderKind::Ring => {
            let failure = Failure::new(doing, refused);
            match refused.error.kind() {
                io::ErrorKind::OutOfMemory => failure.advise("Give a smaller --buffer."),
                _ => {
                    failure.advise("--block is a power of two from 4 KiB, and --buffer is larger.")
                }
            }
        }
        _ => Failure::new(doing, refused),
    }
}
