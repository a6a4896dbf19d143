//! Time of `windlass runs list` over many runs, cost of keeping a run, and error rate of `windlass
//! runs compare`.
//!
//!     cargo bench -p windlass --bench runs
//!     cargo bench -p windlass --bench runs -- --stored 1000000
//!
//! The store is one that this bench fills; each time is of the program as a whole. The pairs are
//! of `windlass send` over `windlass link`: groups that differ in nothing, and one path that is a
//! tenth slower.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has peers")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use common::{Bench, OwnOption, Part, grouped, in_turn, median};
use flate2::Compression;
use flate2::write::GzEncoder;
use program::{is_there, windlass};
use serde_json::Value;
use windlass_base::Span;
use windlass_runs::{Run, RunId, Store};

const OWN: [OwnOption; 1] = [OwnOption("--stored", "N", "runs of the store; 100,000 without it")];

/// A list of 100,000 is to take no longer than this.
const LIST_SECONDS: f64 = 1.0;

fn main() -> ExitCode {
    Bench::run("runs", &OWN, &["list", "keep", "pairs"], measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let fewer = if bench.asked.quick { 10 } else { 1 };
    let runs = bench.asked.number("--stored", 100_000, 100_000) / fewer;
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("runs");
    for name in bench.wanted() {
        match name {
            "list" => {
                fill(&store, usize::try_from(runs)?)?;
                list(bench, &store, runs)?;
            }
            "keep" => keep(bench, folder.path())?,
            _ => pairs(bench, folder.path())?,
        }
    }
    Ok(())
}

/// Makes a store: one run that is kept, and the same again under other names and times. A first
/// list makes its index, as after a store was copied from elsewhere.
fn fill(folder: &Path, runs: usize) -> Result<()> {
    let kept = windlass().args(["lab", "imagen", "--store"]).arg(folder).output()?;
    ensure!(kept.status.success(), "{}", String::from_utf8_lossy(&kept.stderr));
    let store = Store::at(folder);
    let last = store.list()?.runs.remove(0).id;
    let first = store.find(last)?.context("no run was kept")?;
    for number in 1..runs {
        let start_time = first.start_time - Span::from_millis(1_000 * i64::try_from(number)?);
        let run = Run { id: RunId::by_chance()?, start_time, ..first.clone() };
        let text = start_time.to_string();
        let second = text[..19].replace(['-', ':'], "");
        let path = folder.join(format!("{}/{second}Z-{}.1.json.gz", &text[..7], run.id));
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let mut packed = GzEncoder::new(fs::File::create(path)?, Compression::fast());
        packed.write_all(&run.json()?)?;
        packed.finish()?;
    }
    ensure!(store.list()?.runs.len() == runs, "the store has not as many runs as it was given");
    Ok(())
}

fn list(bench: &mut Bench, store: &Path, runs: u64) -> Result<()> {
    let rounds = bench.asked.runs(9, 3);
    let commands: [&[&str]; 3] = [
        &["runs", "list"],
        &["runs", "list", "--all"],
        &["runs", "list", "--target", "printer.example", "--since", "2d", "--json"],
    ];
    let times = in_turn(rounds, &commands, |words| -> Result<f64> {
        let began = Instant::now();
        let output = windlass().args(*words).arg("--store").arg(store).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(began.elapsed().as_secs_f64())
    })?;
    let about = format!("a store of {} runs, medians of {rounds}", grouped(runs as f64));
    let mut part = Part::new("list", about, &["command", "time"]);
    for (words, times) in commands.iter().zip(times) {
        let time = median(times).unwrap_or(f64::NAN);
        let cell = format!("{time:.3} s");
        let cell = part.bound(&cell, time <= LIST_SECONDS || runs > 100_000);
        part.row([format!("windlass {}", words.join(" ")), cell]);
    }
    bench.tell(part);
    Ok(())
}

/// Runs a command with and without keeping, in turn.
fn keep(bench: &mut Bench, folder: &Path) -> Result<()> {
    let rounds = bench.asked.runs(41, 9);
    let store = folder.join("few");
    let times = in_turn(rounds, &[true, false], |is_kept| -> Result<f64> {
        let mut command = windlass();
        command.args(["lab", "imagen", "--json"]);
        if *is_kept {
            command.arg("--store").arg(&store)
        } else {
            command.arg("--no-save")
        };
        let began = Instant::now();
        let output = command.output()?;
        let time = began.elapsed().as_secs_f64();
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout)?;
        Ok(time)
    })?;
    let about = format!("windlass lab imagen, kept and not, medians of {rounds} in turn");
    let mut part = Part::new("keep", about, &["", "time"]);
    for (what, times) in ["kept, and on the disk", "--no-save"].into_iter().zip(times) {
        part.row([what.to_owned(), format!("{:.1} ms", median(times).unwrap_or(f64::NAN) * 1e3)]);
    }
    bench.tell(part);
    Ok(())
}

/// Runs in each group of a pair.
const REPEATS: usize = 10;
/// Pairs of groups that do not differ.
const PAIRS: usize = 20;
/// Of them so many may be said to differ.
const FALSE_ONES: usize = 1;

/// Sends over an emulated path, so many times, with a tag.
fn send(store: &Path, rate: &str, tag: &str, times: usize) -> Result<()> {
    let program = env!("CARGO_BIN_EXE_windlass");
    let once = format!(
        "'{program}' send 192.0.2.2 --time 500ms --store '{}' --tag {tag} > /dev/null",
        store.display()
    );
    let script = format!("for _ in $(seq {times}); do {once} || exit; done");
    let peer = format!("exec '{program}' serve > /dev/null");
    let mut link = windlass();
    link.args([
        "link", "--rate", rate, "--rtt", "10ms", "--peer", &peer, "--", "sh", "-c", &script,
    ]);
    let output = link.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Returns the claim about the rate of two groups.
fn claim(store: &Path, first: &str, second: &str) -> Result<String> {
    let mut compare = windlass();
    compare.args(["runs", "compare", first, second, "--json", "--store"]).arg(store);
    let output = compare.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout)?;
    let figures = record["figures"].as_array().context("it has no figures")?;
    let rate = figures.iter().find(|one| one["name"] == "rate").context("it has no rate")?;
    let change = &rate["changes"][1];
    let share = change["share"].as_f64().unwrap_or(f64::NAN);
    let p = change["p"].as_f64().unwrap_or(f64::NAN);
    Ok(format!("{} ({:+.1} %, p {p:.4})", change["claim"].as_str().unwrap_or("?"), share * 1e2))
}

fn pairs(bench: &mut Bench, folder: &Path) -> Result<()> {
    if !is_there("ip") {
        return Ok(());
    }
    let store = folder.join("pairs");
    let (pairs, repeats) = if bench.asked.quick { (4, 5) } else { (PAIRS, REPEATS) };
    let about = format!(
        "{pairs} pairs of {repeats} and {repeats} sends of 0.5 s over 50 Mbit/s x 10 ms, in turn"
    );
    let mut part = Part::new("pairs", about, &["pair", "claimed of the rate"]);
    send(&store, "50mbit", "same", pairs * repeats * 2)?;
    let runs: Vec<String> =
        Store::at(&store).list()?.runs.iter().map(|run| run.id.to_string()).collect();
    let mut false_ones = 0;
    for (number, pair) in runs.chunks_exact(repeats * 2).enumerate() {
        let every =
            |from: usize| pair.iter().skip(from).step_by(2).cloned().collect::<Vec<_>>().join(",");
        let claimed = claim(&store, &every(0), &every(1))?;
        if !claimed.starts_with("none") {
            false_ones += 1;
            part.row([format!("the same, {}", number + 1), claimed]);
        }
    }
    let said = format!("{false_ones} of {pairs} are said to differ");
    let said = part.bound(&said, false_ones <= FALSE_ONES);
    part.row(["the same".to_owned(), said]);
    for _ in 0..repeats {
        send(&store, "50mbit", "whole", 1)?;
        send(&store, "45mbit", "less", 1)?;
    }
    let claimed = claim(&store, "tag:whole", "tag:less")?;
    let claimed = part.bound(&claimed, claimed.starts_with("worse"));
    part.row(["a tenth slower".to_owned(), claimed]);
    bench.tell(part);
    Ok(())
}
