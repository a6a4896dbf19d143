//! The arguments of `windlass capture`.

use std::net::IpAddr;
use std::num::{NonZeroU16, NonZeroU64};
use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;
use windlass_base::{Bytes, Failure, Span, values};
use windlass_capture::live::filter::CaptureFilter;
use windlass_capture::live::{
    Direction, FileFormat, FileWork, HEADERS, Plan, ReaderKind, Rotation, WHOLE, WriteSettings,
};
use windlass_trace::Keep;
use windlass_wire::filter::{self, IpNet};

use super::tcpdump::TcpdumpArgs;
use crate::arguments::{JsonArgs, one_of, port};
use crate::commands::measuring::MeasuringArgs;

/// The arguments of `windlass capture`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass capture eth0                          packets as text, like tcpdump -tt
  windlass capture eth0 -w upload.pcapng         to a file until Ctrl-C
  windlass capture eth0 -w - | wireshark -k -i - to another program
  windlass capture eth0 --explain --port 9100    limits of each transfer, live and as a report
  windlass capture eth0 --live --port 9100       the same as a live view
  windlass capture -i eth0 -i eth1 -w both.pcapng host 192.0.2.7
                                                 two interfaces in one file
  windlass capture eth0 --quiet                  packets/s, bytes/s and losses every 10 s
  windlass capture eth0 -w day.pcapng --rotate-size 100M --files 20
                                                 only the last 2 GB
  windlass capture eth0 -s 96 -w upload.pcapng 'tcp port 9100 and host 192.0.2.7'
                                                 with a filter expression of tcpdump
  windlass capture -D                            list of the interfaces
  windlass capture --compare                     measured gain of the packet ring on this host

Packet counts:
  Every packet that passes the filter is written or counted: received = written + dropped by the
  kernel + lost in writing + received after the last wanted packet. The file also records where
  packets are missing.

Privileges:
  Opening an interface needs CAP_NET_RAW. To grant it to everyone who may run windlass: sudo setcap
  cap_net_raw=ep \"$(command -v windlass)\". windlass drops all privileges once the interface is
  open. As root, it writes files as the owner of their directory.")]
pub struct CaptureCommand {
    /// Interface to capture on; `any` captures on all
    #[arg(value_name = "IFACE", required_unless_present_any = ["compare", "interface_flag", "list_interfaces"])]
    pub interface: Option<String>,

    /// Interface to capture on; may be repeated. All positional arguments are then the filter
    #[arg(long = "interface", short = 'i', value_name = "IFACE", conflicts_with = "compare")]
    #[arg(id = "interface_flag", help_heading = "Which packets")]
    pub interface_flag: Vec<String>,

    /// Filter expression in the syntax of tcpdump (needs libpcap)
    #[arg(value_name = "FILTER", conflicts_with_all = ["host", "net", "filter_port", "tcp"])]
    pub filter: Vec<String>,

    /// List the interfaces with state and addresses, and exit
    #[arg(long, short = 'D', conflicts_with_all = CAPTURING_ONLY, help_heading = "Output")]
    pub list_interfaces: bool,

    /// Write the packets to FILE; `-` is standard output
    #[arg(long, short = 'w', value_name = "FILE", help_heading = "Where to")]
    pub write: Option<PathBuf>,

    /// Format of the file
    #[arg(long, value_name = "FORMAT", default_value = "pcapng", requires = "write")]
    #[arg(value_parser = one_of(&FORMATS), help_heading = "Where to")]
    pub format: FileFormat,

    /// Also print the packets that are written
    #[arg(long, requires = "write", conflicts_with_all = ["quiet", "explain", "json", "live"])]
    #[arg(help_heading = "Where to")]
    pub print: bool,

    /// Explain the transfers: their limits live, and a full report at the end
    #[arg(long, help_heading = "Where to")]
    #[arg(default_value_if("live", ArgPredicate::IsPresent, "true"))]
    pub explain: bool,

    /// Explain the N connections that carried the most data
    #[arg(long, value_name = "N", default_value_t = 10, requires = "explain")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..), help_heading = "Where to")]
    pub top: u16,

    /// Print the counts of each interval instead of packets
    #[arg(long, short = 'q', help_heading = "Where to", conflicts_with = "live")]
    pub quiet: bool,

    /// Length of an interval [default: 10s; 1s with --explain]
    #[arg(long, value_name = "TIME", value_parser = values::span, help_heading = "Where to")]
    pub interval: Option<Span>,

    /// Start a new file at this size
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, requires = "write")]
    #[arg(help_heading = "Several files")]
    pub rotate_size: Option<Bytes>,

    /// Start a new file after this time; a FILE with a `%` is a name for strftime(3)
    #[arg(long, value_name = "TIME", value_parser = values::span, requires = "write")]
    #[arg(help_heading = "Several files")]
    pub rotate_time: Option<Span>,

    /// Start a new file after N packets
    #[arg(long, value_name = "N", requires = "write", help_heading = "Several files")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub rotate_packets: Option<u64>,

    /// Compress each finished file with gzip
    #[arg(long, requires = "write", help_heading = "Several files")]
    pub compress: bool,

    /// Run this program with the name of each finished file, and wait for it at the end
    #[arg(long, short = 'z', value_name = "COMMAND", requires = "write")]
    #[arg(help_heading = "Several files")]
    pub post_rotate: Option<PathBuf>,

    /// Keep only the last N files
    #[arg(long, value_name = "N", requires = "write", help_heading = "Several files")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub files: Option<u32>,

    /// Stop after N packets
    #[arg(long, short = 'c', value_name = "N", help_heading = "How long")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Stop after this time; with --compare, sending time of each run [default there: 2s]
    #[arg(long, alias = "duration", value_name = "TIME", value_parser = values::span)]
    #[arg(help_heading = "How long")]
    pub time: Option<Span>,

    /// Capture only packets from or to this address; may be repeated
    #[arg(long, value_name = "ADDRESS", help_heading = "Which packets")]
    pub host: Vec<IpAddr>,

    /// Capture only packets from or to this network, such as 192.0.2.0/24
    #[arg(long, value_name = "NET", value_parser = filter::net, help_heading = "Which packets")]
    pub net: Vec<IpNet>,

    /// Capture only packets from or to this port: a number, or a service such as printer
    #[arg(long = "port", id = "filter_port", value_name = "PORT", help_heading = "Which packets")]
    #[arg(value_parser = port)]
    pub port: Vec<u16>,

    /// Capture only TCP
    #[arg(long, help_heading = "Which packets")]
    pub tcp: bool,

    /// Direction of the packets [default: both; in on the loopback, where each appears twice]
    #[arg(long, short = 'Q', value_name = "WAY", value_parser = one_of(&DIRECTIONS))]
    #[arg(help_heading = "Which packets")]
    pub direction: Option<Direction>,

    /// Also capture packets for other hosts that the interface receives
    #[arg(long, help_heading = "Which packets")]
    pub promiscuous: bool,

    /// Keep at most SIZE bytes of each packet; 0 keeps all [default: all; 256 without a file]
    #[arg(long, short = 's', value_name = "SIZE", value_parser = snap_length)]
    #[arg(alias = "snapshot-length")]
    #[arg(help_heading = "How")]
    pub snap_length: Option<Bytes>,

    /// Method of reading packets
    #[arg(long, value_name = "READER", default_value = "ring", value_parser = one_of(&READERS))]
    #[arg(help_heading = "How")]
    pub reader: ReaderKind,

    /// Size of the ring, or of the single reader's buffer [default: 256 MiB; 64 MiB if at most 512
    /// bytes of a packet are kept; the system's default for the single reader]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = "How")]
    pub buffer: Option<Bytes>,

    /// Size of a block of the ring, a power of two [default: 256 KiB for whole packets, down to
    /// 16 KiB for headers]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = "How")]
    pub block: Option<Bytes>,

    /// Number of reading threads; the kernel distributes the connections over them
    #[arg(long, value_name = "N", default_value = "1", help_heading = "How")]
    #[arg(value_parser = threads)]
    pub threads: NonZeroU16,

    /// Capture in this network namespace: a name of ip netns, or a path
    #[arg(long, value_name = "NAME", help_heading = "How")]
    pub netns: Option<String>,

    /// Options in the spelling of tcpdump.
    #[command(flatten)]
    pub tcpdump: TcpdumpArgs,

    /// Options of the measurement.
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// The comparison.
    #[command(flatten)]
    pub comparison: CompareArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The arguments of `windlass capture --compare`.
#[derive(Args, Clone, Copy, Debug)]
pub struct CompareArgs {
    /// Compare the ring with the single reader, under generated load in private networks
    #[arg(long, conflicts_with_all = CAPTURING, help_heading = "Compare")]
    pub compare: bool,

    /// Number of runs of each reader; figures are medians
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(requires = "compare", conflicts_with = "interface")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=99), help_heading = "Compare")]
    pub runs: u16,

    /// Frames to send per second
    #[arg(long, value_name = "N", default_value = "400000")]
    #[arg(requires = "compare", conflicts_with = "interface")]
    #[arg(help_heading = "Compare")]
    pub rate: NonZeroU64,

    /// Size of a frame, from 60 to 1514 bytes
    #[arg(long, value_name = "SIZE", default_value = "1514")]
    #[arg(requires = "compare", conflicts_with = "interface")]
    #[arg(value_parser = frame, help_heading = "Compare")]
    pub size: u32,
}

/// Arguments that conflict with --compare.
const CAPTURING: [&str; 38] = [
    "interface",
    "filter",
    "write",
    "format",
    "explain",
    "top",
    "quiet",
    "interval",
    "rotate_size",
    "rotate_time",
    "rotate_packets",
    "files",
    "count",
    "host",
    "net",
    "filter_port",
    "tcp",
    "direction",
    "promiscuous",
    "snap_length",
    "reader",
    "buffer",
    "block",
    "threads",
    "netns",
    "watch",
    "watch_processes",
    "print",
    "compress",
    "post_rotate",
    "file_size",
    "seconds",
    "file_count",
    "buffer_size",
    "filter_file",
    "not_promiscuous",
    "list_interfaces",
    "live",
];

/// Arguments that conflict with --list-interfaces.
const CAPTURING_ONLY: [&str; 9] =
    ["interface", "interface_flag", "filter", "write", "explain", "quiet", "count", "time", "live"];

/// Parses the size of an Ethernet frame without its check sequence (IEEE 802.3).
fn frame(text: &str) -> Result<u32, String> {
    match u32::try_from(values::bytes(text)?.get()) {
        Ok(bytes @ 60..=1_514) => Ok(bytes),
        _ => Err("a frame has 60 to 1514 bytes".to_owned()),
    }
}

/// The formats of a capture file.
const FORMATS: [(&str, &str, FileFormat); 2] = [
    ("pcapng", "pcapng, which records lost packets and the capturing host", FileFormat::Pcapng),
    (
        "pcap",
        "pcap with times in nanoseconds, for programs that do not read pcapng",
        FileFormat::Pcap,
    ),
];

/// Methods of reading packets.
const READERS: [(&str, &str, ReaderKind); 2] = [
    ("ring", "Many packets at a time, from a ring shared with the kernel", ReaderKind::Ring),
    ("single", "One packet per system call", ReaderKind::Single),
];

/// Directions of packets.
const DIRECTIONS: [(&str, &str, Direction); 4] = [
    ("in", "Packets that arrive", Direction::In),
    ("out", "Packets that this host sends", Direction::Out),
    ("both", "Both", Direction::Both),
    ("inout", "Both, in the spelling of tcpdump", Direction::Both),
];

/// Parses a snap length; 0 keeps whole packets, as in tcpdump.
fn snap_length(text: &str) -> Result<Bytes, String> {
    if text == "0" { Ok(Bytes::new(WHOLE.into())) } else { values::bytes(text) }
}

/// More threads than this gain nothing on any machine.
const MAX_THREADS: u16 = 64;

fn threads(text: &str) -> Result<NonZeroU16, String> {
    match text.parse::<NonZeroU16>() {
        Ok(count) if count.get() <= MAX_THREADS => Ok(count),
        _ => Err(format!("threads are 1 to {MAX_THREADS}")),
    }
}

impl CaptureCommand {
    /// Returns true if packets are printed.
    pub(super) const fn prints_packets(&self) -> bool {
        self.print || (self.write.is_none() && !self.quiet && !self.explain && !self.json.json)
    }

    /// Returns the length of an interval if intervals are printed.
    pub(super) fn told_interval(&self) -> Option<Span> {
        if self.explain && !self.quiet {
            return Some(self.interval.unwrap_or(Span::from_millis(1_000)));
        }
        self.quiet.then(|| self.interval.unwrap_or(Span::from_millis(10_000))).or(self.interval)
    }

    /// Returns the plan of the capture.
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        // With -i the first word is a part of the filter.
        let (interfaces, first) = match (self.interface_flag.as_slice(), &self.interface) {
            ([], Some(interface)) => (vec![interface.clone()], None),
            ([], None) => {
                return Err(Failure::usage("cannot capture", "no interface is named")
                    .advise("Name an interface, or `any` for all."));
            }
            (several, first) => (several.to_vec(), first.as_ref()),
        };
        let doing = || format!("cannot capture on {}", interfaces.join(", "));
        if self.interval.is_some_and(|interval| interval < Span::from_millis(100)) {
            return Err(Failure::usage(doing(), "an interval is at least 100 ms"));
        }
        if self.promiscuous && interfaces.iter().any(|name| name == "any") {
            return Err(Failure::usage(doing(), "`any` cannot be promiscuous")
                .advise("Name one interface, or leave --promiscuous out."));
        }
        let snap_length = match self.snap_length {
            None if self.write.is_none() => HEADERS,
            None => WHOLE,
            Some(bytes) => match u32::try_from(bytes.get()) {
                Ok(bytes @ 1..=WHOLE) => bytes,
                _ => {
                    let most = Bytes::new(WHOLE.into());
                    let wrong = format!("a snap length is 1 B to {most}, not {bytes}");
                    return Err(Failure::usage(doing(), wrong));
                }
            },
        };
        self.tcpdump.check(&doing())?;
        let (files, most) = self.tcpdump.files(&doing())?;
        let rotation = Rotation {
            bytes: self.rotate_size.or(self.tcpdump.rotate_size()),
            time: self.rotate_time.or(self.tcpdump.rotate_time()),
            packets: self.rotate_packets,
            files: self.files.or(files),
            most,
        };
        if self.files.is_some() && !rotation.is_on() {
            return Err(Failure::usage(doing(), "--files needs a condition for a new file")
                .advise("Add --rotate-size, --rotate-time or --rotate-packets."));
        }
        let afterwards = FileWork { compress: self.compress, command: self.post_rotate.clone() };
        let writing = self.write.clone().map(|path| WriteSettings {
            path,
            format: self.format,
            rotation,
            afterwards: afterwards.clone(),
            pipe: None,
        });
        let to_stdout = self.write.as_ref().is_some_and(|path| path.as_os_str() == "-");
        if to_stdout && rotation.is_on() {
            return Err(Failure::usage(doing(), "standard output cannot be rotated")
                .advise("Name a file with -w, or do not rotate."));
        }
        if to_stdout && afterwards.is_on() {
            return Err(Failure::usage(doing(), "standard output is not a file")
                .advise("Name a file with -w, or leave out --compress and --post-rotate."));
        }
        if to_stdout && self.print {
            return Err(Failure::usage(doing(), "the packets already go to standard output")
                .advise("Name a file with -w, or leave --print out."));
        }
        let words: Vec<&str> = first.into_iter().chain(&self.filter).map(String::as_str).collect();
        let expression = match self.tcpdump.filter(&doing())? {
            Some(_) if !words.is_empty() => {
                return Err(Failure::usage(
                    doing(),
                    "there are two filters: the arguments, and the file of -F",
                ));
            }
            Some(filter) => filter,
            None => words.join(" "),
        };
        let expression = (!expression.trim().is_empty()).then_some(expression);
        let built_in = filter::PacketFilter {
            hosts: self.host.clone(),
            nets: self.net.clone(),
            ports: self.port.clone(),
            tcp: self.tcp,
        };
        Ok(Plan {
            namespace: self.netns.clone(),
            reader: self.reader,
            buffer: self.buffer.or(self.tcpdump.buffer()),
            block: self.block,
            snap_length,
            direction: self.direction,
            promiscuous: self.promiscuous,
            threads: self.threads,
            filter: CaptureFilter { expression, built_in },
            writing,
            explain: self.explain.then(|| Keep::Largest(usize::from(self.top))),
            count: self.count,
            duration: self.time,
            interfaces,
        })
    }
}
