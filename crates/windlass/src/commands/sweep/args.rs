//! What may be said to `windlass sweep`.

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

/// What stands for standard output.
pub(super) const STDOUT: &str = "-";

/// Which way the data goes.
const WAYS: [(&str, &str, &[Direction]); 3] = [
    ("up", "From here", &[Direction::Up]),
    ("down", "To here", &[Direction::Down]),
    ("both", "From here, then to here", &Direction::ALL),
];

/// Which congestion controls are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Controls {
    /// The system's own alone.
    Own,
    /// Beside it cubic and bbr, where the sender offers them.
    Usual,
    /// All that this host knows.
    All,
    /// These.
    Named(Vec<CongestionControl>),
}

/// How it is called.
const fn usage() -> &'static str {
    by_system(
        "windlass sweep [OPTIONS] <HOST>\n       windlass sweep [OPTIONS] --simulate <SCENARIO>",
        "windlass sweep [OPTIONS] --simulate <SCENARIO>",
    )
}

/// What its help ends with.
fn examples() -> String {
    format!(
        "\
Examples:
{to_hosts}  windlass sweep --simulate gigabit             the set-up of the paper, in virtual time
  windlass sweep --simulate long-fat --windows 512k,1m,2m,4m --streams 1
                                                these windows, and no others
  windlass sweep --simulate gigabit --windows 512..4m --full --csv > gigabit.csv
                                                from below one segment up to the end
  windlass sweep --simulate ./office.toml --json | jq .directions[].recommendation
                                                a path of your own

{other_end}Scenarios:
  gigabit            1 Gbit/s Ethernet between two PCs, 2.55 ms
  white-space        an 89 Mbit/s radio link between two stretches of Ethernet, 2.45 ms
  white-space-radio  the same with a radio on which both ways take turns
  fading-radio       such a radio whose rate follows its signal
  long-fat           500 Mbit/s over 20 ms
  or the path of a TOML file, which docs/sweep.md describes

What is measured:
  First what the kernel does by itself: with one stream and with several, by each congestion
  control. Then the least window with which one stream does as well. What decides is measured again,
  by turns; what shows the curves comes last. 4k..4m bounds the search, and its powers of two are the
  curve; 1,2,4 are these values alone.

Ending:
  Each measurement ends when its rate is steady and known to 2 %. All of them take 90 s at most, or
  200 round trips where that is longer. Ctrl-C keeps and prints what was measured; exit code 1 then.",
        to_hosts = on_linux(
            "  windlass sweep 192.0.2.2                      what makes the path to a host fast, and back
  windlass sweep 192.0.2.2 --direction up --html path.html
                                                one way, and a page with plots
  windlass sweep 192.0.2.2 --congestion all --within 5min --state path.jsonl
                                                at length; again to go on after Ctrl-C
  windlass sweep 192.0.2.2 --protocol iperf3    against a stock iperf3 -s
"
        ),
        other_end = on_linux(
            "\
The other end:
  windlass serve runs on HOST, or a stock iperf3 -s. A measurement loads the path as fast as it
  goes.

"
        ),
    )
}

/// The path, and what to measure of it.
#[derive(Args, Clone, Debug)]
#[command(override_usage = usage(), after_long_help = examples())]
pub struct SweepArgs {
    /// The host at the other end.
    #[command(flatten)]
    pub to: HostArgs,

    /// Sweep this path in virtual time: a name from the list, or a TOML file
    #[arg(long, value_name = "SCENARIO", conflicts_with = "host")]
    pub simulate: Option<String>,

    /// What is set on the packets of IP.
    #[command(flatten)]
    pub ip: IpArgs,

    /// Congestion controls beside the sender's own: usual (cubic and bbr), all that this host
    /// knows, own for none, or names: bbr,cubic. What the sender does not offer is left out
    #[arg(long, value_name = "NAMES", default_value = "usual", value_parser = controls)]
    #[arg(help_heading = "What to measure")]
    pub congestion: Controls,

    /// The receive windows, with one stream each
    #[arg(long, short = 'w', value_name = "SIZES", default_value = "4k..4m")]
    #[arg(value_parser = windows, help_heading = "What to measure")]
    pub windows: Ladder,

    /// The numbers of parallel streams, with a window of --stream-window each
    #[arg(long, short = 's', value_name = "COUNTS", default_value = "1..32")]
    #[arg(value_parser = streams, help_heading = "What to measure")]
    pub streams: Ladder,

    /// The window of each parallel stream
    #[arg(long, value_name = "SIZE", default_value = "56k")]
    #[arg(value_parser = window, help_heading = "What to measure")]
    pub stream_window: Bytes,

    /// Which way the data goes, from here: up, down or both, one after the other
    ///
    /// Ways of a scenario that are alike are measured once.
    #[arg(long, value_name = "WAY", default_value = "both", help_heading = "What to measure")]
    #[arg(value_parser = one_of(&WAYS))]
    pub direction: &'static [Direction],

    /// How often what decides is measured, and each of a list of values; the median counts
    /// [default: 3, or 1 where nothing is left to chance]
    #[arg(long, short = 'r', value_name = "N", help_heading = "What to measure")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=i64::from(Plan::MAX_REPEATS)))]
    pub repeat: Option<u16>,

    /// How long a measurement takes at most [default: by the round trip, or what the scenario
    /// says]
    #[arg(long, short = 't', value_name = "TIME", value_parser = time)]
    #[arg(help_heading = "What to measure")]
    pub time: Option<Span>,

    /// How long all of them take at most [default: 90s, or 200 round trips where that is longer;
    /// without bound for lists of values and with --full]
    #[arg(long, value_name = "TIME", value_parser = values::span, help_heading = "What to measure")]
    pub within: Option<Span>,

    /// Send at most this much data in all, both directions together
    #[arg(long, value_name = "SIZE", value_parser = values::bytes)]
    #[arg(help_heading = "What to measure")]
    pub bytes: Option<Bytes>,

    /// Measure every window and number of streams of the ranges, instead of a search
    #[arg(long, help_heading = "What to measure")]
    pub full: bool,

    /// Decide by this number what is left to chance [default: what the scenario says]
    #[arg(long, value_name = "N", conflicts_with = "host", help_heading = "What to measure")]
    pub seed: Option<u64>,

    /// Keep each measurement in this file, and begin with those that are there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub state: Option<PathBuf>,

    /// Write the points as CSV to this file; without FILE to standard output, instead of the text
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    #[arg(help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Write a page with plots to this file, which needs no network; without FILE to standard
    /// output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    #[arg(help_heading = "Output")]
    pub html: Option<PathBuf>,

    /// Print a line of JSON for each measurement as it comes, and the report as the last one
    #[arg(long, help_heading = "Output", conflicts_with = "json", conflicts_with_all = LIVE)]
    pub json_stream: bool,

    /// What is done beside the measurement, and with it.
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl SweepArgs {
    /// Refuses what cannot be done, and what standard output cannot do.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.measuring.watching.is_wanted() && self.simulate.is_some() {
            let wrong = "virtual time passes as fast as this machine can";
            return Err(Failure::usage("cannot watch this machine meanwhile", wrong)
                .advise("Watch the sweep of the path to a host, or leave --watch out."));
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

    /// What is asked for. Where both ways are alike, one tells of both.
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

/// Congestion controls: a word, or names.
fn controls(text: &str) -> Result<Controls, String> {
    match text {
        "own" => Ok(Controls::Own),
        "usual" => Ok(Controls::Usual),
        "all" => Ok(Controls::All),
        names => {
            let names = names.split(',').map(|name| name.trim().parse::<CongestionControl>());
            let names: Result<_, _> = names.collect();
            let why = |wrong| format!("{wrong}; usual, all, own, or names are written: bbr,cubic");
            names.map(Controls::Named).map_err(why)
        }
    }
}

/// Windows: sizes and ranges of sizes.
fn windows(text: &str) -> Result<Ladder, String> {
    let allowed = "sizes are written as 4k..4m or 16k,64k,1m";
    ladder(text, Plan::LARGEST_WINDOW, allowed, |size| values::bytes(size).map(Bytes::get))
}

/// The window of each of several streams.
fn window(text: &str) -> Result<Bytes, String> {
    let window = values::bytes(text)?;
    let error = PlanError::TooLarge(Plan::LARGEST_WINDOW);
    Some(window).filter(|window| window.get() <= Plan::LARGEST_WINDOW).ok_or(error.to_string())
}

/// Numbers of streams, and ranges of them.
fn streams(text: &str) -> Result<Ladder, String> {
    let allowed = "numbers are written as 1..32 or 1,2,10";
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

/// How long one measurement takes.
fn time(text: &str) -> Result<Span, String> {
    let time = values::span(text)?;
    let longest = PathScenario::LONGEST;
    Some(time).filter(|time| *time <= longest).ok_or(format!("one takes {longest} at most"))
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
