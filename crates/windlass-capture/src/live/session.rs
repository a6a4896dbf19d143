//! A capture from its opening to its account.

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
    Capture, Direction, Instruction, Interface, OpenStep, Refused, Settings, Source, Statistics,
};
use windlass_sys::cpu::{self, CpuTime};
use windlass_sys::interfaces::Listed;
use windlass_sys::namespace::Namespace;
use windlass_sys::privileges::{self, Identity};
use windlass_sys::wait::ready;
use windlass_trace::{Analysis, Keep, Look};
use windlass_wire::Segments;
use windlass_wire::filter as built_in;

use super::encode::{About, Described};
use super::file::{Outcome, Writer, Writing};
use super::filter::{self, Wanted};
use super::machine;
use super::patience::{Patience, PatientFile};
use super::sink::{Dropping, Gap, HEADERS, Lines, Sink, Tally, kept_bytes, link_type};
use super::work::{self, Shared};

/// How often the main thread looks around. A signal ends its wait.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long packets are taken after a signal: those that were sent before it may
/// be on their way to the ring still.
const LATE: Duration = Duration::from_millis(20);

/// A snap length up to which a packet counts as cut to its headers.
const CUT: u32 = 512;

/// The ring where packets are cut to their headers, and where they are whole: at
/// 400,000 packets/s of 1,514 bytes the one holds a second, the other 0.4 s. A
/// disk that pauses takes about that.
const RING_HEADERS: u64 = 64 << 20;
const RING_WHOLE: u64 = 256 << 20;

/// The smallest ring that is tried where there is no memory for a larger one.
const RING_MIN: u64 = 4 << 20;

/// How packets are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReaderKind {
    /// Many packets at a time, from a ring that the kernel shares
    #[default]
    Ring,
    /// One packet for each system call, as the classic readers do
    Single,
}

/// What to capture, and what to do with it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The interfaces; `any`, alone, for all.
    pub interfaces: Vec<String>,
    /// The network namespace, by name or path; this one where none is named.
    pub namespace: Option<String>,
    /// How packets are read.
    pub reader: ReaderKind,
    /// The ring's size, or the socket's; as it suits where none is given.
    pub buffer: Option<Bytes>,
    /// The size of a block of the ring; as it suits where none is given.
    pub block: Option<Bytes>,
    /// The most bytes that are kept of a packet.
    pub snap_length: u32,
    /// Which way packets go.
    pub direction: Option<Direction>,
    /// Whether to take what is for other hosts.
    pub promiscuous: bool,
    /// How many threads read.
    pub threads: NonZeroU16,
    /// Which packets are wanted.
    pub filter: Wanted,
    /// Where they are written, where they are.
    pub writing: Option<Writing>,
    /// Explain the connections: those that are kept.
    pub explain: Option<Keep>,
    /// The capture ends after so many packets.
    pub count: Option<u64>,
    /// It ends after so long.
    pub duration: Option<Span>,
}

/// Why a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// Ctrl-C or SIGTERM.
    Signal,
    /// All packets that were wanted have come.
    Count,
    /// All files that were wanted are full.
    Files,
    /// Its time was over.
    Duration,
    /// The interface is not there any more.
    InterfaceGone,
    /// A file could not be written any more.
    WriteFailed,
    /// Nobody reads what is written any more.
    ReaderGone,
}

/// A capture that is open.
pub struct Session {
    /// Each with the number of its interface.
    captures: Vec<Numbered>,
    sink: Sink,
    /// The interfaces.
    pub interfaces: Vec<Interface>,
    /// The buffer of all threads.
    pub buffer: Bytes,
    /// The filter, as people write it for tcpdump.
    pub filter: Option<String>,
    /// The buffer is smaller than it should be, for want of memory.
    pub is_small: bool,
    duration: Option<Span>,
    /// How long who reads a pipe is waited for.
    patience: Patience,
}

/// What has come so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// How long the capture has lasted.
    pub elapsed: Duration,
    /// What was taken.
    pub tally: Tally,
    /// What the kernel has counted.
    pub kernel: Statistics,
    /// The processor time of this process.
    pub cpu: CpuTime,
}

/// What came of a capture.
pub struct Done {
    /// Why it ended.
    pub ended_by: EndedBy,
    /// How long it lasted.
    pub lasted: Span,
    /// What came in all.
    pub count: Count,
    /// What the kernel has counted of each interface.
    pub each: Vec<Statistics>,
    /// Whether an interface is not there any more, of each.
    pub gone: Vec<bool>,
    /// What was written.
    pub outcome: Option<Outcome>,
    /// The analyser, where it was asked for.
    pub analysis: Option<Segments<Analysis<()>>>,
    /// When the kernel dropped packets.
    pub dropping: Vec<Dropping>,
    /// When the interface was down.
    pub gaps: Vec<Gap>,
    /// Why the screen could not be written to.
    pub unprinted: Option<io::Error>,
}

impl Session {
    /// Opens everything, and gives up all rights after it.
    pub fn open(plan: &Plan) -> Result<Self, Failure> {
        let doing = || plan.doing();
        for (number, name) in plan.interfaces.iter().enumerate() {
            if plan.interfaces[..number].contains(name) {
                return Err(Failure::usage(doing(), format!("{name} is named twice")));
            }
        }
        let namespace = plan.namespace.as_deref().map(namespace).transpose()?;
        let namespace = namespace.as_ref();
        let ways: Vec<Way> = plan
            .interfaces
            .iter()
            .map(|name| Way::to(name, plan, namespace))
            .collect::<Result<_, _>>()?;
        if ways.len() > 1 && ways.iter().any(|way| way.interface.is_any()) {
            return Err(Failure::usage(doing(), "any is all interfaces")
                .advise("Name any alone, or the interfaces that you want."));
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
            .map_err(|error| Failure::new(doing(), format!("cannot give up rights: {error}")))?;
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

    /// Makes the files, as whom they are to belong to.
    fn sink(plan: &Plan, interfaces: &[Interface], filter: Option<&str>) -> Result<Sink, Failure> {
        let names = interfaces.iter().map(|one| (one.framing(), one.name.clone()));
        let mut sink = Sink::new(names);
        sink.most = plan.count;
        if let Some(writing) = &plan.writing {
            become_owner(&writing.path);
            let described = |one: &Interface| Described {
                name: one.name.clone(),
                link: link_type(one.framing()),
                snap_length: kept_bytes(one.framing(), plan.snap_length),
            };
            let about = About {
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

    /// Prints the packets as text, too.
    #[must_use]
    pub fn printing(mut self, out: File) -> Self {
        let out = PatientFile::new(out, self.patience.clone());
        self.sink.lines = Some(Lines::new(Box::new(BufWriter::with_capacity(1 << 16, out))));
        self
    }

    /// Captures until it is over. `tick` is called now and then, with what came
    /// and a way to look at what moves. `again` says that it ends in order, so
    /// that another Ctrl-C may end it at once.
    pub fn run(
        self,
        stop: &AtomicBool,
        again: &AtomicBool,
        mut tick: impl FnMut(&Count, &dyn Fn(usize) -> Option<Look>),
    ) -> Result<Done, Failure> {
        let Self { mut captures, sink, interfaces, duration, patience, .. } = self;
        let numbers: Vec<usize> = captures.iter().map(|(number, _)| *number).collect();
        let shared = Shared::new(sink, numbers.clone());
        let (began, cpu_before) = (Instant::now(), cpu::of_this_process());
        let so_far = |shared: &Shared| {
            // A writer whose reader does not read has the sink for as long: this must
            // not wait for it.
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
                        // The others end with one that failed.
                        if done.is_err() {
                            shared.stop();
                        }
                        done
                    })
                })
                .collect();
            let ended_by = loop {
                // One whose interface has gone leaves the others alone.
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
                // What ends it early is looked at above.
                let _ = ready(&[], Some(left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL)));
                let so_far = so_far(&shared);
                // Who is told may be slow: the packets go on meanwhile.
                let is_over = || ended(&shared, stop, duration, began).is_some();
                tick(&so_far, &|most| shared.sink_until(is_over)?.look(most));
            };
            patience.limit();
            if ended_by == Some(EndedBy::Signal) {
                thread::sleep(LATE);
                // Who asks once more does not want to wait.
                again.store(true, Ordering::Relaxed);
            }
            shared.stop();
            let results: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
            (ended_by, results)
        });
        let lasted = Span::from_duration(began.elapsed());
        let count_at_end = so_far(&shared);
        // One thread may have seen the end before the main one did.
        let mut ended_by = ended_by.or_else(|| ended(&shared, stop, duration, began));
        let mut broken = None;
        for result in results {
            match result {
                Ok(Ok(())) => {}
                Ok(Err(error)) => broken = Some(error.to_string()),
                Err(_) => broken = Some("a thread broke off".to_owned()),
            }
        }
        let each = shared.counts_of_each();
        let gone = (0..interfaces.len()).map(|number| shared.has_gone(number)).collect();
        let mut sink = shared.into_sink();
        if ended_by == Some(EndedBy::Count) && sink.has_all_files {
            ended_by = Some(EndedBy::Files);
        }
        let comments = sink.end();
        let unprinted = sink.lines.as_mut().and_then(|lines| lines.failed.take());
        let outcome = sink.writer.map(|writer| writer.finish_all(&comments));
        if let Some(wrong) = broken {
            let names: Vec<&str> = interfaces.iter().map(|one| one.name.as_str()).collect();
            return Err(Failure::new(format!("cannot capture on {}", names.join(", ")), wrong));
        }
        Ok(Done {
            ended_by: ended_by.unwrap_or(EndedBy::Signal),
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

/// Whether a capture is over, and why.
fn ended(
    shared: &Shared,
    stop: &AtomicBool,
    duration: Option<Span>,
    began: Instant,
) -> Option<EndedBy> {
    let time = || duration.is_some_and(|duration| began.elapsed() >= duration.to_duration());
    if shared.has_failed() {
        let is_pipe = shared.has_no_reader();
        return Some(if is_pipe { EndedBy::ReaderGone } else { EndedBy::WriteFailed });
    }
    if shared.is_full() {
        Some(EndedBy::Count)
    } else if shared.is_gone() {
        Some(EndedBy::InterfaceGone)
    } else if stop.load(Ordering::Relaxed) {
        Some(EndedBy::Signal)
    } else {
        time().then_some(EndedBy::Duration)
    }
}

impl Plan {
    /// A capture on an interface that is only explained, of the packets that are wanted.
    pub fn explaining(interface: &str, built_in: built_in::Wanted, keep: Keep) -> Self {
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
            filter: Wanted { expression: None, built_in },
            writing: None,
            explain: Some(keep),
            count: None,
            duration: None,
        }
    }

    /// What is being done, for people.
    pub fn doing(&self) -> String {
        format!("cannot capture on {}", self.interfaces.join(", "))
    }
}

/// How packets come from an interface.
struct Way {
    interface: Interface,
    direction: Direction,
    program: Option<Vec<Instruction>>,
}

impl Way {
    fn to(name: &str, plan: &Plan, namespace: Option<&Namespace>) -> Result<Self, Failure> {
        let interface =
            Interface::look(name, namespace).map_err(|refused| explained(&refused, plan, name))?;
        let loopback = match interface.is_any() {
            true => Interface::look("lo", namespace).ok().map(|lo| lo.index),
            false => None,
        };
        // What a host sends to itself passes the loopback twice.
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
type Numbered = (usize, Capture);

/// Opens the sockets. Where there is no memory for the rings, smaller ones are
/// tried, unless their size was asked for. Says with which interface it failed.
fn open_captures(
    plan: &Plan,
    ways: &[Way],
    namespace: Option<&Namespace>,
) -> Result<(Vec<Numbered>, bool), (String, Refused)> {
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
    // Where there is too little memory the kernel ends programs, of whomever, to
    // make a ring.
    let room = machine::free_memory().map_or(u64::MAX, |free| free / 4 * 3);
    loop {
        let each = bytes / rings;
        let source = match plan.block {
            Some(block) => Source::with_block(each, u32::try_from(block.get()).unwrap_or(u32::MAX)),
            None => Source::ring(each, plan.snap_length),
        };
        let block = if let Source::Ring { block, .. } = source { block } else { 0 };
        // A ring has two blocks at the least.
        let whole = each.max(u64::from(block) * 2).saturating_mul(rings);
        let opened = if whole > room {
            let error = io::ErrorKind::OutOfMemory.into();
            let name = ways.first().map(|way| way.interface.name.clone()).unwrap_or_default();
            Err((name, Refused { step: OpenStep::Buffer, error }))
        } else {
            open(source)
        };
        match opened {
            Err((_, Refused { step: OpenStep::Buffer, error }))
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

/// The interfaces that there are, in a namespace by its name or path.
///
/// # Errors
/// Where there is no such namespace, or the system does not let into it.
pub fn interfaces(name: Option<&str>) -> Result<Vec<Listed>, Failure> {
    let place = name.map(namespace).transpose()?;
    windlass_sys::interfaces::interfaces(place.as_ref()).map_err(|refused| {
        let failure = Failure::new("cannot list the interfaces", refused);
        match name {
            Some(_) => failure.advise("Entering a namespace takes root (CAP_SYS_ADMIN)."),
            None => failure,
        }
    })
}

/// The namespace of a name, as `ip netns` gives it, or of a path.
fn namespace(name: &str) -> Result<Namespace, Failure> {
    let path = match name.contains('/') {
        true => PathBuf::from(name),
        false => Path::new("/run/netns").join(name),
    };
    Namespace::at(&path).map_err(|refused| {
        let doing = format!("cannot open the network namespace {}", path.display());
        Failure::new(doing, refused.error)
            .advise("`ip netns` lists them; a path such as /proc/PID/ns/net will do, too.")
    })
}

/// Root writes as who owns the directory: the files are theirs then, and nobody
/// can have root write where they could not.
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
        // Where the system does not allow it, in a container that has no such
        // user, root writes.
        let _ = privileges::become_user(Identity { user: about.uid(), group: about.gid() });
    }
}

/// What to do where the system refuses.
fn explained(refused: &Refused, plan: &Plan, name: &str) -> Failure {
    let doing = format!("cannot capture on {name}");
    match refused.step {
        OpenStep::Open if refused.error.kind() == io::ErrorKind::PermissionDenied => {
            Failure::new(doing, "it takes the right to open packet sockets, CAP_NET_RAW").advise(
                "Run it as root, or grant the right once: \
             sudo setcap cap_net_raw=ep \"$(command -v windlass)\"",
            )
        }
        OpenStep::Namespace => {
            Failure::new(doing, refused).advise("Entering a namespace takes root (CAP_SYS_ADMIN).")
        }
        OpenStep::Interface if refused.error.kind() != io::ErrorKind::PermissionDenied => {
            let failure = Failure::usage(doing, format!("there is no interface {name:?}"));
            match machine::interfaces() {
                names if plan.namespace.is_none() && !names.is_empty() => {
                    failure.advise(format!("There are: {}, and any for all.", names.join(", ")))
                }
                _ => failure.advise("`ip link` lists them."),
            }
        }
        OpenStep::Buffer if plan.reader == ReaderKind::Ring => {
            let failure = Failure::new(doing, refused);
            match refused.error.kind() {
                io::ErrorKind::OutOfMemory => failure.advise("Give a smaller --buffer."),
                _ => failure.advise("--block is a power of two from 4 KiB on, --buffer more."),
            }
        }
        _ => Failure::new(doing, refused),
    }
}
