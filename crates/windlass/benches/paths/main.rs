//! Recommendations of a sweep over emulated paths, compared with a full search by stock iperf3:
//! windows × streams × congestion controls.
//!
//!     cargo bench -p windlass --bench paths
//!     cargo bench -p windlass --bench paths -- --only drawn --seed 3 --paths 4
//!
//! A run of iperf3 counts where its queueing delay is no more than that of what is recommended;
//! of these the sweep must have 0.97 of the best rate, and it must not be slower than iperf3
//! without any setting. What is recommended is measured by the sweep itself.
//!
//! Each setting is tried briefly, and those that came out best for long: the rate and the delay
//! of a row are of the long runs alone. A row says where the link was later than it should be.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;
mod setups;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use common::{Bench, OwnOption, Part};
use program::{is_there, number, windlass};
use serde_json::Value;
use setups::Setup;

const OWN: [OwnOption; 3] = [
    OwnOption("--path", "TEXT", "only paths with this in their name"),
    OwnOption("--seed", "N", "what the drawn paths come from; 1 without it"),
    OwnOption("--paths", "N", "so many of each kind; all without it"),
];

const KNOWN: [&str; 3] = ["fixed", "fast", "drawn"];

/// Minimum share of the best rate with no more queueing.
const LEAST: f64 = 0.97;
/// Maximum difference of the capacity from the best rate of all, as a share.
const CAPACITY: f64 = 0.05;
/// Queueing delays that differ by less are the same: iperf3 tells its mean round trip over the
/// whole run, and the sweep over where it is steady.
const SAME_DELAY: f64 = 0.000_5;

/// From where on a row says that the link was late: what `windlass link` doubts itself at.
const LATE: f64 = 0.05;

fn main() -> ExitCode {
    Bench::run("paths", &OWN, &KNOWN, measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    if !is_there("iperf3") {
        return Ok(());
    }
    let (seed, count) = (bench.asked.number("--seed", 1, 1), bench.asked.number("--paths", 14, 1));
    bench.compares(["iperf3"]);
    for kind in bench.wanted() {
        let setups = match kind {
            "fixed" => setups::fixed(),
            "fast" => setups::fast(),
            _ => setups::drawn(seed),
        };
        let about = match kind {
            "fixed" => "paths that were chosen".to_owned(),
            "fast" => "paths of 1 Gbit/s".to_owned(),
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
        let named = bench.asked.value("--path").unwrap_or_default().to_owned();
        let wanted = setups.iter().filter(|setup| setup.name.contains(&named));
        for setup in wanted.take(usize::try_from(count)?) {
            let quick = bench.asked.quick;
            eprintln!("{} …", setup.name);
            match over(setup, quick) {
                Ok(found) => row(&mut part, setup, &found),
                Err(error) => {
                    let wrong = format!("{error:#}");
                    let held = part.bound("an answer", false);
                    tell(&mut part, [setup.name.as_str(), &wrong, "-", "-", &held, "-", "-", "-"]);
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
    place: usize,
    what: String,
    bits_per_second: f64,
    /// The mean round trip.
    rtt: f64,
}

/// Findings for a path.
struct PathFindings {
    sweep: Value,
    runs: Vec<Run>,
    /// By which share of its round trip the link was late.
    late: f64,
}

fn row(part: &mut Part, setup: &Setup, found: &PathFindings) {
    let PathFindings { sweep, runs, late } = found;
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
    let name = if *late >= LATE {
        format!("{} (the link made it {:.0} % longer)", setup.name, late * 100.0)
    } else {
        setup.name.clone()
    };
    tell(part, [name.as_str(), set, &rate, &queue, &beside, &alone, &capacity, &time]);
}

/// A row, which is said at once, too: the next takes minutes.
fn tell(part: &mut Part, cells: [&str; 8]) {
    eprintln!("  {}", cells[1..].join(" | "));
    part.row(cells);
}

fn mbit(bits: f64) -> String {
    format!("{:.2} Mbit/s", bits / 1e6)
}

/// The sweep, iperf3 briefly with all settings, and iperf3 for long with the best of them.
fn over(setup: &Setup, quick: bool) -> Result<PathFindings> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let trials = trials(setup, quick);
    let sweep = format!(
        "'{}' sweep 192.0.2.2 --direction up --json > {}/sweep.json\n",
        env!("CARGO_BIN_EXE_windlass"),
        folder.display()
    );
    let brief: Vec<&Trial> = trials.iter().collect();
    let late = linked(setup, folder, &(sweep + &commands(&brief, Length::brief(setup), folder)?))?;
    let sweep = std::fs::read_to_string(folder.join("sweep.json"))?;
    let sweep: Value = serde_json::from_str(&sweep).context("the sweep gave no record")?;
    let leaders = leaders(&trials, &runs(&brief, folder)?, &sweep)?;
    let late =
        late.max(linked(setup, folder, &commands(&leaders, Length::long(setup, quick), folder)?)?);
    let runs = runs(&leaders, folder)?;
    ensure!(!runs.is_empty(), "iperf3 gave nothing");
    Ok(PathFindings { sweep, runs, late })
}

/// Runs a script at the near end of the path, and says by which share of its round trip the link
/// was late.
fn linked(setup: &Setup, folder: &Path, script: &str) -> Result<f64> {
    let (file, report) = (folder.join("all.sh"), folder.join("link.json"));
    std::fs::write(&file, format!("{script}exit 0\n"))?;
    let mut link = windlass();
    link.args(["link", "--json", "--report"]).arg(&report).args(setup.options());
    let program = env!("CARGO_BIN_EXE_windlass");
    let peer = format!("iperf3 -s -p 5301 >/dev/null 2>&1 & exec '{program}' serve >/dev/null");
    let output = link.args(["--peer", &peer, "--", "sh"]).arg(&file).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{stderr}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report)?)?;
    Ok(number(&report, "/lengthened").unwrap_or(0.0))
}

/// The runs of settings, in their order. iperf3 fails over bad paths as well: such a run is none.
fn runs(trials: &[&Trial], folder: &Path) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for trial in trials {
        let said = std::fs::read_to_string(folder.join(format!("{}.json", trial.place)))?;
        let said: Value = serde_json::from_str(&said).unwrap_or_default();
        let Ok(bits_per_second) = number(&said, "/end/sum_received/bits_per_second") else {
            continue;
        };
        let streams = said.pointer("/end/streams").and_then(Value::as_array);
        let rtts = streams.into_iter().flatten();
        let rtts: Vec<f64> = rtts.filter_map(|one| number(one, "/sender/mean_rtt").ok()).collect();
        let rtt = rtts.iter().sum::<f64>() / rtts.len().max(1) as f64 / 1e6;
        runs.push(Run { place: trial.place, what: trial.what.clone(), bits_per_second, rtt });
    }
    Ok(runs)
}

/// Those that are tried for long: nothing set, the fastest of all, and the fastest of those that
/// may queue no more than what is recommended: half as much again, as a brief run knows its mean
/// round trip badly.
fn leaders<'a>(trials: &'a [Trial], runs: &[Run], sweep: &Value) -> Result<Vec<&'a Trial>> {
    let queue = number(sweep, "/directions/0/recommendation/queueing_delay_seconds")?;
    let most = number(sweep, "/base_rtt_seconds")? + queue * 1.5 + 2.0 * SAME_DELAY;
    let mut by_rate: Vec<&Run> = runs.iter().collect();
    by_rate.sort_by(|one, other| other.bits_per_second.total_cmp(&one.bits_per_second));
    let fast = by_rate.iter().take(FASTEST);
    let short = by_rate.iter().filter(|run| run.rtt <= most).take(SHORTEST);
    let mut places: Vec<usize> =
        [0].into_iter().chain(fast.chain(short).map(|run| run.place)).collect();
    places.sort_unstable();
    places.dedup();
    Ok(places.into_iter().map(|place| &trials[place]).collect())
}

/// Number of the fastest settings that get long runs, and of the fastest with a short queue.
const FASTEST: usize = 2;
const SHORTEST: usize = 5;

/// A setting that is tried.
struct Trial {
    place: usize,
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
    let mut settings = vec![("nothing set".to_owned(), String::new())];
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
                settings.push((what, options));
            }
        }
    }
    let settings = settings.into_iter().enumerate();
    settings.map(|(place, (what, options))| Trial { place, what, options }).collect()
}

/// Length of an iperf3 run, and the excluded time at its start, in seconds.
#[derive(Clone, Copy)]
struct Length {
    seconds: f64,
    omit: f64,
}

impl Length {
    /// Makes a length of this many seconds or round trips, and excludes a share of it at the start.
    fn new(setup: &Setup, least: f64, trips: f64, omit: f64) -> Self {
        let seconds = f64::max(least, trips * setup.rtt_ms / 1e3).ceil();
        Self { seconds, omit: (seconds * omit).ceil() }
    }

    fn brief(setup: &Setup) -> Self {
        Self::new(setup, 1.0, 15.0, 0.0)
    }

    fn long(setup: &Setup, quick: bool) -> Self {
        if quick { Self::new(setup, 4.0, 25.0, 0.25) } else { Self::new(setup, 8.0, 60.0, 0.25) }
    }
}

/// The runs of iperf3, one after the other.
fn commands(trials: &[&Trial], length: Length, folder: &Path) -> Result<String> {
    let mut script = String::new();
    let (folder, Length { seconds, omit }) = (folder.display(), length);
    for Trial { place, options, .. } in trials {
        let file = format!("{folder}/{place}.json");
        writeln!(
            script,
            "timeout 180 iperf3 -c 192.0.2.2 -p 5301 -J -t {seconds} -O {omit} {options} > {file} || \
             echo '{{}}' > {file}; sleep 0.1"
        )?;
    }
    Ok(script)
}
