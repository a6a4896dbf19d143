//! Speed of `windlass explain` as a complete process, compared with other programs that read
//! captures.
//!
//!     cargo bench -p windlass --bench explain
//!     cargo bench -p windlass --bench explain -- --quick --only a
//!
//! The captures are made once, in `target/bench-captures`. Programs take turns
//! on each capture, so that a busy machine slows all of them alike: read the
//! medians and the ratios.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has peers")]

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod conversation;
#[path = "../common/program.rs"]
mod program;
mod programs;
mod run;
mod table;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use captures::{Capture, Captures};
use common::{Bench, OwnOption, in_turn};
use programs::Program;
use run::{Outcome, Run};
use table::Row;

/// A program that takes longer than this is run once.
const SLOW: Duration = Duration::from_secs(3);

/// A program that takes longer than this is stopped.
const LIMIT: Duration = Duration::from_secs(60);

const OWN: [OwnOption; 1] = [OwnOption("--alone", "", "windlass and cat, no other programs")];

/// The captures, in the order in which they are run.
const CAPTURES: [&str; 8] = ["a", "b", "c", "c4", "d", "d4", "e-pcapng", "e-gzip"];

fn main() -> ExitCode {
    Bench::run("explain", &OWN, &CAPTURES, measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let is_alone = bench.asked.value("--alone").is_some();
    let programs: Vec<Program> = programs::all()
        .into_iter()
        .filter(|program| !is_alone || program.is_windlass() || program.name == "cat")
        .filter(Program::is_installed)
        .collect();
    let peers = programs.iter().map(|program| program.name);
    let own = ["windlass", programs::REPORT, "cat"];
    bench.compares(peers.filter(|name| !own.contains(name)));
    let captures = Captures::new(folder(), bench.asked.quick);
    let runs = bench.asked.runs(7, 3);
    let mut linear = None;
    for name in bench.wanted() {
        let capture = captures.make(name)?;
        let rows = compare(&programs, &capture, runs)?;
        let mut part = table::part(name, &rows, &capture);
        let own = rows.iter().find(|row| row.program == "windlass").and_then(Row::median);
        if let ("c", Some(own)) = (name, own) {
            linear = Some((capture.packets, own));
        }
        if let ("c4", Some(own), Some((few, short))) = (name, own, linear) {
            let packets = capture.packets as f64 / few as f64;
            let time = own.as_secs_f64() / short.as_secs_f64();
            part.note(format!("{packets:.2} times the packets of c take {time:.2} times as long"));
        }
        let page = programs::page(&capture.path);
        if let Ok(page_facts) = fs::metadata(&page) {
            part.note(format!("the page of the report has {} kB", page_facts.len() / 1_000));
            fs::remove_file(page)?;
        }
        bench.tell(part);
    }
    Ok(())
}

/// Returns the folder of the captures: below cargo's own folder, wherever that is.
fn folder() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    own.parent().unwrap_or(&own).join("bench-captures")
}

/// Runs the programs in turn on one capture.
fn compare(programs: &[Program], capture: &Capture, runs: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    // The first run warms the file's pages, shows the memory and tells which
    // programs are too slow to be run again.
    for program in programs {
        let Run { time, peak, outcome } = run::watched(program, &capture.path, LIMIT)?;
        let is_slow = time > SLOW || outcome != Outcome::Done;
        let times = if is_slow { vec![time] } else { Vec::new() };
        rows.push(Row { program: program.name, times, peak, outcome });
    }
    let (mut again, quick): (Vec<&mut Row>, Vec<&Program>) =
        rows.iter_mut().zip(programs).filter(|(row, _)| row.times.is_empty()).unzip();
    let timed = in_turn(runs, &quick, |program| run::timed(program, &capture.path, LIMIT))?;
    for (row, runs) in again.iter_mut().zip(timed) {
        row.times = runs.iter().map(|run| run.time).collect();
        if let Some(other) = runs.iter().find(|run| run.outcome != Outcome::Done) {
            row.outcome = other.outcome;
        }
    }
    Ok(rows)
}
