//! Benchmark of a cluster: speedup of `add` with two executors over one. In one case each has its
//! own slow link to the captures; in the other all share one machine.
//!
//!     cargo bench --bench cluster
//!     cargo bench --bench cluster -- --quick --only throttled
//!
//! The bucket is a server of this benchmark. It gives each client a limited rate at a port of its
//! own, as a remote or busy storage does. Scheduler and executors are processes on loopback, with
//! one task at a time per executor.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench fails by panicking")]

#[path = "cluster/bucket.rs"]
mod bucket;
#[path = "../../crates/windlass/benches/common/mod.rs"]
mod common;
#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bucket::{Bucket, NAME};
use common::{Bench, Bound, OwnOption, Part, bytes_in, grouped, in_turn, median};
use serde_json::Value;
use support::archive;
use support::captures::{earlier, make, unpacked};
use support::cluster::{Cluster, Process};

/// Required speedup of two executors over one, with separate links.
const GAIN: f64 = 1.8;

/// Rate of a link in bytes per second, far below an executor's analysis rate.
const RATE: u64 = 20_000_000;

fn main() -> ExitCode {
    let captures =
        OwnOption("--captures", "N", "captures on this machine: ten thousand, unless told");
    Bench::run("cluster", &[captures], &["throttled", "machine"], measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    for name in bench.wanted() {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let part = match name {
            "throttled" => {
                let count = if bench.asked.quick { 100 } else { 400 };
                throttled(folder.path(), bench.asked.runs(3, 1), count)
            }
            _ => {
                let count = bench.asked.number("--captures", 10_000, 500);
                machine(folder.path(), bench.asked.runs(3, 1), count)
            }
        };
        bench.tell(part?);
    }
    Ok(())
}

/// Sets a link to the bucket in a process's environment.
fn behind<'a>(command: &'a mut Command, way: &str) -> &'a mut Command {
    command
        .env("AWS_ENDPOINT_URL", way)
        .env("AWS_ACCESS_KEY_ID", "bench")
        .env("AWS_SECRET_ACCESS_KEY", "bench")
        .env("AWS_REGION", "us-east-1")
}

/// Runs an `add`, and returns its duration and its record.
fn timed(command: &mut Command) -> Result<(f64, Value)> {
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    let seconds = began.elapsed().as_secs_f64();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "add has failed: {wrong}");
    Ok((seconds, serde_json::from_slice(&output.stdout)?))
}

/// Compares two executors with one, each with its own link to a bucket.
fn throttled(folder: &Path, runs: usize, count: u64) -> Result<Part> {
    let mut bucket = Bucket::default();
    let whole = unpacked("path-capacity-policer.snd");
    // The captures differ in their days, so that none is a copy.
    for day in 0..u32::try_from(count)? {
        bucket.put(format!("in/{day:05}.pcap"), earlier(whole.clone(), day));
    }
    let bytes = bucket.bytes();
    let list = bucket.serve(u64::MAX)?;
    let ways = [bucket.serve(RATE)?, bucket.serve(RATE)?];
    let round = |executors: &usize| -> Result<f64> {
        let folder = tempfile::tempdir_in(folder)?;
        let mut cluster = Cluster::start(&folder.path().join("work"), 0);
        for way in &ways[..*executors] {
            let executor = Process::start(behind(&mut cluster.executor(), way));
            cluster.executors.push(executor);
        }
        let into = folder.path().join("archive");
        let into = into.to_str().context("a path")?;
        let from = format!("s3://{NAME}/in");
        let mut add = cluster.command(["add", &from, "--into", into, "--json"]);
        let (seconds, told) = timed(behind(&mut add, &list))?;
        ensure!(told["explained"].as_u64() == Some(count), "not all came: {told}");
        Ok(seconds)
    };
    let told = in_turn(runs, &[1, 2], round)?;
    let about = format!(
        "{} captures, {} MB, of a bucket that gives each executor {} MB a second",
        grouped(count as f64),
        grouped(bytes as f64 / 1e6),
        grouped(RATE as f64 / 1e6)
    );
    let mut part = Part::new("throttled", about, &["executors", "s", "MB/s", "to one", "bound"]);
    let one = median(told[0].iter().copied()).context("no runs")?;
    for (executors, told) in ["1", "2"].into_iter().zip(&told) {
        let seconds = median(told.iter().copied()).context("no runs")?;
        let gain = one / seconds;
        let words = if executors == "1" {
            String::new()
        } else {
            part.bound(&format!("at least {GAIN}"), Bound::Least(GAIN).holds(gain))
        };
        part.row([
            executors.to_owned(),
            format!("{seconds:.1}"),
            format!("{:.1}", bytes as f64 / 1e6 / seconds),
            format!("{gain:.2}"),
            words,
        ]);
    }
    Ok(part)
}

/// Compares one process with one executor and with two, over local files.
fn machine(folder: &Path, runs: usize, count: u64) -> Result<Part> {
    let captures = folder.join("captures");
    make(&captures, usize::try_from(count)?);
    let round = |executors: &Option<usize>| -> Result<f64> {
        let folder = tempfile::tempdir_in(folder)?;
        let into = folder.path().join("archive");
        let (from, into) = (captures.to_str().context("a path")?, into.to_str().context("a path")?);
        let words = ["add", from, "--into", into, "--json"];
        let (seconds, told) = match executors {
            None => timed(archive().args(words))?,
            Some(executors) => {
                let cluster = Cluster::start(&folder.path().join("work"), *executors);
                timed(&mut cluster.command(words))?
            }
        };
        ensure!(told["found"].as_u64() == Some(count), "not all came: {told}");
        Ok(seconds)
    };
    let told = in_turn(runs, &[None, Some(1), Some(2)], round)?;
    let bytes = bytes_in(&captures)?;
    let about = format!(
        "{} captures, {} MB, on this machine's own disk",
        grouped(count as f64),
        grouped(bytes as f64 / 1e6)
    );
    let mut part = Part::new("machine", about, &["by", "s", "captures/s"]);
    for (by, told) in ["one process", "one executor", "two executors"].iter().zip(&told) {
        let seconds = median(told.iter().copied()).context("no runs")?;
        part.row([(*by).to_owned(), format!("{seconds:.1}"), grouped(count as f64 / seconds)]);
    }
    Ok(part)
}
