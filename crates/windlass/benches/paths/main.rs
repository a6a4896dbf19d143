//! What a sweep recommends over emulated paths, beside what stock iperf3 finds by trying all of
//! it: windows × streams × congestion controls.
//!
//!     cargo bench -p windlass --bench paths
//!     cargo bench -p windlass --bench paths -- --only drawn --seed 3 --paths 4
//!
//! A run of iperf3 counts where its queueing delay is no more than that of what is recommended;
//! of these the sweep must have 0.97 of the best rate, and it must not be slower than iperf3
//! without any setting. What is recommended is measured by the sweep itself.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;
mod setups;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use common::{Bench, Own, Part};
use program::{is_there, number, windlass};
use serde_json::Value;
use setups::Setup;

const OWN: [Own; 2] = [
    Own("--seed", "N", "what the drawn paths come from; 1 without it"),
    Own("--paths", "N", "so many of each kind; all without it"),
];

const KNOWN: [&str; 2] = ["fixed", "drawn"];

/// What the recommendation must have of the best rate of those that queue no more.
const LEAST: f64 = 0.97;
/// How far the capacity may lie from the best rate of all.
const CAPACITY: f64 = 0.05;
/// Queueing delays that differ by less are the same: iperf3 tells its mean round trip over the
/// whole run, and the sweep over where it is steady.
const SAME_DELAY: f64 = 0.000_5;

fn main() -> ExitCode {
    Bench::run("paths", &OWN, &KNOWN, measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    if !is_there("iperf3") {
        return Ok(());
    }
    let (seed, count) = (bench.asked.number("--seed", 1, 1), bench.asked.number("--paths", 12, 1));
    bench.compares(["iperf3"]);
    for kind in bench.wanted() {
        let setups = match kind {
            "fixed" => setups::fixed(),
            _ => setups::drawn(seed),
        };
        let about = match kind {
            "fixed" => "paths that were chosen".to_owned(),
            _ => format!("paths drawn from seed {seed}"),
        };
        let columns = [
            "path",
            "recommended",
            "rate",
            "queue",
            "best that queues no more",
            "by itself",
            "capacity",
            "time",
        ];
        let mut part = Part::new(kind, about, &columns);
        for setup in setups.iter().take(usize::try_from(count)?) {
            let quick = bench.asked.quick;
            match over(setup, quick) {
                Ok(found) => row(&mut part, setup, &found),
                Err(error) => {
                    let wrong = format!("{error:#}");
                    let held = part.bound("an answer", false);
                    part.row([setup.name.as_str(), &wrong, "-", "-", &held, "-", "-", "-"]);
                }
            }
        }
        bench.tell(part);
    }
    Ok(())
}

/// A run of iperf3.
#[derive(Clone, Debug)]
struct Run {
    what: String,
    bits_per_second: f64,
    /// The mean round trip.
    rtt: f64,
}

/// What was found of a path.
struct Found {
    sweep: Value,
    runs: Vec<Run>,
}

fn row(part: &mut Part, setup: &Setup, found: &Found) {
    let Found { sweep, runs } = found;
    let text = |pointer: &str| sweep.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
    let of = |pointer: &str| number(sweep, pointer).unwrap_or(f64::NAN);
    let chosen = "/directions/0/recommendation";
    let rate = of(&format!("{chosen}/bits_per_second"));
    let queue = of(&format!("{chosen}/queueing_delay_seconds"));
    let base = of("/base_rtt_seconds");
    let capacity = of("/capacity_bits_per_second");
    let most = |runs: &mut dyn Iterator<Item = &Run>| {
        runs.max_by(|one, other| one.bits_per_second.total_cmp(&other.bits_per_second)).cloned()
    };
    let fair = most(&mut runs.iter().filter(|run| run.rtt - base <= queue + SAME_DELAY));
    let own = runs.first().cloned();
    let all = most(&mut runs.iter());
    let compared = |run: Option<Run>, least: f64, part: &mut Part| match run {
        None => "-".to_owned(),
        Some(run) => {
            let share = rate / run.bits_per_second;
            let said =
                format!("{} by {} ({:.1} %)", mbit(run.bits_per_second), run.what, share * 100.0);
            part.bound(&said, share >= least)
        }
    };
    let beside = compared(fair, LEAST, part);
    let alone = compared(own, LEAST, part);
    let off = all.map_or(f64::NAN, |all| capacity / all.bits_per_second - 1.0);
    let capacity = part.bound(&format!("{:+.1} %", off * 100.0), off.abs() <= CAPACITY);
    let spent = of("/spent_seconds");
    let time = part.bound(&format!("{spent:.0} s"), spent <= f64::max(90.0, 200.0 * base) * 1.02);
    let set = text("/summary/0").split("; set ").nth(1).unwrap_or("?");
    let set = set.split(": ").next().unwrap_or("?");
    let (rate, queue) = (mbit(rate), format!("{:.1} ms", queue * 1e3));
    part.row([setup.name.as_str(), set, &rate, &queue, &beside, &alone, &capacity, &time]);
}

fn mbit(bits: f64) -> String {
    format!("{:.2} Mbit/s", bits / 1e6)
}

/// The sweep, and then iperf3 with all settings, over one link.
fn over(setup: &Setup, quick: bool) -> Result<Found> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("all.sh");
    let trials = trials(setup, quick);
    std::fs::write(&script, commands(setup, &trials, folder.path(), quick)?)?;
    let mut link = windlass();
    link.args(["link", "--report", "/dev/null"]).args(setup.options());
    let program = env!("CARGO_BIN_EXE_windlass");
    let peer = format!("iperf3 -s -p 5301 >/dev/null 2>&1 & exec '{program}' serve >/dev/null");
    let output = link.args(["--peer", &peer, "--", "sh"]).arg(&script).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{stderr}");
    let sweep = std::fs::read_to_string(folder.path().join("sweep.json"))?;
    let sweep = serde_json::from_str(&sweep).context("the sweep gave no record")?;
    let mut runs = Vec::new();
    for (place, trial) in trials.iter().enumerate() {
        let said = std::fs::read_to_string(folder.path().join(format!("{place}.json")))?;
        let said: Value = serde_json::from_str(&said).unwrap_or_default();
        // iperf3 fails over bad paths as well: such a run is none.
        let Ok(bits_per_second) = number(&said, "/end/sum_received/bits_per_second") else {
            continue;
        };
        let streams = said.pointer("/end/streams").and_then(Value::as_array);
        let rtts = streams.into_iter().flatten();
        let rtts: Vec<f64> = rtts.filter_map(|one| number(one, "/sender/mean_rtt").ok()).collect();
        let rtt = rtts.iter().sum::<f64>() / rtts.len().max(1) as f64 / 1e6;
        runs.push(Run { what: trial.what.clone(), bits_per_second, rtt });
    }
    ensure!(!runs.is_empty(), "iperf3 gave nothing");
    Ok(Found { sweep, runs })
}

/// A setting that is tried.
struct Trial {
    what: String,
    options: String,
}

/// All settings; the first sets nothing.
fn trials(setup: &Setup, quick: bool) -> Vec<Trial> {
    let product = setup.product();
    let (shares, streams, controls): (&[f64], &[u32], &[&str]) = if quick {
        (&[0.0, 1.2, 2.0], &[1, 4], &["bbr", "cubic"])
    } else {
        (&[0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 4.0], &[1, 4, 16], &["bbr", "cubic", "reno"])
    };
    let mut trials = vec![Trial { what: "nothing set".to_owned(), options: String::new() }];
    for control in controls {
        for count in streams {
            for share in shares {
                let mut what = format!("{control} × {count}");
                let mut options = format!("-C {control} -P {count}");
                if *share > 0.0 {
                    // iperf3 sets the buffer, of which Linux reckons with half for data, and a
                    // window of each stream is its part.
                    let window = (product * share / f64::from(*count)).max(4_096.0);
                    let _ = write!(options, " -w {window:.0}");
                    let _ = write!(what, " × {:.0} kB", window / 1e3);
                }
                trials.push(Trial { what, options });
            }
        }
    }
    trials
}

/// The commands at the near end.
fn commands(setup: &Setup, trials: &[Trial], folder: &Path, quick: bool) -> Result<String> {
    let program = env!("CARGO_BIN_EXE_windlass");
    let folder = folder.display();
    let mut script =
        format!("'{program}' sweep 192.0.2.2 --direction up --json > {folder}/sweep.json\n");
    let (least, trips) = if quick { (4.0, 25.0) } else { (10.0, 60.0) };
    let seconds = f64::max(least, trips * setup.rtt_ms / 1e3).ceil();
    let omit = (seconds / 4.0).ceil();
    for (place, Trial { options, .. }) in trials.iter().enumerate() {
        let file = format!("{folder}/{place}.json");
        writeln!(
            script,
            "timeout 180 iperf3 -c 192.0.2.2 -p 5301 -J -t {seconds} -O {omit} {options} > {file} || \
             echo '{{}}' > {file}; sleep 0.2"
        )?;
    }
    script.push_str("exit 0\n");
    Ok(script)
}
