//! How fast `windlass send` is beside iperf3, iperf and a plain loop of writes.
//!
//!     cargo bench -p windlass --bench send
//!     cargo bench -p windlass --bench send -- --runs 3 --seconds 2
//!
//! Each round runs every program once, in turn, with cubic, so that a machine
//! that gets slower does so for all. Figures are medians over the rounds. The
//! traffic stays on the loopback and on a veth pair between two namespaces that
//! the run makes; the second takes root.

mod path;
mod plain;
mod program;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use path::Path;
use program::{Measured, Program};

const HELP: &str = "\
cargo bench -p windlass --bench send -- [--runs N] [--seconds N]

  --runs N     rounds; 5 without it
  --seconds N  how long each transfer takes; 3 without it";

/// A bound: ours over another's, at the least.
struct Bound {
    path: &'static str,
    streams: u16,
    against: Program,
    least: f64,
}

const BOUNDS: [Bound; 6] = [
    Bound { path: "veth", streams: 1, against: Program::Iperf3, least: 1.5 },
    Bound { path: "loopback", streams: 1, against: Program::Iperf3, least: 1.2 },
    Bound { path: "veth", streams: 1, against: Program::Plain, least: 0.95 },
    Bound { path: "loopback", streams: 1, against: Program::Plain, least: 0.95 },
    Bound { path: "veth", streams: 10, against: Program::Iperf2, least: 1.0 },
    Bound { path: "loopback", streams: 10, against: Program::Iperf2, least: 1.0 },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let done = match arguments.next().as_deref() {
        // The plain loop is this program, too.
        Some("--plain-receive") => plain::receive().map(|()| true),
        Some("--plain-send") => plain::send(arguments).map(|()| true),
        _ => run(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let (mut runs, mut seconds) = (5_u32, 3_u32);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u32> {
            let text = arguments.next().with_context(|| format!("{argument} needs a number"))?;
            text.parse().with_context(|| format!("{argument} needs a number, not {text}"))
        };
        match argument.as_str() {
            // cargo adds this one itself.
            "--bench" => {}
            "--runs" => runs = number()?,
            "--seconds" => seconds = number()?,
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(true);
            }
            other => bail!("unknown argument {other}\n{HELP}"),
        }
    }
    let mut held = true;
    for path in [Path::veth(), Path::loopback()] {
        let path = match path {
            Ok(path) => path,
            Err(error) => {
                println!("skipped: veth: {error:#}");
                continue;
            }
        };
        for streams in [1, 10] {
            held &= compare(&path, streams, runs, seconds)?;
        }
    }
    Ok(held)
}

/// Runs all programs over a path, and prints their medians.
fn compare(path: &Path, streams: u16, runs: u32, seconds: u32) -> Result<bool> {
    let programs: Vec<Program> =
        Program::ALL.into_iter().filter(|program| program.can(streams)).collect();
    let mut measured = vec![Vec::<Measured>::new(); programs.len()];
    for _ in 0..runs {
        for (program, measured) in programs.iter().zip(&mut measured) {
            let one = program.run(path, streams, seconds);
            measured.push(one.with_context(|| format!("{} over {}", program.name(), path.name))?);
        }
    }
    let plural = if streams == 1 { "" } else { "s" };
    println!("\n{}, {streams} stream{plural}, cubic, {runs} rounds of {seconds} s", path.name);
    println!("  {:<10} {:>10} {:>18} {:>18}", "", "Gbit/s", "receiver s/GB", "sender s/GB");
    let medians: Vec<Measured> = measured.iter().map(|all| Measured::median(all)).collect();
    for (program, median) in programs.iter().zip(&medians) {
        let cost = |cost: Option<f64>| cost.map_or("-".to_owned(), |cost| format!("{cost:.4}"));
        println!(
            "  {:<10} {:>10.1} {:>18} {:>18}",
            program.name(),
            median.bits_per_second / 1e9,
            cost(median.receiver),
            cost(median.sender),
        );
    }
    let of = |wanted: Program| {
        let place = programs.iter().position(|program| *program == wanted);
        place.map(|place| medians[place])
    };
    let Some(own) = of(Program::Windlass) else { return Ok(true) };
    let mut held = true;
    for bound in BOUNDS.iter().filter(|one| one.path == path.name && one.streams == streams) {
        let Some(other) = of(bound.against) else { continue };
        let ratio = own.bits_per_second / other.bits_per_second;
        held &= say(&format!("rate over {}", bound.against.name()), ratio, bound.least, true);
    }
    if let Some(Measured { receiver: Some(theirs), .. }) = of(Program::Iperf3)
        && let Some(ours) = own.receiver
    {
        held &= say("receiver's cost over iperf3", ours / theirs, 1.0, false);
    }
    Ok(held)
}

/// A line of a bound; tells whether it holds.
fn say(name: &str, ratio: f64, bound: f64, least: bool) -> bool {
    let held = if least { ratio >= bound } else { ratio <= bound };
    let verdict = if held { "" } else { "  <- NOT HELD" };
    let word = if least { "least" } else { "most" };
    println!("  {name:<30} {ratio:>6.2}   {word} {bound:.2}{verdict}");
    held
}
