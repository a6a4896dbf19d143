//! Agreement of verdicts between ways of measuring, and accuracy of promises: over every built-in
//! device, in real time, in networks that the runs make.
//!
//!     cargo bench -p windlass --bench devices
//!     cargo bench -p windlass --bench devices -- --only promises --changes 80 --seed 2
//!
//! It takes root (namespaces and TUN), and python3, nc and CUPS's backends for the senders
//! that are not windlass's own; those that are not there are skipped by name.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;
mod promises;
mod setup;
mod square;

use std::process::ExitCode;

use anyhow::Result;
use common::{Bench, OwnOption};

const OWN: [OwnOption; 2] = [
    OwnOption("--changes", "N", "how many changes are drawn; 56 without it"),
    OwnOption("--seed", "N", "what they are drawn from; 1 without it"),
];

const KNOWN: [&str; 2] = ["square", "promises"];

fn main() -> ExitCode {
    Bench::run("devices", &OWN, &KNOWN, measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let wanted = bench.wanted();
    if wanted.contains(&"square") {
        let part = square::measure(bench.asked.quick)?;
        bench.tell(part);
    }
    if wanted.contains(&"promises") {
        let changes = bench.asked.number("--changes", 56, 14);
        let seed = bench.asked.number("--seed", 1, 1);
        let part = promises::measure(changes, seed)?;
        bench.tell(part);
    }
    Ok(())
}
