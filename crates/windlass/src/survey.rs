//! Reading a capture into the analyser: the loop that `explain`, `show` and
//! `--annotate` share.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::{Bytes, Failure, Span};
use windlass_trace::{Analyzer, Keep, Notes};
use windlass_wire::{
    Capture, CaptureInfo, Decoder, Endpoint, Host, LinkType, Packet, Segment, Sink,
};

use crate::cli::FilterArgs;
use crate::input::{Input, InputError, STANDARD_INPUT};
use crate::passed::{self, Kind, Passed, PassedOver};
use crate::print;

/// How a capture is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The file, or `-`.
    pub file: &'a Path,
    /// Which connections to look at.
    pub filter: FilterArgs,
    /// Whether to go on reading at the end of the file.
    pub follow: bool,
    /// The command, for messages.
    pub doing: &'a str,
}

/// Takes the packets and segments of a capture.
pub trait Observer {
    /// A packet of a binary capture, before anything is known of it.
    fn packet(&mut self, packet: &Packet<'_>) {
        let _ = packet;
    }

    /// A TCP segment that the filter lets through.
    fn segment(&mut self, segment: &Segment);
}

/// A capture that has been read.
#[derive(Debug)]
pub struct Read {
    capture: Capture,
    /// What was passed over.
    pub passed: Passed,
    /// What is not TCP, by kind; the most frequent first.
    pub not_tcp_kinds: Vec<Kind>,
    /// Whether Ctrl-C ended the reading.
    pub interrupted: bool,
}

impl Read {
    /// What the capture says of itself.
    #[must_use]
    pub fn info(&self) -> &CaptureInfo {
        self.capture.info()
    }

    /// The name of an endpoint: the host as the capture writes it.
    #[must_use]
    pub fn name(&self, end: Endpoint) -> String {
        endpoint_name(&self.capture, end)
    }

    /// The name of a host.
    #[must_use]
    pub fn host(&self, host: Host) -> String {
        host_name(&self.capture, host)
    }
}

fn endpoint_name(capture: &Capture, end: Endpoint) -> String {
    match end.host {
        Host::Named(_) => format!("{}:{}", host_name(capture, end.host), end.port),
        Host::V4(_) | Host::V6(_) => end.to_string(),
    }
}

fn host_name(capture: &Capture, host: Host) -> String {
    match host {
        Host::Named(index) => {
            capture.host_name(index).map_or_else(|| format!("#{index}"), str::to_owned)
        }
        Host::V4(address) => address.to_string(),
        Host::V6(address) => address.to_string(),
    }
}

struct Survey<'a, O> {
    decoder: Decoder,
    observer: &'a mut O,
    filter: FilterArgs,
    passed: PassedOver,
}

impl<O: Observer> Sink for Survey<'_, O> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.observer.packet(packet);
        // By reference: a segment is large enough for its copy to be felt.
        if let Some(segment) = self.passed.take(&self.decoder.decode(packet)) {
            self.segment(segment);
        }
        while let Some(decoded) = self.decoder.more(packet) {
            if let Some(segment) = self.passed.take(&decoded) {
                self.segment(segment);
            }
        }
    }

    fn segment(&mut self, segment: &Segment) {
        if lets_through(self.filter, segment) {
            self.observer.segment(segment);
        }
    }
}

fn lets_through(filter: FilterArgs, segment: &Segment) -> bool {
    let ends = || [&segment.source, &segment.destination].into_iter();
    let is_host = |end: &Endpoint, wanted: IpAddr| match (end.host, wanted) {
        (Host::V4(address), IpAddr::V4(wanted)) => address == wanted,
        (Host::V6(address), IpAddr::V6(wanted)) => address == wanted,
        _ => false,
    };
    filter.port.is_none_or(|port| ends().any(|end| end.port == port))
        && filter.host.is_none_or(|host| ends().any(|end| is_host(end, host)))
}

fn failure(doing: &str, error: InputError) -> Failure {
    let to = |name: &str| format!("cannot {doing} {name}");
    match error {
        InputError::Open { name, cause, advice } => Failure::new(to(&name), cause).advise(advice),
        InputError::Directory { name } => {
            Failure::new(to(&name), "it is a directory").advise("Name a capture file in it.")
        }
        InputError::Terminal => Failure::usage(to("standard input"), "it is a terminal")
            .advise("Name a capture file, or pipe one in: tcpdump -w - | windlass explain -"),
        InputError::Read { name, bytes, cause } => {
            let wrong = format!("reading failed after {}: {cause}", Bytes::new(bytes));
            Failure::new(to(&name), wrong).advise("Copy the file to a sound disk and try again.")
        }
        InputError::Shrank { name, was, is } => {
            let (was, is) = (Bytes::new(was), Bytes::new(is));
            let wrong = format!("it shrank from {was} to {is} while it was read");
            Failure::new(to(&name), wrong).advise("Wait until it is written, or copy it first.")
        }
        InputError::NoCapture { name, what, foreign: Some(foreign) } => {
            let file = (name != STANDARD_INPUT).then_some(&name[..]);
            Failure::new(to(&name), what).advise(foreign.advice(file))
        }
        InputError::NoCapture { name, what, foreign: None } => Failure::new(to(&name), what)
            .advise("Check that the capture was written and copied whole."),
    }
}

/// Reads a capture to its end.
///
/// # Errors
/// A [`Failure`] where it cannot be opened or read, or is no capture.
pub fn read<O: Observer>(reading: &Reading<'_>, observer: &mut O) -> Result<Read, Failure> {
    let failed = |error: InputError| failure(reading.doing, error);
    let mut input = Input::open(reading.file).map_err(failed)?;
    if reading.follow {
        input = input.follow(None);
    }
    let stop = input.stop();
    // The first Ctrl-C ends the reading, a second one the program.
    let signals = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];
    let mut handlers = Vec::new();
    for signal in signals {
        let kill = signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop));
        let flag = signal_hook::flag::register(signal, Arc::clone(&stop));
        handlers.extend(kill.into_iter().chain(flag));
    }
    let mut capture = Capture::new();
    let mut survey = Survey {
        decoder: Decoder::new(),
        observer,
        filter: reading.filter,
        passed: PassedOver::default(),
    };
    let mut progress = Progress::new(input.name());
    let done = input.run(&mut capture, &mut survey, |bytes, total| progress.tell(bytes, total));
    drop(progress);
    for handler in handlers {
        signal_hook::low_level::unregister(handler);
    }
    done.map_err(failed)?;
    let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
    let (passed, not_tcp_kinds) = survey.passed.finish();
    Ok(Read { capture, passed, not_tcp_kinds, interrupted })
}

/// An analyser as an observer, with somewhere for its notes.
#[derive(Debug)]
pub struct Analysis<N> {
    /// The analyser.
    pub analyzer: Analyzer,
    /// Where the notes go.
    pub notes: N,
}

impl<N: Notes> Analysis<N> {
    /// An analysis that keeps these connections.
    pub fn new(keep: Keep, notes: N) -> Self {
        Self { analyzer: Analyzer::new(keep), notes }
    }
}

impl<N: Notes> Observer for Analysis<N> {
    fn segment(&mut self, segment: &Segment) {
        self.analyzer.segment(segment, &mut self.notes);
    }
}

/// What a capture says of itself, for reports.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureFacts {
    /// What it was read from.
    pub file: String,
    /// Its format.
    pub format: String,
    /// Its packets; for text, its packet lines.
    pub packets: u64,
    /// The link types of its interfaces.
    pub link_types: Vec<String>,
    /// The first of them.
    pub link_type: Option<String>,
    /// The most bytes that it keeps of a packet.
    pub snap_length: Option<u32>,
    /// From the first packet to the last.
    pub duration_seconds: Span,
    /// Packets that its writer received, where it says so.
    pub received: Option<u64>,
    /// Packets that its writer lost, where it says so.
    pub drops: Option<u64>,
    /// Packets that were passed over.
    pub passed_over: Passed,
    /// Those that are not TCP, by kind; the most frequent first.
    pub not_tcp_kinds: Vec<Kind>,
    /// Where it could not be read further.
    pub damage: Option<String>,
    /// Whether Ctrl-C ended the reading before its end.
    pub interrupted: bool,
}

impl CaptureFacts {
    /// The facts of a capture that was read from `file`.
    #[must_use]
    pub fn new(file: String, read: &Read) -> Self {
        let info = read.info();
        let duration = match (info.earliest, info.latest) {
            (Some(first), Some(last)) => last.since(first),
            _ => Span::ZERO,
        };
        let link_types: Vec<String> = info.link_types.iter().map(|link| link_name(*link)).collect();
        Self {
            file,
            format: info.format.map_or_else(String::new, |format| format.to_string()),
            packets: info.packets,
            link_type: link_types.first().cloned(),
            link_types,
            snap_length: info.snap_length,
            duration_seconds: duration,
            received: info.received,
            drops: info.drops,
            passed_over: read.passed,
            not_tcp_kinds: read.not_tcp_kinds.clone(),
            damage: info.damage.as_ref().map(ToString::to_string),
            interrupted: read.interrupted,
        }
    }
}

/// How the name of a link type begins that windlass does not know.
const UNKNOWN_LINK: &str = "link type ";

/// The name of a link type, for people.
#[must_use]
pub fn link_name(link: LinkType) -> String {
    let name = match link {
        LinkType::ETHERNET => "Ethernet",
        LinkType::NULL => "BSD null",
        LinkType::LOOP => "BSD loopback",
        LinkType::PPP | LinkType::PPP_HDLC => "PPP",
        LinkType::PPP_ETHER => "PPPoE",
        LinkType::C_HDLC => "Cisco HDLC",
        LinkType::FRAME_RELAY => "frame relay",
        LinkType::SLIP => "SLIP",
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => "raw IP",
        LinkType::IPV4 => "raw IPv4",
        LinkType::IPV6 => "raw IPv6",
        LinkType::LINUX_SLL => "Linux cooked v1",
        LinkType::LINUX_SLL2 => "Linux cooked v2",
        LinkType::FDDI => "FDDI",
        LinkType::IEEE802_11 => "802.11",
        LinkType::IEEE802_11_RADIOTAP => "802.11 with radiotap",
        LinkType::IEEE802_11_PRISM => "802.11 with Prism",
        LinkType::IEEE802_11_AVS => "802.11 with AVS",
        LinkType::PPI => "PPI",
        LinkType::PKTAP | LinkType::USER2 => "PKTAP",
        LinkType::NFLOG => "NFLOG",
        LinkType::IPNET => "Solaris ipnet",
        LinkType::IPOIB => "InfiniBand",
        LinkType::ERF => "Endace ERF",
        LinkType::PFLOG => "OpenBSD pflog",
        LinkType::ENC => "OpenBSD enc",
        LinkType(number) => {
            return match unread_link(number) {
                Some(name) => format!("{UNKNOWN_LINK}{number} ({name})"),
                None => format!("{UNKNOWN_LINK}{number}"),
            };
        }
    };
    name.to_owned()
}

/// Link types that are met and not read (tcpdump.org, "Link-layer header types").
const fn unread_link(number: u16) -> Option<&'static str> {
    Some(match number {
        6 => "Token Ring",
        7 | 129 => "ARCNET",
        100 => "ATM",
        122 => "IP over Fibre Channel",
        123 => "SunATM",
        130..=138 | 178..=184 | 194 | 200 => "Juniper",
        147..=162 => "private use",
        187 | 201 | 254 | 255 => "Bluetooth",
        186 | 189 | 220 | 249 | 266 => "USB",
        195 | 215 | 230 | 283 => "IEEE 802.15.4",
        227 => "CAN",
        231 => "D-Bus",
        252 => "Wireshark's own PDUs",
        253 => "netlink",
        271 => "vsock",
        _ => return None,
    })
}

/// Why a capture holds no connection to look at, and what to do.
#[must_use]
pub fn nothing_there(doing: String, facts: &CaptureFacts, filter: FilterArgs) -> Failure {
    let (packets, passed) = (facts.packets, facts.passed_over);
    let is_none_tcp = passed.not_tcp + passed.unreadable + passed.fragments >= packets;
    let unknown = facts.link_types.iter().find(|name| name.starts_with(UNKNOWN_LINK));
    if let Some(link) = unknown
        && facts.not_tcp_kinds.first().is_some_and(|most| most.kind == "link-type")
        && is_none_tcp
    {
        return Failure::new(
            doing,
            format!("its packets are of {link}, which windlass cannot read"),
        )
        .advise("Capture on an Ethernet, wireless, loopback, PPP, raw IP or `any` interface.");
    }
    if packets > 0 && is_none_tcp {
        let (wrong, advice) = passed::instead(packets, passed, &facts.not_tcp_kinds);
        return Failure::new(doing, wrong).advise(advice);
    }
    if filter.host.is_some() || filter.port.is_some() {
        return Failure::new(
            doing,
            "it holds no TCP connection that the filter (--host, --port) lets through",
        )
        .advise("Leave them out to see what there is.");
    }
    let wrong = match packets {
        0 => "it holds no TCP connection: it has no packets".to_owned(),
        _ => format!("it holds no TCP connection: none of its {packets} packets is TCP"),
    };
    Failure::new(doing, wrong).advise("Check what was captured, and with which filter.")
}

/// A line on the terminal that says how far reading has come. It appears only
/// when reading takes long and somebody looks.
struct Progress {
    name: String,
    started: Instant,
    line: print::Progress,
}

/// Shorter readings need no progress line.
const PATIENCE: Duration = Duration::from_millis(700);
/// The time between two updates.
const UPDATE: Duration = Duration::from_millis(200);

impl Progress {
    fn new(name: &str) -> Self {
        let line = print::Progress::new(PATIENCE, UPDATE);
        Self { name: name.to_owned(), started: Instant::now(), line }
    }

    fn tell(&mut self, bytes: u64, total: Option<u64>) {
        self.line.tell(|| {
            let elapsed = Span::from_seconds(self.started.elapsed().as_secs_f64());
            let rate = Bytes::new(bytes).per(elapsed);
            let done = match total {
                Some(total) if total > 0 => {
                    let left = rate.time_for(Bytes::new(total.saturating_sub(bytes)));
                    format!("{} %, {left} left", bytes.saturating_mul(100) / total)
                }
                _ => Bytes::new(bytes).to_string(),
            };
            format!("reading {}: {done} ({rate})", self.name)
        });
    }
}
