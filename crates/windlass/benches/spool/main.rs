//! How fast `windlass spool serve` is beside cupsd.
//!
//!     cargo bench -p windlass --bench spool
//!     cargo bench -p windlass --bench spool -- --runs 1 --jobs 3000 --only held,at-once
//!
//! Each round runs every case on both servers, in turn, with jobs from the same
//! program, so that a machine that gets slower does so for both. Figures are
//! medians over the rounds, ratios the medians of the rounds' own. cupsd takes root. All traffic stays on the loopback;
//! the spools are folders of the same disk, removed at the end.

mod case;
mod ceiling;
#[path = "../../tests/support/cups/config.rs"]
#[allow(unreachable_pub, reason = "the tests have it, too")]
mod config;
mod cupsd;
mod load;
mod ours;
mod server;
mod sink;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use case::{CASES, Case, Figure};
use server::Kind;

const HELP: &str = "\
cargo bench -p windlass --bench spool -- [--runs N] [--jobs N] [--only CASE,…] [--folder FOLDER]

  --runs N         rounds; 3 without it
  --jobs N         jobs of 1 MB in a case; 15,000 without it, others in proportion
  --only CASE,…    these cases alone
  --folder FOLDER  where spools are; the system's folder for temporary files without it";

/// What is asked for.
struct Wanted {
    runs: usize,
    jobs: u64,
    only: Vec<String>,
    folder: PathBuf,
}

fn main() -> ExitCode {
    match wanted().and_then(|wanted| wanted.map_or(Ok(true), |wanted| run(&wanted))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn wanted() -> Result<Option<Wanted>> {
    let folder = std::env::temp_dir();
    let mut wanted = Wanted { runs: 3, jobs: 15_000, only: Vec::new(), folder };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().with_context(|| format!("{argument} needs a value\n{HELP}"));
        match argument.as_str() {
            // cargo adds this one itself.
            "--bench" => {}
            "--runs" => wanted.runs = value()?.parse().context("--runs needs a number")?,
            "--jobs" => wanted.jobs = value()?.parse().context("--jobs needs a number")?,
            "--only" => wanted.only = value()?.split(',').map(str::to_owned).collect(),
            "--folder" => wanted.folder = PathBuf::from(value()?),
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(None);
            }
            other => bail!("unknown argument {other}\n{HELP}"),
        }
    }
    for name in &wanted.only {
        if !CASES.iter().any(|case| case.name == name) {
            let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
            bail!("there is no case {name}: there are {}", names.join(", "));
        }
    }
    Ok(Some(wanted))
}

/// Runs all, and tells whether every bound holds.
fn run(wanted: &Wanted) -> Result<bool> {
    let cases: Vec<&Case> = CASES
        .iter()
        .filter(|case| wanted.only.is_empty() || wanted.only.iter().any(|name| name == case.name))
        .collect();
    let has_cups = cupsd::can_run();
    if let Err(why) = &has_cups {
        println!("cupsd is left out: {why}");
    }
    let mut all: Vec<Vec<(Kind, Vec<Figure>)>> = cases.iter().map(|_| Vec::new()).collect();
    for round in 1..=wanted.runs {
        for (case, done) in cases.iter().zip(&mut all) {
            for kind in [Kind::Ours, Kind::Cupsd] {
                if kind == Kind::Cupsd && (has_cups.is_err() || !case.has_peer) {
                    continue;
                }
                eprintln!("round {round} of {}: {}, {}", wanted.runs, case.name, kind.name());
                let figures = case.run(kind, wanted)?;
                for figure in &figures {
                    eprintln!("  {:<28} {}", figure.name, figure.text());
                }
                done.push((kind, figures));
            }
        }
    }
    let mut holds = true;
    for (case, done) in cases.iter().zip(&all) {
        println!("\n{}: {}", case.name, case.what);
        holds &= case.tell(done);
    }
    Ok(holds)
}
