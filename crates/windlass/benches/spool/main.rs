//! Speed of `windlass spool serve`, compared with cupsd.
//!
//!     cargo bench -p windlass --bench spool
//!     cargo bench -p windlass --bench spool -- --runs 1 --jobs 3000 --only held,at-once
//!
//! Each round runs every case on both servers, in turn, with jobs from the same
//! program, so that a machine that gets slower does so for both. Figures are
//! medians over the rounds, ratios the medians of the rounds' own. cupsd takes
//! root. All traffic stays on the loopback; the spools are folders of the same
//! disk, removed at the end.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has peers")]

mod case;
mod ceiling;
#[path = "../common/mod.rs"]
mod common;
mod cupsd;
mod load;
mod ours;
#[path = "../common/program.rs"]
mod program;
mod server;
mod sink;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use case::{CASES, KNOWN};
use common::{Bench, OwnOption, in_turn};
use server::Kind;

const OWN: [OwnOption; 2] = [
    OwnOption("--jobs", "N", "jobs of 1 MB in a case; 15,000 without it, others in proportion"),
    OwnOption(
        "--folder",
        "FOLDER",
        "where spools are; else the system's folder for temporary files",
    ),
];

/// Requested size of the bench.
struct BenchSize {
    jobs: u64,
    folder: PathBuf,
}

fn main() -> ExitCode {
    Bench::run("spool", &OWN, &KNOWN, measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let runs = bench.asked.runs(3, 1);
    let folder = bench.asked.value("--folder").map_or_else(std::env::temp_dir, PathBuf::from);
    let wanted = BenchSize { jobs: bench.asked.number("--jobs", 15_000, 300), folder };
    let has_cups = cupsd::can_run();
    if let Err(why) = &has_cups {
        println!("cupsd is left out: {why}");
    }
    bench.compares(["cupsd"]);
    // Each round has every case on both servers.
    let all: Vec<_> = CASES
        .iter()
        .filter(|case| bench.asked.wants(case.name))
        // What is large whatever is asked for.
        .filter(|case| !bench.asked.quick || case.name != "many")
        .flat_map(|case| [(case, Kind::Ours), (case, Kind::Cupsd)])
        .filter(|(case, kind)| *kind == Kind::Ours || (has_cups.is_ok() && case.has_peer))
        .collect();
    let measured = in_turn(runs, &all, |(case, kind)| {
        eprintln!("{}, {}", case.name, kind.name());
        let figures = case.run(*kind, &wanted)?;
        for figure in &figures {
            eprintln!("  {:<28} {}", figure.name, figure.text());
        }
        anyhow::Ok(figures)
    })?;
    for case in &CASES {
        let of = |wanted: Kind| {
            let place = all.iter().position(|(one, kind)| one.name == case.name && *kind == wanted);
            place.map_or(&[][..], |place| &measured[place])
        };
        if !of(Kind::Ours).is_empty() {
            bench.tell(case.part(runs, wanted.jobs, of(Kind::Ours), of(Kind::Cupsd)));
        }
    }
    Ok(())
}
