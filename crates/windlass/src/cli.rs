//! The definition of the command line.
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
pub(crate) use self::linux::{CaptureCommands, DriveCommands, ObserveCommands, meant};
use crate::arguments::COMMON;
use crate::commands::{completions, device, explain, lab, law, man, report, show, sweep};
use crate::keeping::KeepArgs;
use crate::system::{by_system, on_linux};

/// Explains why a bulk TCP transfer is slow, proves it, and says what to change.
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
    #[arg(hide_short_help = true, help_heading = COMMON)]
    pub color: Color,

    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The last part of the help: the six tasks that people have most often.
fn examples() -> String {
    format!(
        "\
Examples:
  windlass explain upload.pcap         explain why transfers in a capture were slow
{measuring}",
        measuring = by_system(
            "  windlass capture eth0 --explain      explain transfers while they run
  windlass send HOST                   measure the rate to windlass serve, and explain its limit
  windlass print ipp://HOST/ipp/print report.pdf
                                       print a file, and explain the rate
  windlass sweep HOST                  find the best window for the path to a host
  windlass device run netgear-ps101    emulate a print server to send to",
            "  windlass show upload.pcap            show a connection packet by packet
  windlass report upload.pcap -o report.html
                                       write an HTML page with plots
  windlass law window --window 64KiB --rtt 36ms
                                       calculate the rate that a window allows
  windlass lab print-servers           test emulated print servers, and explain each rate
  windlass sweep --simulate gigabit    find the best window for a simulated path

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
  0  success
  1  a failure, or a finding that the command reports
  2  an invalid command line

Environment:
  NO_COLOR        disables colour, unless --color is given
  PAGER           pager for reports longer than the terminal; cat disables it{}",
        examples(),
        on_linux(
            "
  WINDLASS_STORE  folder of the runs; an empty value keeps no runs"
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
        && (is_file(&first) || is_path(&first))
    {
        args.insert(1, "explain".into());
    }
    args
}

/// Returns whether a word is written as a path is: no command has a dot or a slash.
fn is_path(word: &OsString) -> bool {
    word.as_encoded_bytes().iter().any(|byte| b"./".contains(byte))
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::White.on_default().bold())
    .usage(AnsiColor::White.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Green.on_default());

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explain why transfers in a capture were slow, and what to change
    ///
    /// The report covers each connection that carried data, the largest first. It gives the two
    /// ends, the amount and the rate, and the limit that cost most time, with the packets that
    /// prove it and a timeline of all limits. It compares the rate that the limit's law predicts
    /// with the measured rate. It says what to change, on which host, and the rate to expect then.
    /// Limits that the capture cannot show are named as unknown.
    Explain(explain::ExplainArgs),
    /// Show a connection packet by packet, with notes
    ///
    /// Each line has the packet's number (as in Wireshark), the time since the previous packet,
    /// the direction, the bytes, the ACK and the window. Notes mark events: a full window, a
    /// waiting sender, a late ACK, a window that closes or opens, a probe, or a retransmission and
    /// its original packet. Without --connection or --all it shows the connection with most data.
    Show(show::ShowArgs),
    /// Write an HTML page about a capture, with verdicts, evidence and plots
    ///
    /// The page is one self-contained file to send to others. For each connection it has the
    /// verdict of windlass explain, then plots: throughput with its limits, sequence numbers, ACKs
    /// and window over time, bytes in flight, and latency. The packets around the evidence and
    /// tables follow. The Markdown form has the verdicts and a table, for tickets.
    Report(report::ReportArgs),
    /// The commands that capture packets.
    #[command(flatten)]
    Capturing(CaptureCommands),
    /// Calculate with the laws that bound a TCP transfer
    Law(law::LawArgs),
    /// Send to emulated devices in virtual time, and explain each rate
    #[command(long_about = lab::about())]
    Lab(lab::LabArgs),
    /// Learn what a device does, and run such a device for a sender of your own
    #[command(about = device::about())]
    Device(device::DeviceArgs),
    /// The commands that drive paths, printers and spoolers.
    #[command(flatten)]
    Driving(DriveCommands),
    /// Find the best window and number of streams for a path
    ///
    /// It measures throughput, RTT under load, retransmissions and packet-delivery delay. It tests
    /// one stream with different receive windows, then parallel streams with a small window. It
    /// recommends the smallest setting whose rate equals the best within the measurement error, and
    /// whose queues stay short. It stops when larger values bring no gain.
    Sweep(Box<sweep::SweepArgs>),
    /// The commands that observe this machine.
    #[command(flatten)]
    Observing(ObserveCommands),
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

    /// Returns the name of a command that measures, and its options for keeping the run.
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

/// Returns the output format of the command's records.
pub fn format(matches: &ArgMatches) -> Format {
    let command = matches.subcommand().map(|(_, command)| command);
    let is_set = |id| matches!(command.map(|of| of.try_get_one(id)), Some(Ok(Some(true))));
    if is_set("json") || is_set("json_stream") { Format::Json } else { Format::Text }
}

/// Returns the definition of the command line, for help, completions and manual pages.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let template = groups::template(&command);
    command.help_template(template)
}

/// Returns the colour of help and usage errors. They are printed before the arguments are known,
/// so this searches for `--color` itself.
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
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn the_definition_holds() {
        command().debug_assert();
    }

    /// Adds the options that a letter stands for, in a command and in those below it.
    fn add_letters<'a>(command: &'a clap::Command, all: &mut BTreeMap<char, BTreeSet<&'a str>>) {
        for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
            let long = option.get_long().unwrap_or_default().trim_end_matches('s');
            if let Some(letter) = option.get_short() {
                all.entry(letter).or_default().insert(long);
            }
        }
        command.get_subcommands().for_each(|inner| add_letters(inner, all));
    }

    /// `capture` has the letters of tcpdump, and `-n` is a number of something, as in iperf3.
    #[test]
    fn a_letter_is_one_option() {
        let command = command();
        let mut all = BTreeMap::new();
        let others = command.get_subcommands().filter(|inner| inner.get_name() != "capture");
        others.for_each(|inner| add_letters(inner, &mut all));
        all.retain(|letter, options| *letter != 'n' && options.len() > 1);
        assert!(all.is_empty(), "{all:?}");
    }

    #[test]
    fn old_names_of_options_are_understood() {
        for line in [
            "capture lo --duration 1s",
            "watch --duration 1s -p sh -d sda",
            "ping printer -l -w 3",
            "sweep printer -s 1..4 -r 3",
            "link -t 1ms -q 64k -l 1% -p true -- true",
            "device run netgear-ps101 -t 1ms -l 1%",
            "spool load ipp://printer/ -q a -c 4",
            "print ipp://printer/ report.pdf -q a",
            "top -p sh -s rate -d -w 5s",
            "law window -w 64k -t 36ms",
            "law send-buffer -b 64k -d 36ms",
            "law streams -n 4 -w 64k -t 36ms -r 1gbit",
            "law loss -m 1460 -t 36ms -l 1%",
        ] {
            let words = std::iter::once("windlass").chain(line.split(' '));
            assert_eq!(Cli::try_parse_from(words).err().map(|error| error.to_string()), None);
        }
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
            ("windlass missing.pcap", "windlass explain missing.pcap"),
            ("windlass expalin", "windlass expalin"),
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
