//! The command line: what may be said, without doing any of it.
//!
//! Parsing has no side effects: it opens nothing and asks nothing of the
//! system. [`crate::run`] builds the printer from what was parsed and hands it
//! to the command.

#[cfg_attr(not(target_os = "linux"), path = "elsewhere/cli.rs")]
mod linux;

mod color;
mod groups;

use std::ffi::OsString;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgMatches, CommandFactory, Parser, Subcommand};
use windlass_output::{Format, Output};

pub use self::color::Color;
pub(crate) use self::linux::{Capturing, Driving, Observing, meant};
use crate::commands::{completions, device, explain, lab, law, man, report, show, sweep};
use crate::keeping::KeepArgs;
use crate::system::{by_system, on_linux};

/// Tells why a bulk TCP transfer is slow, proves it, and shows what would make
/// it fast.
#[derive(Debug, Parser)]
#[command(
    name = "windlass",
    version,
    max_term_width = 100,
    styles = STYLES,
    disable_help_subcommand = true,
    after_help = examples(),
    after_long_help = long_examples()
)]
pub struct Cli {
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(help_heading = "Output")]
    pub color: Color,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The last part of the help: the six tasks that people have most often.
fn examples() -> String {
    format!(
        "\
Examples:
  windlass explain upload.pcap         why the transfers in a capture were slow
{measuring}",
        measuring = by_system(
            "  windlass capture eth0 --explain      the same while they run
  windlass send HOST                   how fast it goes to windlass serve, and why not faster
  windlass print ipp://HOST/ipp/print report.pdf
                                       a print job, and what holds it back
  windlass sweep HOST                  the window that fits the path, and why
  windlass device run netgear-ps101    a device on your desk, to send to",
            "  windlass show upload.pcap            the conversation packet by packet
  windlass report upload.pcap -o report.html
                                       a page of it, with plots, to send to others
  windlass law window --window 64KiB --rtt 36ms
                                       the rate that a window allows
  windlass lab print-servers           emulated print servers, and why each is slow
  windlass sweep --simulate gigabit    the window that fits a path in virtual time

The commands that capture, measure, print and watch run on Linux.",
        )
    )
}

/// The last part of the long help.
fn long_examples() -> String {
    format!(
        "\
{}

Exit codes:
  0  done
  1  something was found or failed
  2  the command line was not understood

Environment:
  NO_COLOR        no colour, unless --color says otherwise
  PAGER           shows a report that is longer than the terminal; cat: none{}",
        examples(),
        on_linux(
            "
  WINDLASS_STORE  the folder in which runs are kept; empty: none is kept"
        ),
    )
}

/// Returns the arguments in the words of the command line, where they are a habit from other
/// programs: `help COMMAND`, a file in the place of a command, and of iperf3 `send -c HOST` and `-J`
/// (which is tcpdump's own in `capture`).
pub fn translated(
    mut args: Vec<OsString>,
    command: &clap::Command,
    is_file: impl Fn(&OsString) -> bool,
) -> Vec<OsString> {
    let Some(first) = args.get(1).cloned() else { return args };
    let options = args.iter().position(|word| word == "--").unwrap_or(args.len());
    if first != "capture" {
        args[..options].iter_mut().filter(|word| *word == "-J").for_each(|word| {
            *word = "--json".into();
        });
    }
    if first == "help" {
        args.remove(1);
        args.push("--help".into());
    } else if first == "send" {
        if let Some(client) = args[..options].iter().position(|word| word == "-c") {
            args.remove(client);
        }
    } else if !first.as_encoded_bytes().starts_with(b"-")
        && command.find_subcommand(&first).is_none()
        && is_file(&first)
    {
        args.insert(1, "explain".into());
    }
    args
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
    /// What captures packets.
    #[command(flatten)]
    Capturing(Capturing),
    /// Calculate with the laws that bound a transfer, both ways
    Law(law::LawArgs),
    /// Send to emulated devices in virtual time, and say what holds each transfer back
    #[command(long_about = lab::about())]
    Lab(lab::LabArgs),
    /// Learn what a device does, and run such a device for a sender of your own
    #[command(about = device::about())]
    Device(device::DeviceArgs),
    /// What drives paths, printers and spoolers, and what was found.
    #[command(flatten)]
    Driving(Driving),
    /// Find the window that fits a path, and how many streams would
    ///
    /// It measures throughput, round trip under load, retransmissions and packet-delivery delay
    /// against the receive window of one stream, and against the number of parallel streams with
    /// a small window. Then it says which window to set and why: the smallest whose rate lies
    /// within the noise of the best, where queues stay short. It stops where more adds nothing.
    Sweep(Box<sweep::SweepArgs>),
    /// What looks at this machine, and what others see of it.
    #[command(flatten)]
    Observing(Observing),
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
            Self::Capturing(command) => command.run(output),
            Self::Law(args) => law::run(args, output),
            Self::Lab(args) => lab::run(args, output),
            Self::Device(args) => device::run(args, output),
            Self::Driving(command) => command.run(output),
            Self::Sweep(args) => sweep::run(args, output),
            Self::Observing(command) => command.run(output),
            Self::Completions(args) => completions::run(args, command(), output),
            Self::Man(args) => man::run(args, command(), output),
        }
    }

    /// What the command is called, and whether its run is to be kept, where it measures.
    pub fn keeping(&self) -> Option<(&'static str, &KeepArgs)> {
        match self {
            Self::Lab(args) => Some(("lab", &args.keep_run)),
            Self::Sweep(args) => Some(("sweep", &args.measuring.keep_run)),
            Self::Capturing(command) => command.keeping(),
            Self::Driving(command) => command.keeping(),
            Self::Observing(command) => command.keeping(),
            _ => None,
        }
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
    let command = Cli::command();
    let template = groups::template(&command);
    command.help_template(template)
}

/// The colour that help and usage errors take. They are printed before the
/// arguments are known, so `--color` is looked for by hand.
pub fn color_hint(args: &[OsString]) -> Color {
    let mut choice = Color::Auto;
    let mut words = args.iter().filter_map(|arg| arg.to_str()).skip(1);
    while let Some(word) = words.next() {
        let when = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None if word == "--" => break,
            None => continue,
        };
        choice = match when {
            Some("always") => Color::Always,
            Some("never") => Color::Never,
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
    fn habits_become_commands() {
        let line = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let is_file = |name: &OsString| name == "upload.pcap" || name == "show";
        let command = command();
        for (said, meant) in [
            ("windlass help", "windlass --help"),
            ("windlass help law window", "windlass law window --help"),
            ("windlass upload.pcap --brief", "windlass explain upload.pcap --brief"),
            ("windlass send -c 192.0.2.2 -J", "windlass send 192.0.2.2 --json"),
            ("windlass link -- iperf3 -J", "windlass link -- iperf3 -J"),
            ("windlass capture lo -J", "windlass capture lo -J"),
            ("windlass show upload.pcap", "windlass show upload.pcap"),
            ("windlass missing.pcap", "windlass missing.pcap"),
            ("windlass --color never law", "windlass --color never law"),
            ("windlass", "windlass"),
        ] {
            assert_eq!(translated(line(said), &command, is_file), line(meant), "{said}");
        }
    }

    #[test]
    fn colour_is_found_before_parsing() {
        let hint = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            color_hint(&args)
        };
        assert_eq!(hint("windlass law"), Color::Auto);
        assert_eq!(hint("windlass --color never law"), Color::Never);
        assert_eq!(hint("windlass law --color=always"), Color::Always);
        assert_eq!(hint("windlass law -- --color=always"), Color::Auto);
    }
}
