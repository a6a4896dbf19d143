//! The command line: what may be said, without doing any of it.
//!
//! Parsing has no side effects: it opens nothing and asks nothing of the
//! system. [`crate::run`] builds the printer from what was parsed and hands it
//! to the command.

use std::ffi::OsString;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgMatches, CommandFactory, Parser, Subcommand};

use crate::commands::{
    archive, capture, completions, device, explain, exporter, extcap, lab, law, link, man, ping,
    print, report, runs, send, serve, show, spool, sweep, top, ui, watch,
};
use crate::keeping::KeepArgs;
use crate::print::{ColorChoice, Format, Output};

/// Tells why a bulk TCP transfer is slow, proves it, and shows what would make
/// it fast.
#[derive(Debug, Parser)]
#[command(
    name = "windlass",
    version,
    max_term_width = 100,
    styles = STYLES,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  windlass explain upload.pcap         why the transfers in a capture were slow
  windlass show upload.pcap            the conversation packet by packet
  windlass report upload.pcap -o report.html
                                       a page of it, with plots, to send to others
  windlass capture eth0 --explain      the same while they run
  windlass law window --window 64KiB --rtt 36ms
                                       the rate that a window allows
  windlass lab print-servers           six emulated print servers, and why each is slow
  windlass device learn upload.pcap    a profile of the device in a capture
  windlass device run netgear-ps101    a device on your desk, to send to
  windlass link --rate 100mbit --rtt 2.45ms --peer 'iperf3 -s' -- iperf3 -c 192.0.2.2
                                       iperf3 over an emulated link
  windlass serve                       on one host, and on the other:
  windlass send HOST                   how fast it goes between them, and why not faster
  windlass ping HOST:PORT              how long it takes to answer
  windlass print ipp://HOST/ipp/print report.pdf
                                       a print job, and what holds it back
  windlass spool load ipp://HOST/printers/QUEUE --jobs 15000
                                       how many jobs a spooler takes, and what limits it
  windlass sweep HOST                  the window that fits the path between, and why
  windlass top                         what limits each TCP connection of this host now
  windlass exporter --service print=9100,631
                                       the same for Prometheus, summed by service and subnet
  windlass ui                          pages for your browser: measure, look at runs, play
  windlass archive add /captures --into archive
                                       thousands of captures as tables, to ask with SQL
  windlass watch                       what this machine does meanwhile: processors, disks
  windlass runs compare last~1 last    what differs between the last two measurements

Exit codes:
  0  done
  1  something was found or failed
  2  the command line was not understood

Environment:
  NO_COLOR        no colour, unless --color says otherwise
  WINDLASS_STORE  the folder in which runs are kept; empty: none is kept"
)]
pub struct Cli {
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(help_heading = "Output")]
    pub color: ColorChoice,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::White.on_default().bold())
    .usage(AnsiColor::White.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Green.on_default());

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say why a capture's transfers were slow, and what would make them fast
    ///
    /// For each connection that carried data, the largest first: who sent to whom, how much
    /// and how fast; the limit that cost most time, with the packets that show it and a
    /// timeline of all limits; the rate that the limit's law predicts beside the rate that
    /// was measured; and what to change, on which side, with the rate to expect then. Where
    /// the capture does not tell, it says so.
    Explain(explain::ExplainArgs),
    /// Show a conversation packet by packet, with notes in the margin
    ///
    /// Each line has the packet's number as Wireshark counts, the time since the packet
    /// before, the direction, the bytes, the ACK and the window. The notes say what happens:
    /// the window is full, the sender waits, an ACK comes late, the window closes or opens, a
    /// probe, a retransmission and of which packet. Without --connection or --all it shows
    /// the connection that carried most data.
    Show(show::ShowArgs),
    /// Write a page about a capture: the verdicts, the evidence, and plots to zoom
    ///
    /// One file that needs nothing else, for people who were not there: for each connection the
    /// verdict first, in the words of explain; then throughput under a band of what limited it,
    /// sequence numbers, ACKs and window against time, bytes in flight, latency, the packets
    /// around the evidence, and tables. As Markdown it has the verdicts and a table, for tickets.
    Report(report::ReportArgs),
    /// Capture packets, with an account of each, and explain them as they come
    ///
    /// Packets come from the kernel by a ring, many at a time, and go into a file, onto the screen,
    /// or to the analyser. Each is there or counted as lost, and by whom. With --explain it says
    /// what limits each transfer while it runs, and at the end what windlass explain would.
    Capture(Box<capture::CaptureCommand>),
    /// Calculate with the laws that bound a transfer, both ways
    Law(law::LawArgs),
    /// Send to emulated devices in virtual time, and say what holds each transfer back
    ///
    /// A scenario names transfers: which sender sends what to which device over which link. Each
    /// runs in virtual time, where fifteen minutes pass in milliseconds, and what passes the
    /// sender is explained as a capture would be. With --real this system's own TCP sends to the
    /// same devices in real time. Without a scenario it lists the scenarios and the devices that
    /// are built in. docs/profiles.md tells how to write your own.
    Lab(lab::LabArgs),
    /// Learn what a device does, and run such a device for a sender of your own
    Device(device::DeviceArgs),
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
    Ping(ping::PingArgs),
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
    /// Load a print spooler with jobs by the thousand
    ///
    /// It measures how fast a spooler takes jobs and processes them, over one queue or hundreds, and
    /// says what limits it.
    Spool(spool::SpoolArgs),
    /// Find the window that fits a path, and how many streams would
    ///
    /// It measures throughput, round trip under load, retransmissions and packet-delivery delay
    /// against the receive window of one stream, and against the number of parallel streams with
    /// a small window. Then it says which window to set and why: the smallest whose rate lies
    /// within the noise of the best, where queues stay short. It stops where more adds nothing.
    Sweep(Box<sweep::SweepArgs>),
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
    /// Be among the interfaces of Wireshark
    ///
    /// Installed, windlass gives Wireshark two interfaces more: the ring of windlass capture, and
    /// an emulated device to which it sends while Wireshark looks on. The rest is for Wireshark,
    /// which runs this command.
    Extcap(extcap::ExtcapArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print a manual page, or write all of them
    Man(man::ManArgs),
}

impl Command {
    /// Runs the command.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<()> {
        match self {
            Self::Explain(args) => explain::run(args, output),
            Self::Show(args) => show::run(args, output),
            Self::Report(args) => report::run(args, output),
            Self::Capture(args) => capture::run(args, output),
            Self::Law(args) => law::run(args, output),
            Self::Lab(args) => lab::run(args, output),
            Self::Device(args) => device::run(args, output),
            Self::Link(args) => link::run(args, output),
            Self::Ping(args) => ping::run(args, output),
            Self::Print(args) => print::run(args, output),
            Self::Runs(args) => runs::run(args, is_kept, output),
            Self::Send(args) => send::run(args, output),
            Self::Serve(args) => serve::run(args, output),
            Self::Spool(args) => spool::run(args, output),
            Self::Sweep(args) => sweep::run(args, output),
            Self::Top(args) => top::run(args, output),
            Self::Ui(args) => ui::run(args, is_runnable, output),
            Self::Watch(args) => watch::run(args, output),
            Self::Exporter(args) => exporter::run(args, output),
            Self::Archive(args) => archive::run(args),
            Self::Extcap(args) => extcap::run(args, output),
            Self::Completions(args) => completions::run(args, command(), output),
            Self::Man(args) => man::run(args, command(), output),
        }
    }

    /// What the command is called, and whether its run is to be kept, where it measures.
    pub fn keeping(&self) -> Option<(&'static str, &KeepArgs)> {
        match self {
            Self::Lab(args) => Some(("lab", &args.keep_run)),
            Self::Send(args) => Some(("send", &args.keep_run)),
            Self::Ping(args) => Some(("ping", &args.keep_run)),
            Self::Sweep(args) => Some(("sweep", &args.keep_run)),
            Self::Print(args) => Some(("print", &args.keep_run)),
            Self::Watch(args) => Some(("watch", &args.keep_run)),
            Self::Capture(args) => Some(("capture", &args.keep_run)),
            Self::Spool(args) => args.keeping().map(|keep| ("spool load", keep)),
            _ => None,
        }
    }
}

/// Whether arguments, without the program's name, are of a command whose run is kept.
fn is_kept(arguments: &[String]) -> bool {
    let words = ["windlass"].into_iter().chain(arguments.iter().map(String::as_str));
    Cli::try_parse_from(words).is_ok_and(|cli| cli.command.keeping().is_some())
}

/// Whether arguments, without the program's name, are of a command whose run is kept, and which
/// can be made; else what is wrong, in words.
fn is_runnable(arguments: &[String]) -> Result<(), String> {
    let words = ["windlass"].into_iter().chain(arguments.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words).map_err(|message| {
        let text = message.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words = first.strip_prefix("error: ").unwrap_or(first).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    })?;
    match &cli.command {
        Command::Send(args) => {
            args.transfer().map(drop).map_err(|failure| failure.in_one_line().to_string())
        }
        command if command.keeping().is_some() => Ok(()),
        _ => Err("no run of that command is kept".to_owned()),
    }
}

/// How the records of the command are to be printed: what gives some has `--json`.
pub fn format(matches: &ArgMatches) -> Format {
    let command = matches.subcommand().map(|(_, command)| command);
    let is_set = |id| matches!(command.map(|of| of.try_get_one(id)), Some(Ok(Some(true))));
    if is_set("json") || is_set("json_stream") { Format::Json } else { Format::Text }
}

/// The definition that help, completions and manual pages are made from.
pub fn command() -> clap::Command {
    Cli::command()
}

/// The colour that help and usage errors take. They are printed before the
/// arguments are known, so `--color` is looked for by hand.
pub fn color_hint(args: &[OsString]) -> clap::ColorChoice {
    let mut choice = clap::ColorChoice::Auto;
    let mut words = args.iter().filter_map(|arg| arg.to_str()).skip(1);
    while let Some(word) = words.next() {
        let when = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None if word == "--" => break,
            None => continue,
        };
        choice = match when {
            Some("always") => clap::ColorChoice::Always,
            Some("never") => clap::ColorChoice::Never,
            _ => choice,
        };
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds() {
        command().debug_assert();
    }

    #[test]
    fn colour_is_found_before_parsing() {
        let hint = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            color_hint(&args)
        };
        assert_eq!(hint("windlass law"), clap::ColorChoice::Auto);
        assert_eq!(hint("windlass --color never law"), clap::ColorChoice::Never);
        assert_eq!(hint("windlass law --color=always"), clap::ColorChoice::Always);
        assert_eq!(hint("windlass law -- --color=always"), clap::ColorChoice::Auto);
    }
}
