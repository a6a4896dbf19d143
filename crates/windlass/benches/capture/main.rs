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

#[path = "../common/mod.rs"]
mod common;
mod count;
mod path;
#[path = "../common/program.rs"]
mod program;
mod tool;
#[path = "../common/veth.rs"]
mod veth;

use std::num::NonZeroU64;
use std::path::Path as FilePath;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use common::{Bench, Bound, OwnOption, Part, grouped, in_turn, median};
use path::Path;
use tool::Tool;

const OWN: [OwnOption; 1] =
    [OwnOption("--rate", "N", "frames of 1,514 B per second; 400000 without it")];

const KNOWN: [&str; 5] = ["null", "headers", "at-once", "whole", "tcp"];

/// Bytes kept of each packet if headers are wanted.
const HEADERS: u32 = 96;

/// Time after the load for packets on their way.
const AFTER: Duration = Duration::from_millis(50);

/// The most that windlass may cost for a packet, over tcpdump and over its own
/// single reader, and the least that TCP keeps while it captures.
const OVER_TCPDUMP: f64 = 0.5;
const OVER_SINGLE: f64 = 0.1;
const TCP_KEEPS: f64 = 0.9;

/// Transfers for each round of the other cases.
const TCP_RUNS: usize = 5;

/// Use of the frames.
struct Case {
    name: &'static str,
    title: &'static str,
    snap_length: Option<u32>,
    has_file: bool,
    after: Duration,
    /// A share of the time.
    time: f64,
}

const CASES: [Case; 4] = [
    Case {
        name: "null",
        title: "Headers (96 B) to /dev/null, ended 50 ms after the load",
        snap_length: Some(HEADERS),
        has_file: false,
        after: AFTER,
        time: 1.0,
    },
    Case {
        name: "headers",
        title: "Headers (96 B) to a file, ended 50 ms after the load",
        snap_length: Some(HEADERS),
        has_file: true,
        after: AFTER,
        time: 1.0,
    },
    Case {
        name: "at-once",
        title: "Headers (96 B) to a file, ended at once",
        snap_length: Some(HEADERS),
        has_file: true,
        after: Duration::ZERO,
        time: 1.0,
    },
    Case {
        name: "whole",
        title: "Whole frames to a file, each program as it comes, ended 50 ms after the load",
        snap_length: None,
        has_file: true,
        after: AFTER,
        time: 0.5,
    },
];

/// Result of a run.
#[derive(Clone, Copy)]
struct CaptureResult {
    sent: u64,
    rate: f64,
    /// Packets in the file; where there is none, those that it says it took.
    kept: u64,
    claimed_taken: u64,
    claimed_dropped: u64,
    cpu: f64,
}

impl CaptureResult {
    const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.kept)
    }

    /// Processor seconds for a million packets that it kept.
    fn cost(&self) -> f64 {
        self.cpu * 1e6 / self.kept.max(1) as f64
    }

    /// Returns the packets that are neither in the file nor reported as lost.
    fn untold(&self) -> i64 {
        self.sent.cast_signed() - (self.kept + self.claimed_dropped).cast_signed()
    }
}

fn main() -> ExitCode {
    Bench::run("capture", &OWN, &KNOWN, measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let runs = bench.asked.runs(3, 1);
    let rate = NonZeroU64::new(bench.asked.number("--rate", 400_000, 400_000));
    let rate = rate.context("a rate of 0 sends nothing")?;
    let time = Duration::from_millis(if bench.asked.quick { 500 } else { 2_000 });
    // /tmp may be memory; the build's folder is on a disk.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let tools: Vec<Tool> = Tool::ALL.into_iter().filter(|tool| tool.is_there()).collect();
    bench.compares(["tcpdump", "dumpcap"]);
    let frames = Path::new(false).context("there are no namespaces here")?;
    let wanted = bench.wanted();
    for case in CASES.iter().filter(|case| wanted.contains(&case.name)) {
        let measured = in_turn(runs, &tools, |tool| {
            let one = once(*tool, case, &frames, rate, time, folder.path());
            one.with_context(|| format!("{}: {}", case.title, tool.name()))
        })?;
        bench.tell(table(case, rate, &tools, &measured));
    }
    if bench.asked.wants("tcp") {
        bench.tell(tcp(runs, folder.path())?);
    }
    Ok(())
}

/// One program, one load.
fn once(
    tool: Tool,
    case: &Case,
    path: &Path,
    rate: NonZeroU64,
    time: Duration,
    folder: &FilePath,
) -> Result<CaptureResult> {
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
    Ok(CaptureResult {
        sent: sent.packets,
        rate: sent.packets_per_second(),
        kept,
        claimed_taken: ended.taken,
        claimed_dropped: ended.dropped,
        cpu: ended.cpu,
    })
}

/// The median cost of a packet.
fn cost(runs: &[CaptureResult]) -> f64 {
    median(runs.iter().map(CaptureResult::cost)).unwrap_or(f64::NAN)
}

/// A case, and what is asked of it.
fn table(case: &Case, rate: NonZeroU64, tools: &[Tool], measured: &[Vec<CaptureResult>]) -> Part {
    let about =
        format!("{}; {} packets/s of 1,514 B asked for", case.title, grouped(rate.get() as f64));
    let columns =
        ["", "sent/s", "sent", "lost", "lost %", "it: took", "it: lost", "untold", "CPU s/M"];
    let mut part = Part::new(case.name, about, &columns);
    for (tool, runs) in tools.iter().zip(measured) {
        // The worst run, whole: its counts belong together.
        let Some(worst) = runs.iter().max_by_key(|run| run.lost()) else { continue };
        part.row([
            tool.name().to_owned(),
            grouped(worst.rate),
            grouped(worst.sent as f64),
            grouped(worst.lost() as f64),
            format!("{:.3}", worst.lost() as f64 * 100.0 / worst.sent.max(1) as f64),
            grouped(worst.claimed_taken as f64),
            grouped(worst.claimed_dropped as f64),
            grouped(worst.untold() as f64),
            format!("{:.4}", cost(runs)),
        ]);
    }
    let of = |wanted: Tool| {
        let place = tools.iter().position(|tool| *tool == wanted)?;
        measured.get(place).filter(|runs| !runs.is_empty())
    };
    let Some(own) = of(Tool::Windlass) else { return part };
    let max_lost = own.iter().map(CaptureResult::lost).max().unwrap_or(0);
    part.figure("windlass loses packets", max_lost as f64, Some(Bound::Most(0.0)));
    for tool in [Tool::Windlass, Tool::Single] {
        let untold = of(tool).into_iter().flatten().map(|run| run.untold().unsigned_abs());
        let name = format!("{} does not account for", tool.name());
        part.figure(&name, untold.max().unwrap_or(0) as f64, Some(Bound::Most(0.0)));
    }
    for (tool, most) in [(Tool::Tcpdump, OVER_TCPDUMP), (Tool::Single, OVER_SINGLE)] {
        let Some(other) = of(tool) else { continue };
        // For a packet that each took: the single reader does not keep up. Whole
        // packets cost both readers what the file takes.
        let is_held = tool == Tool::Tcpdump || case.snap_length.is_some();
        let name = format!("processor time over {}", tool.name());
        part.figure(&name, cost(own) / cost(other), is_held.then_some(Bound::Most(most)));
    }
    part
}

/// TCP as fast as it goes, captured and not.
fn tcp(runs: usize, folder: &FilePath) -> Result<Part> {
    let path = Path::new(true)?;
    let ways = [None, Some(Tool::Windlass), Some(Tool::Single)];
    // Each takes less than half a second, and one is not like the next.
    let runs = runs * TCP_RUNS;
    let measured = in_turn(runs, &ways, |tool| {
        let null = FilePath::new("/dev/null");
        let running = match tool {
            Some(tool) => Some(tool.start(&path, Some(HEADERS), null, folder)?),
            None => None,
        };
        let goodput = path.tcp()?;
        sleep(AFTER);
        anyhow::Ok((goodput, running.map(tool::RunningTool::end).transpose()?))
    })?;
    let about = format!(
        "TCP, 134,217,728 B by writes of 8,192 B, no offloads; headers captured; medians of {runs}"
    );
    let mut part = Part::new("tcp", about, &["", "MB/s", "it: took", "it: lost", "CPU s/M"]);
    let goodput =
        |runs: &[(f64, _)]| median(runs.iter().map(|(goodput, _)| *goodput)).unwrap_or(f64::NAN);
    for (tool, runs) in ways.iter().zip(&measured) {
        let name = tool.map_or("not captured", Tool::name);
        let ended: Vec<_> = runs.iter().filter_map(|(_, ended)| *ended).collect();
        let worst = ended.iter().max_by_key(|one| one.dropped);
        let cost = median(ended.iter().map(|one| one.cpu * 1e6 / one.taken.max(1) as f64));
        let count =
            |count: Option<u64>| count.map_or("-".to_owned(), |count| grouped(count as f64));
        part.row([
            name.to_owned(),
            format!("{:.1}", goodput(runs) / 1e6),
            count(worst.map(|one| one.taken)),
            count(worst.map(|one| one.dropped)),
            cost.map_or("-".to_owned(), |cost| format!("{cost:.4}")),
        ]);
    }
    if let [without, ring, single] = &measured[..] {
        let keeps = |runs: &[(f64, _)]| goodput(runs) / goodput(without);
        let least = Bound::Least(TCP_KEEPS);
        part.figure("TCP keeps under windlass", keeps(ring), Some(least));
        part.figure("TCP keeps under windlass, single", keeps(single), None);
    }
    Ok(part)
}
