//! Speed of `windlass send`, compared with iperf3, iperf and a plain loop of writes.
//!
//!     cargo bench -p windlass --bench send
//!     cargo bench -p windlass --bench send -- --runs 3 --seconds 2
//!
//! Each round runs every program once, in turn, with cubic, so that a machine
//! that gets slower does so for all. Figures are medians over the rounds. The
//! traffic stays on the loopback and on a veth pair between two namespaces that
//! the run makes.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has peers")]

#[path = "../common/mod.rs"]
mod common;
mod datagrams;
mod path;
mod plain;
mod program;
#[path = "../common/program.rs"]
mod programs;
#[path = "../common/veth.rs"]
mod veth;

use std::process::ExitCode;

use anyhow::{Context, Result};
use common::{Bench, OwnOption, Part, in_turn};
use path::Path;
use program::{Program, RunResult};

const OWN: [OwnOption; 1] =
    [OwnOption("--seconds", "N", "how long each transfer takes; 3 without it")];

const KNOWN: [&str; 6] =
    ["veth-1", "veth-10", "loopback-1", "loopback-10", "udp-veth", "udp-loopback"];

/// A bound: ours over another's, at the least.
struct RateBound {
    part: &'static str,
    against: Program,
    least: f64,
}

const BOUNDS: [RateBound; 6] = [
    RateBound { part: "veth-1", against: Program::Iperf3, least: 1.5 },
    RateBound { part: "loopback-1", against: Program::Iperf3, least: 1.2 },
    RateBound { part: "veth-1", against: Program::Plain, least: 0.95 },
    RateBound { part: "loopback-1", against: Program::Plain, least: 0.95 },
    RateBound { part: "veth-10", against: Program::Iperf2, least: 1.0 },
    RateBound { part: "loopback-10", against: Program::Iperf2, least: 1.0 },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let done = match arguments.next().as_deref() {
        // The plain loop is this program, too.
        Some("--plain-receive") => plain::receive(),
        Some("--plain-send") => plain::send(arguments),
        _ => return Bench::run("send", &OWN, &KNOWN, measure),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(bench: &mut Bench) -> Result<()> {
    let runs = bench.asked.runs(5, 1);
    let seconds = bench.asked.number("--seconds", 3, 1);
    bench.compares(["iperf3", "iperf"]);
    for name in bench.wanted() {
        if let Some(where_to) = name.strip_prefix("udp-") {
            let make = if where_to == "veth" { Path::veth } else { Path::loopback };
            match make() {
                Ok(_) => bench.tell(datagrams::compare(name, make, runs, seconds)?),
                Err(error) => println!("skipped: {name}: {error:#}"),
            }
            continue;
        }
        let (make, streams): (fn() -> Result<Path>, _) = match name {
            "veth-1" => (Path::veth, 1),
            "veth-10" => (Path::veth, 10),
            "loopback-1" => (Path::loopback, 1),
            _ => (Path::loopback, 10),
        };
        match make() {
            Ok(_) => bench.tell(compare(name, make, streams, runs, seconds)?),
            Err(error) => println!("skipped: {name}: {error:#}"),
        }
    }
    Ok(())
}

/// Runs all programs over a path; their medians.
fn compare(
    name: &'static str,
    make: fn() -> Result<Path>,
    streams: u16,
    runs: usize,
    seconds: u64,
) -> Result<Part> {
    let programs: Vec<Program> =
        Program::ALL.into_iter().filter(|program| program.can(streams)).collect();
    let measured = in_turn(runs, &programs, |program| {
        // A path of its own: the server before may not be gone yet.
        let one = program.run(&make()?, streams, seconds);
        one.with_context(|| format!("{name}: {}", program.name()))
    })?;
    let about = format!("streams: {streams}, cubic, medians of {runs} × {seconds} s");
    let mut part =
        Part::new(name, about, &["", "Gbit/s", "of the kernel's", "receiver s/GB", "sender s/GB"]);
    let medians: Vec<RunResult> = measured.iter().map(|all| RunResult::median(all)).collect();
    for (program, median) in programs.iter().zip(&medians) {
        let cost = |cost: Option<f64>| cost.map_or("-".to_owned(), |cost| format!("{cost:.4}"));
        part.row([
            program.name().to_owned(),
            format!("{:.1}", median.bits_per_second / 1e9),
            format!("{:.0} %", median.counted * 100.0),
            cost(median.receiver),
            cost(median.sender),
        ]);
    }
    let of = |wanted: Program| {
        let place = programs.iter().position(|program| *program == wanted);
        place.map(|place| medians[place])
    };
    let Some(own) = of(Program::Windlass) else { return Ok(part) };
    for bound in BOUNDS.iter().filter(|one| one.part == name) {
        let Some(other) = of(bound.against) else { continue };
        let ratio = own.bits_per_second / other.bits_per_second;
        let words = format!("rate over {}", bound.against.name());
        part.figure(&words, ratio, Some(common::Bound::Least(bound.least)));
    }
    if let Some(RunResult { receiver: Some(theirs), .. }) = of(Program::Iperf3)
        && let Some(ours) = own.receiver
    {
        let most = common::Bound::Most(1.0);
        part.figure("receiver's cost over iperf3", ours / theirs, Some(most));
    }
    Ok(part)
}
