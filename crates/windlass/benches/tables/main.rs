//! Speed of `windlass explain --parquet`, compared with `explain --json` over the same files.
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
mod peers;
#[path = "../common/program.rs"]
mod program;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use captures::Captures;
use common::{Bench, Bound, Part, bytes_in, in_turn, median};
use program::windlass;

/// Of the speed of `--json` the tables have so much at least.
const SPEED: f64 = 0.9;

/// Two processors explain many files so much faster than one.
const TWO: f64 = 1.8;

/// Copies of the corpus if many files are wanted.
const TIMES: usize = 8;

const PARTS: [&str; 7] = ["corpus", "several", "a", "b", "b-cold", "cores", "peers"];

/// A terabyte, in bytes.
const TERABYTE: f64 = 1e12;

fn main() -> ExitCode {
    Bench::run("tables", &[], &PARTS, measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let runs = bench.asked.runs(7, 3);
    let captures = Captures::new(folder(), bench.asked.quick);
    for name in bench.wanted() {
        let (files, about) = match name {
            "cores" => {
                let part = cores(runs)?;
                bench.tell(part);
                continue;
            }
            "peers" => {
                let Some(python) = peers::python().filter(|_| peers::has_tshark()) else {
                    eprintln!("skipped: peers: tshark, or a Python with DuckDB, is not there");
                    continue;
                };
                bench.compares(["tshark"]);
                let part = peers::compare(&captures.make("a")?, &python, bench.asked.runs(3, 1))?;
                bench.tell(part);
                continue;
            }
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
                let capture = captures.make(name.trim_end_matches("-cold"))?;
                let cold = if is_cold(name) { ", read from the disk" } else { "" };
                (vec![capture.path.clone()], capture.about() + cold)
            }
        };
        let part = compare(name, &files, &about, runs)?;
        bench.tell(part);
    }
    Ok(())
}

/// Returns the folder of the captures: below cargo's own folder, wherever that is.
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

/// Returns whether the files of a part come from the disk, and not from the system's cache.
fn is_cold(part: &str) -> bool {
    part.ends_with("-cold")
}

/// Has the system forget a file that it read.
fn forget(file: &Path) -> Result<()> {
    let mut dd = Command::new("dd");
    // So the manual of dd: of no bytes, it is the whole file's cache that is dropped.
    done(dd.arg(format!("if={}", file.display())).args(["iflag=nocache", "count=0"]))
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

/// Way in which many files are explained.
#[derive(Clone, Copy, Debug)]
enum On {
    One,
    All,
    /// A program for each processor, with its part of the files: what the machine's processors can
    /// do at once where they share nothing of a program's.
    Programs,
}

/// Many files on one processor and on all.
fn cores(runs: usize) -> Result<Part> {
    let folder = tempfile::tempdir()?;
    let mut files = Vec::new();
    let mut bytes = 0;
    for (number, path) in corpus()?.iter().enumerate() {
        for time in 0..TIMES {
            // No time is spent on unpacking.
            let to = folder.path().join(format!("{number}-{time}.pcap"));
            let packed = fs::File::open(path)?;
            let mut whole = Vec::new();
            flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut whole)?;
            // Nobody reads that field of a pcap's header: files that differ, and say the same.
            whole[12] = u8::try_from(time)?;
            fs::write(&to, &whole)?;
            bytes += whole.len() as u64;
            files.push(to);
        }
    }
    let all = thread::available_parallelism()?.get();
    let explain = |processor: Option<usize>, files: &[&PathBuf]| {
        let mut command = match processor {
            Some(processor) => {
                let mut taskset = Command::new("taskset");
                taskset.args(["-c", &processor.to_string()]).arg(windlass().get_program());
                taskset
            }
            None => windlass(),
        };
        let tables = folder.path().join(format!("tables-{}", processor.unwrap_or(0)));
        command.args(["explain", "--force", "--parquet"]).arg(tables).args(files);
        command
    };
    let every: Vec<&PathBuf> = files.iter().collect();
    let parts: Vec<Vec<&PathBuf>> =
        (0..all).map(|first| every.iter().copied().skip(first).step_by(all).collect()).collect();
    let once = |on: &On| -> Result<f64> {
        let began = Instant::now();
        match on {
            On::One => done(&mut explain(Some(0), &every))?,
            On::All => done(&mut explain(None, &every))?,
            On::Programs => thread::scope(|scope| {
                let each = |(processor, part)| {
                    let mut command = explain(Some(processor), part);
                    scope.spawn(move || done(&mut command))
                };
                let programs: Vec<_> =
                    parts.iter().map(Vec::as_slice).enumerate().map(each).collect();
                programs
                    .into_iter()
                    .try_for_each(|one| one.join().unwrap_or_else(|_| bail!("lost")))
            })?,
        }
        Ok(began.elapsed().as_secs_f64())
    };
    let ways = [On::One, On::All, On::Programs];
    let times = in_turn(runs, &ways, once)?;
    let about = format!(
        "{} captures of headers, {} MB, medians of {runs}",
        files.len(),
        common::grouped(bytes as f64 / 1e6)
    );
    let mut part = Part::new("cores", about, &["processors", "time", "MB/s", "a terabyte takes"]);
    let mut medians = Vec::new();
    let names = ["1".to_owned(), all.to_string(), format!("{all}, a program on each")];
    for (name, times) in names.into_iter().zip(times) {
        let time = median(times).context("nothing was run")?;
        let rate = bytes as f64 / time;
        part.row([
            name,
            format!("{time:.2} s"),
            format!("{:.0}", rate / 1e6),
            format!("{:.0} min", TERABYTE / rate / 60.0),
        ]);
        medians.push(time);
    }
    let bound = (all == 2).then_some(Bound::Least(TWO));
    part.figure("speed of one", medians[0] / medians[1], bound);
    part.figure("speed of one, a program on each", medians[0] / medians[2], None);
    Ok(part)
}

fn compare(name: &'static str, files: &[PathBuf], about: &str, runs: usize) -> Result<Part> {
    let out = tempfile::tempdir()?;
    let tables = out.path().join("tables");
    let once = |way: &Way| -> Result<f64> {
        if is_cold(name) {
            files.iter().try_for_each(|file| forget(file))?;
        }
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
    // the analyser passes over most, while the hash takes all. From a disk both wait for it.
    let bound = (files.len() > 1 || is_cold(name)).then_some(Bound::Least(SPEED));
    part.figure("speed of --json", medians[0] / medians[1], bound);
    part.note(format!("the tables have {} kB", bytes_in(&tables)? / 1_000));
    Ok(part)
}
