//! The commands that run on Linux only.

use clap::{Parser, Subcommand};
use windlass_base::Failure;
use windlass_output::Output;

use super::{Cli, Command};
use crate::commands::{
    archive, capture, exporter, extcap, link, ping, print, runs, send, serve, spool, top, ui, watch,
};
use crate::keeping::KeepArgs;

/// The commands that capture packets.
#[derive(Debug, Subcommand)]
pub enum CaptureCommands {
    /// Capture packets, count every lost one, and explain transfers while they run
    ///
    /// Packets come from a ring of the kernel, and go to a file, to the screen or to the analyser.
    /// The report counts every packet that was not captured, by cause. With --explain it prints the
    /// limit of each transfer while it runs, and at the end the report of windlass explain.
    Capture(Box<capture::CaptureCommand>),
}

impl CaptureCommands {
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

/// The commands that drive paths, printers and spoolers.
#[derive(Debug, Subcommand)]
pub enum DriveCommands {
    /// Run commands at the two ends of an emulated link
    ///
    /// The command after `--` and its peer run in two private networks that only the link connects.
    /// The link has a rate, a delay and a queue, each way. It runs in real time, through the
    /// kernel's own TCP. It does not touch the host's network, and needs no root where user
    /// namespaces are allowed. At the end it reports passed and dropped packets, and their delay.
    Link(Box<link::LinkArgs>),
    /// Measure the response time of a host, by TCP, ICMP or windlass serve
    ///
    /// With a port it times TCP handshakes, each on a new connection. Without a port it times ICMP
    /// echoes. With --latency or --udp it times requests to windlass serve. It reports the minimum,
    /// mean, maximum, quantiles and losses, a histogram on request, and the processors used.
    Ping(Box<ping::PingArgs>),
    /// Print a file by raw TCP, LPR or IPP, and explain the rate
    ///
    /// It sends to printers, print servers and spoolers as their drivers do: raw data to port
    /// 9100, LPR with a control file, or IPP with the job's state. For each job it reports the
    /// rate, what the kernel waited for, and what to change. With --explain it captures the job's
    /// packets and explains them.
    Print(Box<print::PrintArgs>),
    /// List, show and compare kept measurements
    ///
    /// windlass keeps each run of send, ping, print, spool load, sweep, lab, capture and watch: the
    /// command, the host with its settings, every interval, and the results. Groups of repeats are
    /// compared by their medians and a rank test.
    Runs(Box<runs::RunsArgs>),
    /// Measure the rate to a host, and explain its limit
    ///
    /// The server is windlass serve, or another program (--protocol). Each interval has the rate
    /// and figures of the sender's kernel: RTT, congestion window, advertised window,
    /// retransmissions, and the limit. The report has the measurements of both ends, the CPU time,
    /// and the latency of small messages, idle and under load. It names the limit that cost most
    /// time, and what to change.
    Send(Box<send::SendArgs>),
    /// Serve tests of windlass send, iperf3, iperf 2 and ttcp
    ///
    /// It serves several clients at once, and prints the settings and the rate of each test. Ctrl-C
    /// ends it.
    Serve(serve::ServeArgs),
    /// Run, load and inspect a print spooler
    ///
    /// It measures how fast a spooler accepts and processes jobs, over one queue or hundreds, and
    /// explains its limit.
    Spool(spool::SpoolArgs),
}

impl DriveCommands {
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

/// The commands that observe this machine.
#[derive(Debug, Subcommand)]
pub enum ObserveCommands {
    /// Show all TCP connections of this host and their limits, without a capture
    ///
    /// Each interval shows figures of the kernel for each connection: process, rate each way, RTT,
    /// windows, retransmissions and unsent data, the limit now, and the shares of limits over the
    /// last seconds. Connections that begin and end between two intervals are shown with their
    /// final figures. If the kernel does not know the limit, windlass names a way to find it. No
    /// privileges are needed, except for the processes of other users.
    Top(top::TopArgs),
    /// Serve a local web interface: measure, view runs, and try the lab
    ///
    /// It prints a URL on 127.0.0.1 with a token. In the browser you choose a target, windows,
    /// streams, time and protocol, watch the graph and read the verdict. You can also view and
    /// compare kept runs, and try the lab's devices and simulated paths. It loads nothing from the
    /// network.
    Ui(ui::UiArgs),
    /// Watch processors, memory, disks and processes, and name the busiest
    ///
    /// Each interval has the columns of vmstat, iostat and top, and the busiest core beside the mean
    /// of all. At the end it reports mean, median, 95th percentile and maximum of each, and names
    /// the resource at its limit: a core, all processors, a disk, swapping memory, or none.
    Watch(watch::WatchArgs),
    /// Export the limits of this host's TCP connections to Prometheus
    ///
    /// The kernel counts the time that each connection was limited by the receive window, the send
    /// buffer or lost segments. The exporter serves the sums by service and subnet as metrics, and
    /// never single connections. The sums include short connections that end between two scrapes.
    /// Any user may run it.
    Exporter(exporter::ExporterArgs),
    /// Explain thousands of captures into tables, and query them with SQL
    ///
    /// This command runs windlass-archive, which is installed separately because it contains a query
    /// engine. It adds folders and buckets of captures to an archive, each capture once, also
    /// compressed ones and those in .tar and .zip files. Then it answers SQL queries over all of
    /// them. windlass searches for the program in its own folder and in PATH.
    Archive(archive::ArchiveArgs),
    /// Act as a capture interface of Wireshark (extcap)
    ///
    /// Once installed, windlass gives Wireshark two interfaces: the ring of windlass capture, and
    /// an emulated device that receives a test transfer while Wireshark captures it. The other
    /// options are for Wireshark, which runs this command.
    Extcap(extcap::ExtcapArgs),
}

impl ObserveCommands {
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

/// Returns advice on unknown arguments that are tcpdump's.
pub(crate) fn meant(wrong: &clap::Error) -> Option<Failure> {
    capture::tcpdump::asked_for(wrong)
}

/// Returns whether arguments, without the program's name, are of a command whose run is kept.
fn is_kept(arguments: &[String]) -> bool {
    let words = ["windlass"].into_iter().chain(arguments.iter().map(String::as_str));
    Cli::try_parse_from(words).is_ok_and(|cli| cli.command.keeping().is_some())
}

/// Refuses arguments, without the program's name, that a page may not run. It may run a report,
/// top, and commands whose run is kept.
fn is_runnable(arguments: &[String]) -> Result<(), String> {
    let words = ["windlass"].into_iter().chain(arguments.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words).map_err(|message| {
        let text = message.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words = first.strip_prefix("error: ").unwrap_or(first).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    })?;
    match &cli.command {
        Command::Driving(DriveCommands::Send(args)) => {
            args.transfer().map(drop).map_err(|failure| failure.in_one_line().to_string())
        }
        Command::Report(_) | Command::Observing(ObserveCommands::Top(_)) => Ok(()),
        command if command.keeping().is_some() => Ok(()),
        _ => Err("runs of that command are not kept".to_owned()),
    }
}
