//! The command line of `windlass sweep`.

use std::path::PathBuf;

use clap::Args;
use windlass_base::{Bytes, CongestionControl, Failure, Span, values};
use windlass_lab::PathScenario;
use windlass_sweep::{Direction, Ladder, LadderPart, Plan, PlanError};

use super::host::{HostArgs, IpArgs};
use crate::arguments::{JsonArgs, one_of};
use crate::commands::measuring::MeasuringArgs;
use crate::live::LIVE;
use crate::system::{by_system, on_linux};

/// The file name of standard output.
pub(super) const STDOUT: &str = "-";

/// The directions of the data.
const WAYS: [(&str, &str, &[Direction]); 3] = [
    ("up", "From this host to HOST", &[Direction::Up]),
    ("down", "From HOST to this host", &[Direction::Down]),
    ("both", "Up, then down", &Direction::ALL),
];

/// The congestion controls to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Controls {
    /// The system's own alone.
    Own,
    /// The system's own, and cubic and bbr where the sender offers them.
    Usual,
    /// All that this host offers.
    All,
    /// Named ones.
    Named(Vec<CongestionControl>),
}

/// Returns the usage line.
const fn usage() -> &'static str {
    by_system(
        "windlass sweep [OPTIONS] <HOST>\n       windlass sweep [OPTIONS] --simulate <SCENARIO>",
        "windlass sweep [OPTIONS] --simulate <SCENARIO>",
    )
}

/// Returns the last part of the help.
fn examples() -> String {
    format!(
        "\
Examples:
{to_hosts}  windlass sweep --simulate gigabit             sweep a simulated gigabit path
  windlass sweep --simulate long-fat --windows 512k,1m,2m,4m --streams 1
                                                measure these four windows only
  windlass sweep --simulate gigabit --windows 512..4m --full --csv > gigabit.csv
                                                measure every window, and write a table
  windlass sweep --simulate ./office.toml --json | jq .directions[].recommendation
                                                sweep your own simulated path

{other_end}Scenarios:
  gigabit            1 Gbit/s Ethernet between two PCs, RTT 2.55 ms
  white-space        89 Mbit/s radio link between two Ethernet links, RTT 2.45 ms
  white-space-radio  the same path with a half-duplex radio
  fading-radio       the half-duplex radio with a changing rate
  long-fat           500 Mbit/s, RTT 20 ms
  or a TOML file that describes a path: see docs/sweep.md

Measurements:
  The sweep first measures the kernel's own settings: one stream, several streams, and each
  congestion control. Then it finds the smallest window with which one stream reaches the best rate.
  The decisive settings are measured again, in turns. The curves come last. A range (4k..4m) bounds
  the search, and its powers of two form the curve. A list (1,2,4) measures exactly these values.

Duration:
  A measurement ends when its rate is steady and known to 2 %. The sweep takes at most 90 s, or 200
  round trips if that is longer. After Ctrl-C it keeps and prints the measurements made so far, and
  exits with code 1.",
        to_hosts = on_linux(
            "  windlass sweep 192.0.2.2                      find the best settings, in both directions
  windlass sweep 192.0.2.2 --direction up --html path.html
                                                measure one direction, and write a page of plots
  windlass sweep 192.0.2.2 --congestion all --within 5min --state path.jsonl
                                                sweep for 5 minutes; run again to resume
  windlass sweep 192.0.2.2 --protocol iperf3    measure with a stock iperf3 -s
"
        ),
        other_end = on_linux(
            "\
The server:
  Run windlass serve or a stock iperf3 -s on HOST. Each measurement loads the path fully.

"
        ),
    )
}

/// The path, and what to measure of it.
#[derive(Args, Clone, Debug)]
#[command(override_usage = usage(), after_long_help = examples())]
pub struct SweepArgs {
    /// The server.
    #[command(flatten)]
    pub to: HostArgs,

    /// Sweep a simulated path in virtual time: the name of a scenario, or a TOML file
    #[arg(long, value_name = "SCENARIO", conflicts_with = "host")]
    pub simulate: Option<String>,

    /// Settings of IP packets.
    #[command(flatten)]
    pub ip: IpArgs,

    /// Congestion controls to measure beside the sender's own: usual (cubic and bbr), all (those of
    /// this host), own (no others), or names (bbr,cubic). Those that the sender lacks are skipped
    #[arg(long, value_name = "NAMES", default_value = "usual", value_parser = controls)]
    #[arg(help_heading = "The measurements")]
    pub congestion: Controls,

    /// Receive windows to measure, with one stream
    #[arg(long, short = 'w', value_name = "SIZES", default_value = "4k..4m")]
    #[arg(value_parser = windows, help_heading = "The measurements")]
    pub windows: Ladder,

    /// Numbers of parallel streams to measure, with --stream-window
    #[arg(long, short = 'P', short_alias = 's', value_name = "COUNTS", default_value = "1..32")]
    #[arg(value_parser = streams, help_heading = "The measurements")]
    pub streams: Ladder,

    /// Receive window of each parallel stream
    #[arg(long, value_name = "SIZE", default_value = "56k")]
    #[arg(value_parser = window, help_heading = "The measurements")]
    pub stream_window: Bytes,

    /// Direction of the data
    ///
    /// A scenario whose directions are alike is measured in one direction only.
    #[arg(long, value_name = "WAY", default_value = "both", help_heading = "The measurements")]
    #[arg(value_parser = one_of(&WAYS))]
    pub direction: &'static [Direction],

    /// Number of measurements of each decisive setting and each listed value; the median counts
    /// [default: 3, or 1 for scenarios without randomness]
    #[arg(long, short_alias = 'r', value_name = "N", help_heading = "The measurements")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=i64::from(Plan::MAX_REPEATS)))]
    pub repeat: Option<u16>,

    /// Maximum length of a measurement [default: by the RTT, or the scenario's]
    #[arg(long, short = 't', value_name = "TIME", value_parser = time)]
    #[arg(help_heading = "The measurements")]
    pub time: Option<Span>,

    /// Maximum length of the sweep [default: 90s, or 200 round trips if that is longer; no limit
    /// for lists of values and with --full]
    #[arg(long, value_name = "TIME", value_parser = values::span, help_heading = "The measurements")]
    pub within: Option<Span>,

    /// Limit the data that the sweep sends, both directions together
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    #[arg(help_heading = "The measurements")]
    pub bytes: Option<Bytes>,

    /// Measure every window and number of streams of the ranges, without a search
    #[arg(long, help_heading = "The measurements")]
    pub full: bool,

    /// Seed of the random numbers [default: the scenario's]
    #[arg(long, value_name = "N", conflicts_with = "host", help_heading = "The measurements")]
    pub seed: Option<u64>,

    /// Keep each measurement in this file, and resume from it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub state: Option<PathBuf>,

    /// Write the points as CSV to this file; without FILE, to standard output in place of the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    #[arg(help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Write an HTML page with plots to this file; without FILE, to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    #[arg(help_heading = "Output")]
    pub html: Option<PathBuf>,

    /// Print one line of JSON for each measurement, and the report as the last line
    #[arg(long, help_heading = "Output", conflicts_with = "json", conflicts_with_all = LIVE)]
    pub json_stream: bool,

    /// Options of every measurement.
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl SweepArgs {
    /// Refuses options that exclude each other.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.measuring.watching.is_wanted() && self.simulate.is_some() {
            let wrong = "a simulated path runs in virtual time";
            return Err(Failure::usage("cannot watch this machine meanwhile", wrong)
                .advise("Omit --watch, or sweep the path to a HOST."));
        }
        let to_stdout =
            |file: &Option<PathBuf>| file.as_ref().is_some_and(|file| file.as_os_str() == STDOUT);
        let is_json = self.json.json || self.json_stream;
        let asked = [is_json, to_stdout(&self.csv), to_stdout(&self.html)];
        if asked.iter().filter(|asked| **asked).count() > 1 {
            let wrong = "JSON, --csv and --html cannot all go to standard output";
            return Err(Failure::usage("cannot print the sweep", wrong)
                .advise("Name a file for one of them: --html sweep.html."));
        }
        Ok(())
    }

    /// Returns the plan. Where both directions are alike, only one is measured.
    pub(super) fn plan(&self, alike: bool, repeat: u16) -> Plan {
        let told = if alike && self.direction.len() > 1 { 1 } else { self.direction.len() };
        Plan {
            directions: self.direction[..told].to_vec(),
            congestions: Vec::new(),
            windows: self.windows.clone(),
            streams: self.streams.clone(),
            stream_window: self.stream_window,
            repeat,
            full: self.full,
            longest: None,
            within: self.within,
            bytes: self.bytes,
        }
    }
}

/// Reads congestion controls: a word, or names.
fn controls(text: &str) -> Result<Controls, String> {
    match text {
        "own" => Ok(Controls::Own),
        "usual" => Ok(Controls::Usual),
        "all" => Ok(Controls::All),
        names => {
            let names = names.split(',').map(|name| name.trim().parse::<CongestionControl>());
            let names: Result<_, _> = names.collect();
            let why = |wrong| format!("{wrong}; write usual, all, own, or names: bbr,cubic");
            names.map(Controls::Named).map_err(why)
        }
    }
}

/// Reads windows: sizes and ranges of sizes.
fn windows(text: &str) -> Result<Ladder, String> {
    let allowed = "write sizes as 4k..4m or 16k,64k,1m";
    ladder(text, Plan::LARGEST_WINDOW, allowed, |size| values::bytes(size).map(Bytes::get))
}

/// Reads the window of each parallel stream.
fn window(text: &str) -> Result<Bytes, String> {
    let window = values::bytes(text)?;
    let error = PlanError::TooLarge(Plan::LARGEST_WINDOW);
    Some(window).filter(|window| window.get() <= Plan::LARGEST_WINDOW).ok_or(error.to_string())
}

/// Reads numbers of streams, and ranges of them.
fn streams(text: &str) -> Result<Ladder, String> {
    let allowed = "write numbers as 1..32 or 1,2,10";
    ladder(text, Plan::MAX_STREAMS, allowed, |number| {
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|_| digits).ok_or_else(|| allowed.to_owned())
    })
}

fn ladder(
    text: &str,
    most: u64,
    allowed: &str,
    value: impl Fn(&str) -> Result<u64, String>,
) -> Result<Ladder, String> {
    let step = |part: &str| match part.split_once("..") {
        None => value(part.trim()).map(LadderPart::Value),
        Some((first, last)) if first.trim().is_empty() || last.trim().is_empty() => {
            Err(format!("a range has two ends; {allowed}"))
        }
        Some((first, last)) => Ok(LadderPart::Range(value(first.trim())?, value(last.trim())?)),
    };
    let steps: Vec<LadderPart> = text.split(',').map(step).collect::<Result<_, _>>()?;
    Ladder::new(&steps, most).map_err(|error| format!("{error}; {allowed}"))
}

/// Reads the maximum length of a measurement.
fn time(text: &str) -> Result<Span, String> {
    let time = values::span(text)?;
    let longest = PathScenario::LONGEST;
    Some(time).filter(|time| *time <= longest).ok_or(format!("the maximum is {longest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_of_sizes() {
        let rungs = |text| windows(text).map(|ladder| ladder.rungs().to_vec());
        assert_eq!(rungs("4k..4m").unwrap().len(), 11);
        assert_eq!(rungs("512, 4k ..10k"), Ok(vec![512, 4_096, 8_192, 10_240]));
        assert_eq!(rungs("64kB"), Ok(vec![64_000]));
        for wrong in ["", "4k..", "..4k", "..", "4k..1k", "0", "4k,,8k", "2g", "many", "1..2..3"] {
            assert!(rungs(wrong).is_err(), "{wrong}");
        }
        assert!(windows("2g").unwrap_err().contains("1,073,725,440"), "{:?}", windows("2g"));
        assert!(window("2g").is_err());
    }

    #[test]
    fn ranges_and_lists_of_numbers() {
        let rungs = |text| streams(text).map(|ladder| ladder.rungs().to_vec());
        assert_eq!(rungs("1..32").unwrap(), [1, 2, 4, 8, 16, 32]);
        assert_eq!(rungs("10,1"), Ok(vec![1, 10]));
        for wrong in ["", "0", "-1", "+1", "1k", "1.5", "257", "99999999999999999999", "5..2"] {
            assert!(rungs(wrong).is_err(), "{wrong}");
        }
    }
}
