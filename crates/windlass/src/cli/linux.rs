//! The commands that take Linux: its sockets, its captures, its accounts.

use clap::{Parser, Subcommand};
use windlass_base::Failure;
use windlass_output::Output;

use super::{Cli, Command};
use crate::commands::{
    archive, capture, exporter, extcap, link, ping, print, runs, send, serve, spool, top, ui, watch,
};
use crate::keeping::KeepArgs;

/// What captures packets.
#[derive(Debug, Subcommand)]
pub enum Capturing {
    /// Capture packets, with an account of each, and explain them as they come
    ///
    /// Packets come from the kernel by a ring, many at a time, and go into a file, onto the screen,
    /// or to the analyser. Each is there or counted as lost, and by whom. With --explain it says
    /// what limits each transfer while it runs, and at the end what windlass explain would.
    Capture(Box<capture::CaptureCommand>),
}

impl Capturing {
    pub(super) fn run(&self, output: &mut Output) -> anyhow::Result<()> {
        match self {
            Self::Capture(args) => capture::run(args, output),
        }
    }

    pub(super) fn keeping(&self) -> Option<(&'static str, &KeepArgs)> {
        match self {
            Self::Capture(args) => Some(("capture", &args.measuring.keep_run)),
        }
    }
}

/// What drives paths, printers and spoolers, and what was found.
#[derive(Debug, Subcommand)]
pub enum Driving {
    /// Run commands at the two ends of an emulated link
    ///
    /// The command behind `--` runs in a private network whose only way out is the link; at
    /// its far end runs the peer. Packets wait in a queue, take their time on the line, and
    /// travel for the delay, in real time and through the kernel's own TCP. Nothing of it
    /// touches the host's network, and where user namespaces are allowed it needs no root.
    /// At the end it reports what passed, what was dropped, and the delay given.
    Link(Box<link::LinkArgs>),
    /// Time how long a host takes to answer: by TCP, by windlass serve, or by ICMP
    ///
    /// With a port it times handshakes of TCP, each on a connection of its own; with --latency
    /// requests and answers over one connection to windlass serve; without a port echoes of
    /// ICMP. It reports the least, the mean, the most and quantiles, a histogram where that is
    /// asked for, what was lost, and the processors on which it ran.
    Ping(Box<ping::PingArgs>),
    /// Print a file, raw, by LPR or by IPP, and say how fast it went and what held it back
    ///
    /// It speaks to printers, print servers and spoolers as their drivers do: the data alone to
    /// port 9100, LPR with a control file, or IPP with the job's state. The rate, what the kernel
    /// waited for and what to change are told of each job; with --explain the job's own packets
    /// are captured and say why.
    Print(Box<print::PrintArgs>),
    /// List, show and compare the measurements that were kept
    ///
    /// Each run of send, ping, print, spool load, sweep, lab, capture and watch is kept: the
    /// command, the host with its settings, every interval, and what it found. Groups of repeats
    /// are compared by medians and a rank test.
    Runs(Box<runs::RunsArgs>),
    /// Send to a host as fast as it goes, and say what holds it back
    ///
    /// windlass serve runs on the host. Each interval has the rate beside what the sender's kernel
    /// says: the RTT, the congestion window, the window that the receiver advertises, what was
    /// sent again, and what was waited for. At the end both ends tell what they measured, with the
    /// latency of small messages before and under load, the processor time of both, the limit
    /// that cost most time, and what to change.
    Send(Box<send::SendArgs>),
    /// Serve the tests of windlass send
    ///
    /// It takes several clients at once, and says of each test what was asked for and how fast it
    /// went. Ctrl-C ends it.
    Serve(serve::ServeArgs),
    /// Run, load and inspect a print spooler
    ///
    /// It measures how fast a spooler takes jobs and processes them, over one queue or hundreds, and
    /// says what limits it.
    Spool(spool::SpoolArgs),
}

impl Driving {
    pub(super) fn run(&self, output: &mut Output) -> anyhow::Result<()> {
        match self {
            Self::Link(args) => link::run(args, output),
            Self::Ping(args) => ping::run(args, output),
            Self::Print(args) => print::run(args, output),
            Self::Runs(args) => runs::run(args, is_kept, output),
            Self::Send(args) => send::run(args, output),
            Self::Serve(args) => serve::run(args, output),
            Self::Spool(args) => spool::run(args, output),
        }
    }

    pub(super) fn keeping(&self) -> Option<(&'static str, &KeepArgs)> {
        match self {
            Self::Ping(args) => Some(("ping", &args.measuring.keep_run)),
            Self::Print(args) => Some(("print", &args.measuring.keep_run)),
            Self::Send(args) => Some(("send", &args.measuring.keep_run)),
            Self::Spool(args) => args.keeping().map(|keep| ("spool load", keep)),
            _ => None,
        }
    }
}

/// What looks at this machine, and what others see of it.
#[derive(Debug, Subcommand)]
pub enum Observing {
    /// Show all TCP connections of this host, and what limits each, without a capture
    ///
    /// Each interval it asks the kernel: the process, the rate each way, the round trip, the
    /// windows, what was sent again, what is not sent yet; what limits the connection now, and the
    /// shares of the last seconds. Connections that begin and end between two looks are told by the
    /// kernel's last word on them. Where the kernel does not know the limit, it says what would
    /// tell. It takes no privileges, but for the processes of other users.
    Top(top::TopArgs),
    /// Serve pages for a browser of this machine: measure, look at the runs, play
    ///
    /// It prints an address of 127.0.0.1 with a token in it. There one chooses a target, windows,
    /// streams, time and protocol, watches the graph and reads the verdict; looks at the runs that
    /// are kept and compares them; and plays with the lab's devices and simulated paths. Nothing is
    /// taken from a network.
    Ui(ui::UiArgs),
    /// Watch processors, memory, disks and processes, and say what is busiest
    ///
    /// Each interval has the columns that vmstat, iostat and top have, and the busiest core beside
    /// the mean of all. At the end it gives mean, median, 95th percentile and the most of each,
    /// and says what was at its limit: a core, all processors, a disk, memory that swaps, or
    /// nothing.
    Watch(watch::WatchArgs),
    /// Tell Prometheus what limits this host's TCP connections
    ///
    /// The kernel counts for how long each connection was held by the receiver's window, by its
    /// send buffer or by lost segments. Their sums by service and subnet are served as metrics,
    /// with those of connections too short to be seen by who only looks; never one by one. Every
    /// user may run it.
    Exporter(exporter::ExporterArgs),
    /// Explain thousands of captures into tables, each once, and ask them with SQL
    ///
    /// This runs the program windlass-archive, which is installed apart, as it brings a query
    /// engine: it adds folders and buckets of captures to an archive, compressed ones and those in
    /// .tar and .zip files among them, and answers queries over all of them. It is looked for
    /// beside windlass and in PATH.
    Archive(archive::ArchiveArgs),
    /// Act as a capture interface of Wireshark (extcap)
    ///
    /// Installed, windlass gives Wireshark two interfaces more: the ring of windlass capture, and
    /// an emulated device to which it sends while Wireshark looks on. The rest is for Wireshark,
    /// which runs this command.
    Extcap(extcap::ExtcapArgs),
}

impl Observing {
    pub(super) fn run(&self, output: &mut Output) -> anyhow::Result<()> {
        match self {
            Self::Top(args) => top::run(args, output),
            Self::Ui(args) => ui::run(args, is_runnable, output),
            Self::Watch(args) => watch::run(args, output),
            Self::Exporter(args) => exporter::run(args, output),
            Self::Archive(args) => archive::run(args),
            Self::Extcap(args) => extcap::run(args, output),
        }
    }

    pub(super) fn keeping(&self) -> Option<(&'static str, &KeepArgs)> {
        match self {
            Self::Watch(args) => Some(("watch", &args.keep_run)),
            _ => None,
        }
    }
}

/// What was meant by arguments that are not understood, where they are tcpdump's.
pub(crate) fn meant(wrong: &clap::Error) -> Option<Failure> {
    capture::tcpdump::asked_for(wrong)
}

/// Whether arguments, without the program's name, are of a command whose run is kept.
fn is_kept(arguments: &[String]) -> bool {
    let words = ["windlass"].into_iter().chain(arguments.iter().map(String::as_str));
    Cli::try_parse_from(words).is_ok_and(|cli| cli.command.keeping().is_some())
}

/// Returns in words why a page may not run these arguments, without the program's name: they are
/// no command, or neither a report, nor a look at connections, nor of a command whose run is kept.
fn is_runnable(arguments: &[String]) -> Result<(), String> {
    let words = ["windlass"].into_iter().chain(arguments.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words).map_err(|message| {
        let text = message.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words = first.strip_prefix("error: ").unwrap_or(first).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    })?;
    match &cli.command {
        Command::Driving(Driving::Send(args)) => {
            args.transfer().map(drop).map_err(|failure| failure.in_one_line().to_string())
        }
        Command::Report(_) | Command::Observing(Observing::Top(_)) => Ok(()),
        command if command.keeping().is_some() => Ok(()),
        _ => Err("no run of that command is kept".to_owned()),
    }
}
