//! How fast `windlass explain --parquet` is, beside `explain --json` over the same files.
//!
//!     cargo bench -p windlass --bench tables
//!     cargo bench -p windlass --bench tables -- --quick --only corpus
//!
//! The large captures are those of the bench `explain`. Each time is of the program as a whole,
//! and both take turns; of several files `--json` is run once for each.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has peers")]

#[path = "../explain/captures.rs"]
mod captures;
#[path = "../common/mod.rs"]
mod common;
#[path = "../explain/conversation.rs"]
mod conversation;
#[path = "../common/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use captures::Captures;
use common::{Bench, Bound, Part, in_turn, median};
use program::windlass;

/// Of the speed of `--json` the tables have so much at least.
const SPEED: f64 = 0.9;

fn main() -> ExitCode {
    Bench::run("tables", &[], &["corpus", "several", "a", "b"], measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let runs = bench.asked.runs(7, 3);
    let captures = Captures::new(folder(), bench.asked.quick);
    for name in bench.wanted() {
        let (files, about) = match name {
            "corpus" => {
                let files = corpus()?;
                let about = format!("the {} captures of the corpus, packed", files.len());
                (files, about)
            }
            "several" => {
                let files = ["a", "c", "d", "e-gzip"].map(|name| captures.make(name));
                let files = files.into_iter().map(|one| Ok(one?.path)).collect::<Result<_>>()?;
                (files, "a, c, d and e-gzip of the bench explain".to_owned())
            }
            name => {
                let capture = captures.make(name)?;
                (vec![capture.path.clone()], capture.about())
            }
        };
        let part = compare(name, &files, &about, runs)?;
        bench.tell(part);
    }
    Ok(())
}

/// Where the captures are kept: below cargo's own folder, wherever that is.
fn folder() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    own.parent().unwrap_or(&own).join("bench-captures")
}

fn corpus() -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = entries.collect::<Result<Vec<PathBuf>, _>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "gz"));
    files.sort();
    Ok(files)
}

/// The ways to explain files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Json,
    Parquet,
}

fn done(command: &mut Command) -> Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().context("cannot start windlass")?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

fn compare(name: &'static str, files: &[PathBuf], about: &str, runs: usize) -> Result<Part> {
    let out = tempfile::tempdir()?;
    let tables = out.path().join("tables");
    let once = |way: &Way| -> Result<f64> {
        let began = Instant::now();
        match way {
            Way::Json => {
                for file in files {
                    done(windlass().args(["explain", "--json", "--all"]).arg(file))?;
                }
            }
            Way::Parquet => {
                let mut command = windlass();
                command.args(["explain", "--force", "--parquet"]).arg(&tables);
                done(command.args(files))?;
            }
        }
        Ok(began.elapsed().as_secs_f64())
    };
    let ways = [Way::Json, Way::Parquet];
    // The first run warms the files' pages.
    in_turn(1, &ways, once)?;
    let times = in_turn(runs, &ways, once)?;
    let mut part = Part::new(name, format!("{about}, medians of {runs}"), &["way", "time"]);
    let mut medians = Vec::new();
    for (words, times) in ["explain --json --all", "explain --parquet"].iter().zip(times) {
        let time = median(times).context("nothing was run")?;
        part.row([(*words).to_owned(), format!("{time:.3} s")]);
        medians.push(time);
    }
    // One file is hashed beside its analysis, where a processor is free; and of whole packets
    // the analyser passes over most, while the hash takes all.
    let bound = (files.len() > 1).then_some(Bound::Least(SPEED));
    part.figure("speed of --json", medians[0] / medians[1], bound);
    let sizes = fs::read_dir(&tables)?.map(|entry| entry.and_then(|entry| entry.metadata()));
    let bytes: u64 = sizes.map(|about| about.map_or(0, |about| about.len())).sum();
    part.note(format!("the tables have {} kB", bytes / 1_000));
    Ok(part)
}
