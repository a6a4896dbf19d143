//! What `windlass capture` may be asked for.

use std::net::IpAddr;
use std::num::{NonZeroU16, NonZeroU64};
use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;
use windlass_base::{Bytes, Failure, Span, values};
use windlass_capture::live::filter::Wanted;
use windlass_capture::live::{
    Afterwards, Direction, FileFormat, HEADERS, Plan, ReaderKind, Rotation, WHOLE, Writing,
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
  windlass capture eth0                          packets as lines of text, as tcpdump -tt prints them
  windlass capture eth0 -w upload.pcapng         into a file; Ctrl-C ends it
  windlass capture eth0 -w - | wireshark -k -i - into another program
  windlass capture eth0 --explain --port 9100    what limits each transfer, live, and why at the end
  windlass capture eth0 --live --port 9100       the same as a view on the terminal
  windlass capture -i eth0 -i eth1 -w both.pcapng host 192.0.2.7
                                                 two interfaces in one file
  windlass capture eth0 --quiet                  packets/s, bytes/s and losses every 10 s
  windlass capture eth0 -w day.pcapng --rotate-size 100M --files 20
                                                 the last 2 GB of it
  windlass capture eth0 -s 96 -w upload.pcapng 'tcp port 9100 and host 192.0.2.7'
                                                 with an expression of tcpdump
  windlass capture -D                            the interfaces that there are
  windlass capture --compare                     what reading many packets at a time gains here

The account:
  Each packet that the filter lets through is in the file or in a count: received = written +
  dropped by the kernel for want of room + lost to a full disk + come after the last that was
  wanted. The file says so, too, at the place where packets are missing.

Rights:
  It takes CAP_NET_RAW to open: sudo setcap cap_net_raw=ep \"$(command -v windlass)\" grants it to
  all who may run windlass. Once open, all rights are given up. Root writes files as the owner of
  their directory.")]
pub struct CaptureCommand {
    /// The interface; `any` is all of them
    #[arg(value_name = "IFACE", required_unless_present_any = ["compare", "interface_flag", "list_interfaces"])]
    pub interface: Option<String>,

    /// An interface; several are captured together. All other words are the filter then
    #[arg(long = "interface", short = 'i', value_name = "IFACE", conflicts_with = "compare")]
    #[arg(id = "interface_flag", help_heading = "Which packets")]
    pub interface_flag: Vec<String>,

    /// Only packets that this expression lets through, written as for tcpdump (it takes libpcap)
    #[arg(value_name = "FILTER", conflicts_with_all = ["host", "net", "filter_port", "tcp"])]
    pub filter: Vec<String>,

    /// List the interfaces, with their state and addresses, and capture nothing
    #[arg(long, short = 'D', conflicts_with_all = CAPTURING_ONLY, help_heading = "Output")]
    pub list_interfaces: bool,

    /// Write the packets into this file; `-` is standard output
    #[arg(long, short = 'w', value_name = "FILE", help_heading = "Where to")]
    pub write: Option<PathBuf>,

    /// The format of the file
    #[arg(long, value_name = "FORMAT", default_value = "pcapng", requires = "write")]
    #[arg(value_parser = one_of(&FORMATS), help_heading = "Where to")]
    pub format: FileFormat,

    /// Print the packets that are written, too
    #[arg(long, requires = "write", conflicts_with_all = ["quiet", "explain", "json", "live"])]
    #[arg(help_heading = "Where to")]
    pub print: bool,

    /// Explain the transfers: what limits them while they run, and at the end as windlass explain
    #[arg(long, help_heading = "Where to")]
    #[arg(default_value_if("live", ArgPredicate::IsPresent, "true"))]
    pub explain: bool,

    /// Explain the N connections that carried most data
    #[arg(long, value_name = "N", default_value_t = 10, requires = "explain")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..), help_heading = "Where to")]
    pub top: u16,

    /// Print no packets, but what was counted in each interval
    #[arg(long, short = 'q', help_heading = "Where to", conflicts_with = "live")]
    pub quiet: bool,

    /// How long an interval is [default: 10s; 1s with --explain]
    #[arg(long, value_name = "TIME", value_parser = values::span, help_heading = "Where to")]
    pub interval: Option<Span>,

    /// Begin another file when this one has so many bytes
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, requires = "write")]
    #[arg(help_heading = "Several files")]
    pub rotate_size: Option<Bytes>,

    /// Begin another file after this time; a FILE with a `%` is named by strftime(3)
    #[arg(long, value_name = "TIME", value_parser = values::span, requires = "write")]
    #[arg(help_heading = "Several files")]
    pub rotate_time: Option<Span>,

    /// Begin another file after so many packets
    #[arg(long, value_name = "N", requires = "write", help_heading = "Several files")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub rotate_packets: Option<u64>,

    /// Compress each file with gzip when it is whole
    #[arg(long, requires = "write", help_heading = "Several files")]
    pub compress: bool,

    /// Run this program with the name of each file that is whole; it is waited for at the end
    #[arg(long, short = 'z', value_name = "COMMAND", requires = "write")]
    #[arg(help_heading = "Several files")]
    pub post_rotate: Option<PathBuf>,

    /// Keep only the last N files
    #[arg(long, value_name = "N", requires = "write", help_heading = "Several files")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub files: Option<u32>,

    /// End after so many packets
    #[arg(long, short = 'c', value_name = "N", help_heading = "How long")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// End after this time
    #[arg(long, value_name = "TIME", value_parser = values::span, help_heading = "How long")]
    pub duration: Option<Span>,

    /// Only packets with this address on one side; several are alternatives
    #[arg(long, value_name = "ADDRESS", help_heading = "Which packets")]
    pub host: Vec<IpAddr>,

    /// Only packets of this network on one side: 192.0.2.0/24
    #[arg(long, value_name = "NET", value_parser = filter::net, help_heading = "Which packets")]
    pub net: Vec<IpNet>,

    /// Only packets with this port on one side, by number or service: printer
    #[arg(long = "port", id = "filter_port", value_name = "PORT", help_heading = "Which packets")]
    #[arg(value_parser = port)]
    pub port: Vec<u16>,

    /// Only TCP
    #[arg(long, help_heading = "Which packets")]
    pub tcp: bool,

    /// Packets by their direction [default: both; in on the loopback, where each is seen twice]
    #[arg(long, short = 'Q', value_name = "WAY", value_parser = one_of(&DIRECTIONS))]
    #[arg(help_heading = "Which packets")]
    pub direction: Option<Direction>,

    /// Also packets for other hosts, where the interface sees them
    #[arg(long, help_heading = "Which packets")]
    pub promiscuous: bool,

    /// Keep so many bytes of a packet, or all with 0 [default: all; 256 where no file is written]
    #[arg(long, short = 's', value_name = "SIZE", value_parser = snap_length)]
    #[arg(alias = "snapshot-length")]
    #[arg(help_heading = "How")]
    pub snap_length: Option<Bytes>,

    /// How packets are read
    #[arg(long, value_name = "READER", default_value = "ring", value_parser = one_of(&READERS))]
    #[arg(help_heading = "How")]
    pub reader: ReaderKind,

    /// How much may wait to be read: the ring, or the buffer of the single reader [default: 256 MiB,
    /// 64 MiB where at most 512 bytes of a packet are kept; the system's for the single reader]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = "How")]
    pub buffer: Option<Bytes>,

    /// The size of a block of the ring: a power of two [default: 256 KiB, less where less of a
    /// packet is kept: 16 KiB for headers]
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = "How")]
    pub block: Option<Bytes>,

    /// Read with N threads: the kernel spreads connections over them
    #[arg(long, value_name = "N", default_value = "1", help_heading = "How")]
    #[arg(value_parser = threads)]
    pub threads: NonZeroU16,

    /// In this network namespace, as ip netns names it, or by its path
    #[arg(long, value_name = "NAME", help_heading = "How")]
    pub netns: Option<String>,

    /// What tcpdump calls otherwise.
    #[command(flatten)]
    pub tcpdump: TcpdumpArgs,

    /// What is done beside the measurement, and with it.
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
    /// Compare the ring with the single reader, under loads of windlass's own in private networks
    #[arg(long, conflicts_with_all = CAPTURING, help_heading = "Compare")]
    pub compare: bool,

    /// Measure each so often, in turn; figures are medians
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(requires = "compare", conflicts_with = "interface")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=99), help_heading = "Compare")]
    pub runs: u16,

    /// Send so many frames per second
    #[arg(long, value_name = "N", default_value = "400000")]
    #[arg(requires = "compare", conflicts_with = "interface")]
    #[arg(help_heading = "Compare")]
    pub rate: NonZeroU64,

    /// Send frames of so many bytes, from 60 to 1514
    #[arg(long, value_name = "SIZE", default_value = "1514")]
    #[arg(requires = "compare", conflicts_with = "interface")]
    #[arg(value_parser = frame, help_heading = "Compare")]
    pub size: u32,

    /// Send frames for this time in each run, from 10ms to 1min
    #[arg(long, value_name = "TIME", default_value = "2s")]
    #[arg(requires = "compare", conflicts_with = "interface")]
    #[arg(value_parser = sending, help_heading = "Compare")]
    pub time: Span,
}

/// What only a capture may be asked for.
const CAPTURING: [&str; 39] = [
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
    "duration",
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

/// What goes with no list of interfaces.
const CAPTURING_ONLY: [&str; 9] = [
    "interface",
    "interface_flag",
    "filter",
    "write",
    "explain",
    "quiet",
    "count",
    "duration",
    "live",
];

/// The bytes of a frame that Ethernet takes, without its check sequence (IEEE
/// 802.3).
fn frame(text: &str) -> Result<u32, String> {
    match u32::try_from(values::bytes(text)?.get()) {
        Ok(bytes @ 60..=1_514) => Ok(bytes),
        _ => Err("a frame has 60 to 1514 bytes".to_owned()),
    }
}

/// A time for which frames are sent.
fn sending(text: &str) -> Result<Span, String> {
    let time = values::span(text)?;
    let allowed = Span::from_millis(10)..=Span::from_millis(60_000);
    allowed.contains(&time).then_some(time).ok_or("frames are sent for 10ms to 1min".to_owned())
}

/// The formats of a capture file.
const FORMATS: [(&str, &str, FileFormat); 2] = [
    ("pcapng", "pcapng, which tells what was lost, and of which machine it is", FileFormat::Pcapng),
    (
        "pcap",
        "pcap with times in nanoseconds, for programs that know nothing else",
        FileFormat::Pcap,
    ),
];

/// How packets are read.
const READERS: [(&str, &str, ReaderKind); 2] = [
    ("ring", "Many packets at a time, from a ring that the kernel shares", ReaderKind::Ring),
    ("single", "One packet for each system call, as the classic readers do", ReaderKind::Single),
];

/// Which way packets go.
const DIRECTIONS: [(&str, &str, Direction); 4] = [
    ("in", "Packets that arrive", Direction::In),
    ("out", "Packets that this host sends", Direction::Out),
    ("both", "Both", Direction::Both),
    ("inout", "Both, as tcpdump says it", Direction::Both),
];

/// How much of a packet is kept; with 0 all of it, as tcpdump has it.
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
    /// Whether packets are printed.
    pub(super) const fn prints_packets(&self) -> bool {
        self.print || (self.write.is_none() && !self.quiet && !self.explain && !self.json.json)
    }

    /// How long an interval is, where intervals are told.
    pub(super) fn told_interval(&self) -> Option<Span> {
        if self.explain && !self.quiet {
            return Some(self.interval.unwrap_or(Span::from_millis(1_000)));
        }
        self.quiet.then(|| self.interval.unwrap_or(Span::from_millis(10_000))).or(self.interval)
    }

    /// What is to be done.
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        // With -i the first word is a part of the filter.
        let (interfaces, first) = match (self.interface_flag.as_slice(), &self.interface) {
            ([], Some(interface)) => (vec![interface.clone()], None),
            ([], None) => {
                return Err(Failure::usage("cannot capture", "there is no interface")
                    .advise("Name one, or any for all."));
            }
            (several, first) => (several.to_vec(), first.as_ref()),
        };
        let doing = || format!("cannot capture on {}", interfaces.join(", "));
        if self.interval.is_some_and(|interval| interval < Span::from_millis(100)) {
            return Err(Failure::usage(doing(), "an interval is 100 ms at the least"));
        }
        if self.promiscuous && interfaces.iter().any(|name| name == "any") {
            return Err(Failure::usage(doing(), "all interfaces cannot be promiscuous at once")
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
            return Err(Failure::usage(doing(), "--files takes a time to begin another file")
                .advise("Give --rotate-size, --rotate-time or --rotate-packets, too."));
        }
        let afterwards = Afterwards { compress: self.compress, command: self.post_rotate.clone() };
        let writing = self.write.clone().map(|path| Writing {
            path,
            format: self.format,
            rotation,
            afterwards: afterwards.clone(),
            pipe: None,
        });
        let to_stdout = self.write.as_ref().is_some_and(|path| path.as_os_str() == "-");
        if to_stdout && rotation.is_on() {
            return Err(Failure::usage(doing(), "standard output is one file")
                .advise("Name a file with -w, or do not rotate."));
        }
        if to_stdout && afterwards.is_on() {
            return Err(Failure::usage(doing(), "standard output has no name")
                .advise("Name a file with -w, or leave out --compress and --post-rotate."));
        }
        if to_stdout && self.print {
            return Err(Failure::usage(doing(), "packets go to standard output already")
                .advise("Name a file with -w, or leave --print out."));
        }
        let words: Vec<&str> = first.into_iter().chain(&self.filter).map(String::as_str).collect();
        let expression = match self.tcpdump.filter(&doing())? {
            Some(_) if !words.is_empty() => {
                return Err(Failure::usage(doing(), "there are two filters: -F names another"));
            }
            Some(filter) => filter,
            None => words.join(" "),
        };
        let expression = (!expression.trim().is_empty()).then_some(expression);
        let built_in = filter::Wanted {
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
            filter: Wanted { expression, built_in },
            writing,
            explain: self.explain.then(|| Keep::Largest(usize::from(self.top))),
            count: self.count,
            duration: self.duration,
            interfaces,
        })
    }
}
