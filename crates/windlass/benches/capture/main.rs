//! `windlass capture` beside tcpdump, dumpcap and the single reader: what each
//! loses and what it costs, under the same load.
//!
//!     cargo bench -p windlass --bench capture
//!     cargo bench -p windlass --bench capture -- --quick
//!
//! Each round runs every program once for each case, in turn, as whole
//! processes at the receiving end of a veth pair between namespaces that the run
//! makes. Figures are medians over the rounds, losses the worst of them. What a
//! program lost is what is missing in its file, counted here, against what was
//! sent; where there is no file it is what the program says. Processor time is
//! the process's own from when it was ready to its end. What the kernel does to
//! hand it a packet is not in it: that is the sender's.

mod count;
mod path;
mod tool;

use std::num::NonZeroU64;
use std::path::Path as FilePath;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use path::Path;
use tool::Tool;

const HELP: &str = "\
cargo bench -p windlass --bench capture -- [--runs N] [--rate N] [--quick]

  --runs N   rounds; 3 without it
  --rate N   frames of 1,514 B per second; 400000 without it
  --quick    one round, and a quarter of the time";

/// What is kept where headers are wanted.
const HEADERS: u32 = 96;

/// What is left to a program after the load: time for what is on its way.
const AFTER: Duration = Duration::from_millis(50);

/// The most that windlass may cost for a packet, over tcpdump and over its own
/// single reader, and the least that TCP keeps while it captures.
const OVER_TCPDUMP: f64 = 0.5;
const OVER_SINGLE: f64 = 0.1;
const TCP_KEEPS: f64 = 0.9;

/// So many transfers for each round of the other cases.
const TCP_RUNS: u64 = 5;

/// What is to be done with the frames.
struct Case {
    title: &'static str,
    snap_length: Option<u32>,
    has_file: bool,
    after: Duration,
    /// A share of the time.
    time: f64,
}

const CASES: [Case; 4] = [
    Case {
        title: "Headers (96 B) to /dev/null, ended 50 ms after the load",
        snap_length: Some(HEADERS),
        has_file: false,
        after: AFTER,
        time: 1.0,
    },
    Case {
        title: "Headers (96 B) to a file, ended 50 ms after the load",
        snap_length: Some(HEADERS),
        has_file: true,
        after: AFTER,
        time: 1.0,
    },
    Case {
        title: "Headers (96 B) to a file, ended at once",
        snap_length: Some(HEADERS),
        has_file: true,
        after: Duration::ZERO,
        time: 1.0,
    },
    Case {
        title: "Whole frames to a file, each program as it comes, ended 50 ms after the load",
        snap_length: None,
        has_file: true,
        after: AFTER,
        time: 0.5,
    },
];

/// What a run came to.
#[derive(Clone, Copy)]
struct Measured {
    sent: u64,
    rate: f64,
    /// Packets in the file; where there is none, those that it says it took.
    kept: u64,
    claimed_taken: u64,
    claimed_dropped: u64,
    cpu: f64,
}

impl Measured {
    const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.kept)
    }

    /// Processor seconds for a million packets that it kept.
    fn cost(&self) -> f64 {
        self.cpu * 1e6 / self.kept.max(1) as f64
    }

    /// What is neither in the file nor said to be lost.
    fn untold(&self) -> i64 {
        self.sent.cast_signed() - (self.kept + self.claimed_dropped).cast_signed()
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let (mut runs, mut rate, mut time) = (3, 400_000, Duration::from_secs(2));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64> {
            let text = arguments.next().with_context(|| format!("{argument} needs a number"))?;
            text.parse().with_context(|| format!("{argument} needs a number, not {text}"))
        };
        match argument.as_str() {
            // cargo adds this one itself.
            "--bench" => {}
            "--runs" => runs = number()?,
            "--rate" => rate = number()?,
            "--quick" => (runs, time) = (1, Duration::from_millis(500)),
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(true);
            }
            other => bail!("unknown argument {other}\n{HELP}"),
        }
    }
    let rate = NonZeroU64::new(rate).context("a rate of 0 sends nothing")?;
    // /tmp may be memory; the build's folder is on a disk.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let tools: Vec<Tool> = Tool::ALL.into_iter().filter(|tool| tool.is_there()).collect();
    let frames = Path::new(false).context("there are no namespaces here")?;
    let mut held = true;
    for case in &CASES {
        let mut measured = vec![Vec::new(); tools.len()];
        for _ in 0..runs {
            for (tool, measured) in tools.iter().zip(&mut measured) {
                let one = once(*tool, case, &frames, rate, time, folder.path());
                measured.push(one.with_context(|| format!("{}: {}", case.title, tool.name()))?);
            }
        }
        held &= tell(case, rate, &tools, &measured);
    }
    held &= tcp(runs, folder.path())?;
    Ok(held)
}

/// One program, one load.
fn once(
    tool: Tool,
    case: &Case,
    path: &Path,
    rate: NonZeroU64,
    time: Duration,
    folder: &FilePath,
) -> Result<Measured> {
    let file = folder.join("capture");
    let place = if case.has_file { file.as_path() } else { FilePath::new("/dev/null") };
    let running = tool.start(path, case.snap_length, place, folder)?;
    let sent = path.frames(rate, time.mul_f64(case.time))?;
    sleep(case.after);
    let ended = running.end()?;
    let kept = if case.has_file { count::packets(&file)? } else { ended.taken };
    if case.has_file {
        std::fs::remove_file(&file)?;
    }
    Ok(Measured {
        sent: sent.packets,
        rate: sent.packets_per_second(),
        kept,
        claimed_taken: ended.taken,
        claimed_dropped: ended.dropped,
        cpu: ended.cpu,
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Prints a case, and tells whether its bounds hold.
fn tell(case: &Case, rate: NonZeroU64, tools: &[Tool], measured: &[Vec<Measured>]) -> bool {
    println!("\n{}; {rate} packets/s of {} B", case.title, path::FRAME);
    println!(
        "  {:<17} {:>9} {:>9} {:>8} {:>7} {:>9} {:>9} {:>8} {:>7}",
        "", "sent/s", "sent", "lost", "%", "it: took", "it: lost", "untold", "s/M"
    );
    for (tool, runs) in tools.iter().zip(measured) {
        // The worst run, whole: its counts belong together.
        let Some(worst) = runs.iter().max_by_key(|run| run.lost()) else { continue };
        println!(
            "  {:<17} {:>9.0} {:>9} {:>8} {:>7.3} {:>9} {:>9} {:>8} {:>7.4}",
            tool.name(),
            worst.rate,
            worst.sent,
            worst.lost(),
            worst.lost() as f64 * 100.0 / worst.sent.max(1) as f64,
            worst.claimed_taken,
            worst.claimed_dropped,
            worst.untold(),
            median(runs.iter().map(Measured::cost)),
        );
    }
    let of = |wanted: Tool| {
        let place = tools.iter().position(|tool| *tool == wanted)?;
        measured.get(place).filter(|runs| !runs.is_empty())
    };
    let Some(own) = of(Tool::Windlass) else { return true };
    let most_lost = own.iter().map(Measured::lost).max().unwrap_or(0);
    let mut held = say("windlass loses packets", most_lost as f64, 0.0, false);
    for tool in [Tool::Windlass, Tool::Single] {
        let untold = of(tool).into_iter().flatten().map(|run| run.untold().unsigned_abs());
        let name = format!("{} does not account for", tool.name());
        held &= say(&name, untold.max().unwrap_or(0) as f64, 0.0, false);
    }
    let cost = |runs: &Vec<Measured>| median(runs.iter().map(Measured::cost));
    for (tool, most) in [(Tool::Tcpdump, OVER_TCPDUMP), (Tool::Single, OVER_SINGLE)] {
        let Some(other) = of(tool) else { continue };
        // For a packet that each took: the single reader does not keep up.
        let (name, ratio) = (format!("s/M over {}", tool.name()), cost(own) / cost(other));
        // Whole packets cost both readers what the file takes.
        if tool == Tool::Tcpdump || case.snap_length.is_some() {
            held &= say(&name, ratio, most, false);
        } else {
            println!("  {name:<36} {ratio:>8.3}");
        }
    }
    held
}

/// TCP as fast as it goes, captured and not.
fn tcp(runs: u64, folder: &FilePath) -> Result<bool> {
    let path = Path::new(true)?;
    let ways = [None, Some(Tool::Windlass), Some(Tool::Single)];
    let mut measured = [const { Vec::new() }; 3];
    // Each takes less than half a second, and one is not like the next.
    let runs = runs * TCP_RUNS;
    for _ in 0..runs {
        for (tool, measured) in ways.iter().zip(&mut measured) {
            let null = FilePath::new("/dev/null");
            let running = match tool {
                Some(tool) => Some(tool.start(&path, Some(HEADERS), null, folder)?),
                None => None,
            };
            let goodput = path.tcp()?;
            sleep(AFTER);
            let ended = running.map(tool::Running::end).transpose()?;
            measured.push((goodput, ended));
        }
    }
    println!(
        "\nTCP, 134,217,728 B by writes of 8,192 B, no offloads; headers captured; {runs} rounds"
    );
    println!("  {:<17} {:>9} {:>9} {:>9} {:>7}", "", "MB/s", "it: took", "it: lost", "s/M");
    let goodput = |runs: &[(f64, _)]| median(runs.iter().map(|(goodput, _)| *goodput));
    for (tool, runs) in ways.iter().zip(&measured) {
        let name = tool.map_or("not captured", Tool::name);
        let ended: Vec<_> = runs.iter().filter_map(|(_, ended)| *ended).collect();
        let Some(worst) = ended.iter().max_by_key(|one| one.dropped) else {
            println!("  {name:<17} {:>9.1}", goodput(runs) / 1e6);
            continue;
        };
        let cost = median(ended.iter().map(|one| one.cpu * 1e6 / one.taken.max(1) as f64));
        println!(
            "  {name:<17} {:>9.1} {:>9} {:>9} {cost:>7.4}",
            goodput(runs) / 1e6,
            worst.taken,
            worst.dropped,
        );
    }
    let [without, ring, single] = &measured;
    let keeps = |runs: &[(f64, _)]| goodput(runs) / goodput(without).max(1.0);
    let held = say("TCP keeps under windlass", keeps(ring), TCP_KEEPS, true);
    println!("  {:<36} {:>8.3}", "TCP keeps under windlass, single", keeps(single));
    Ok(held)
}

/// A line of a bound; tells whether it holds.
fn say(name: &str, value: f64, bound: f64, least: bool) -> bool {
    let held = if least { value >= bound } else { value <= bound };
    let verdict = if held { "" } else { "  <- NOT HELD" };
    let word = if least { "least" } else { "most" };
    let places = if value.fract() == 0.0 && bound.fract() == 0.0 { 0 } else { 3 };
    println!("  {name:<36} {value:>8.places$}   {word} {bound:.places$}{verdict}");
    held
}
