//! How fast `windlass explain` is, as a whole process, beside other programs
//! that read captures.
//!
//!     cargo bench -p windlass --bench explain
//!     cargo bench -p windlass --bench explain -- --quick --only a
//!
//! The captures are made once, in `target/bench-captures`. Programs take turns
//! on each capture, so that a busy machine slows all of them alike: read the
//! medians and the ratios.

mod captures;
mod conversation;
mod programs;
mod run;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use captures::{Capture, Captures};
use programs::Program;
use run::{Outcome, Run};
use table::Row;

/// Runs that are timed, of a program that is fast.
const RUNS: usize = 7;

/// The same with `--quick`.
const QUICK_RUNS: usize = 3;

/// A program that takes longer than this is run once.
const SLOW: Duration = Duration::from_secs(3);

/// A program that takes longer than this is stopped.
const LIMIT: Duration = Duration::from_secs(60);

const HELP: &str = "\
cargo bench -p windlass --bench explain -- [--quick] [--only NAME]... [--alone]

  --quick      a tenth of the packets and fewer runs
  --only NAME  this capture: a, b, c, c4, d, d4, e-pcapng or e-gzip; may be
               repeated
  --alone      windlass and cat, no other programs";

struct Wanted {
    quick: bool,
    alone: bool,
    only: Vec<String>,
}

impl Wanted {
    /// `None` where only the help is wanted.
    fn from_arguments() -> Result<Option<Self>> {
        let mut wanted = Self { quick: false, alone: false, only: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // cargo adds this one itself.
                "--bench" => {}
                "--quick" => wanted.quick = true,
                "--alone" => wanted.alone = true,
                "--only" => {
                    wanted
                        .only
                        .push(arguments.next().context("--only needs the name of a capture")?);
                }
                "--help" | "-h" => return Ok(None),
                other => bail!("unknown argument {other}\n{HELP}"),
            }
        }
        Ok(Some(wanted))
    }

    fn takes(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

fn main() -> Result<()> {
    let Some(wanted) = Wanted::from_arguments()? else {
        println!("{HELP}");
        return Ok(());
    };
    let known = Captures::NAMES;
    if let Some(name) = wanted.only.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("unknown capture {name}; there are {}", known.join(", "));
    }
    let programs: Vec<Program> = programs::all()
        .into_iter()
        .filter(|program| !wanted.alone || program.is_windlass() || program.name == "cat")
        .filter(|program| {
            let installed = program.is_installed();
            if !installed {
                println!("skipped: {}: it is not installed", program.name);
            }
            installed
        })
        .collect();
    let captures = Captures::new(folder(), wanted.quick);
    let mut linear = Vec::new();
    for name in known.into_iter().filter(|name| wanted.takes(name)) {
        let capture = captures.make(name)?;
        println!("\n{}: {}", name, capture.about());
        let rows = compare(&programs, &capture, &wanted)?;
        print!("{}", table::table(&rows, &capture));
        if matches!(name, "c" | "c4")
            && let Some(own) = rows.iter().find(|row| row.program == "windlass")
            && let Some(median) = own.median()
        {
            linear.push((capture.packets, median));
        }
    }
    if let [(few, short), (many, long)] = linear[..] {
        let packets = many as f64 / few as f64;
        println!(
            "\nlinear: {packets:.2} times the packets of a one-sided capture take {:.2} times as long",
            long.as_secs_f64() / short.as_secs_f64()
        );
    }
    Ok(())
}

/// Where the captures are kept: below cargo's own folder, wherever that is.
fn folder() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    own.parent().unwrap_or(&own).join("bench-captures")
}

/// Runs the programs in turn on one capture.
fn compare(programs: &[Program], capture: &Capture, wanted: &Wanted) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    // The first run warms the file's pages, shows the memory and tells which
    // programs are too slow to be run again.
    for program in programs {
        let Run { time, peak, outcome } = run::watched(program, &capture.path, LIMIT)?;
        let slow = time > SLOW || outcome != Outcome::Done;
        let times = if slow { vec![time] } else { Vec::new() };
        rows.push(Row { program: program.name, times, peak, outcome });
    }
    let again: Vec<bool> = rows.iter().map(|row| row.times.is_empty()).collect();
    for _ in 0..if wanted.quick { QUICK_RUNS } else { RUNS } {
        for ((program, row), _) in
            programs.iter().zip(&mut rows).zip(&again).filter(|(_, again)| **again)
        {
            let Run { time, outcome, .. } = run::timed(program, &capture.path, LIMIT)?;
            row.times.push(time);
            if outcome != Outcome::Done {
                row.outcome = outcome;
            }
        }
    }
    Ok(rows)
}
