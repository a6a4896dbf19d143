//! Processor time of `windlass top` with 10,000 open TCP sockets and a look per second, and of
//! `windlass exporter`, asked every five seconds.
//!
//!     cargo bench -p windlass --bench top
//!     cargo bench -p windlass --bench top -- --seconds 60
//!
//! The sockets are both ends of connections over the loopback, which this bench holds. It prints
//! the share of one processor from the first interval on, and its bound: 1 %.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has peers")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{ChildStdout, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use common::{Bench, Bound, OwnOption, Part, median};
use program::{RunningChild, windlass};
use windlass_sys::limits::raise_open_files;

const OWN: [OwnOption; 2] = [
    OwnOption("--seconds", "N", "how long each run takes; 20 without it"),
    OwnOption("--sockets", "N", "how many are open; 10,000 without it"),
];

const KNOWN: [&str; 2] = ["share", "exporter"];

/// Interval between two requests to an exporter: Prometheus asks every 15 to 60 s.
const ASKED: Duration = Duration::from_secs(5);

/// The most that it may take of one processor, in %.
const BOUND: f64 = 1.0;

/// Active connections in each case.
const MOVING: [usize; 3] = [0, 100, 500];
const PIECE: [u8; 1_000] = [1; 1_000];
const EVERY: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    Bench::run("top", &OWN, &KNOWN, |bench| {
        let seconds = bench.asked.number("--seconds", 20, 5);
        let sockets = bench.asked.number("--sockets", 10_000, 10_000);
        let runs = bench.asked.runs(3, 1);
        let about = format!(
            "{sockets} sockets, a look a second: the share of one processor, the median of {runs} × \
             {seconds} s"
        );
        let open = OpenConnections::new(usize::try_from(sockets)? / 2)?;
        let time = Duration::from_secs(seconds);
        if bench.asked.wants("exporter") {
            bench.tell(exporter(&open, runs, time, sockets)?);
        }
        if !bench.asked.wants("share") {
            return Ok(());
        }
        let mut part = Part::new("share", about, &["", "of one processor", "records with all"]);
        let mut most = 0.0;
        for moving in MOVING {
            let measured = (0..runs).map(|_| open.measured(moving, || run(time)));
            let measured: Vec<LoadResult> = measured.collect::<Result<_>>()?;
            let share = median(measured.iter().map(|it| it.percent)).unwrap_or(f64::NAN);
            let whole = median(measured.iter().map(|it| it.whole)).unwrap_or(f64::NAN);
            part.row([
                format!("{moving} connections move"),
                format!("{share:.2} %"),
                format!("{:.0} %", whole * 100.0),
            ]);
            most = f64::max(most, share);
        }
        part.figure("the most, in % of one processor", most, Some(Bound::Most(BOUND)));
        bench.tell(part);
        anyhow::Ok(())
    })
}

/// A run.
struct LoadResult {
    /// The share of one processor.
    percent: f64,
    /// The share of looks that were at all connections.
    whole: f64,
}

/// Connections, each with both of its ends.
struct OpenConnections(Vec<(TcpStream, TcpStream)>);

impl OpenConnections {
    fn new(connections: usize) -> Result<Self> {
        let files = raise_open_files();
        ensure!(files > 2 * connections as u64 + 100, "a process may have {files} files open");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let to = listener.local_addr()?;
        let connect = |_| anyhow::Ok((TcpStream::connect(to)?, listener.accept()?.0));
        Ok(Self((0..connections).map(connect).collect::<Result<_>>()?))
    }

    /// Measures a run while this many connections are active.
    fn measured<T>(&self, moving: usize, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut got = [0; PIECE.len()];
                while !is_over.load(Ordering::Relaxed) {
                    for (near, far) in self.0.iter().take(moving) {
                        // What ends is seen by the figures.
                        let _ =
                            (&*near).write_all(&PIECE).and_then(|()| (&*far).read_exact(&mut got));
                    }
                    sleep(EVERY);
                }
            });
            let measured = run();
            is_over.store(true, Ordering::Relaxed);
            measured
        })
    }
}

/// Measures an exporter.
fn exporter(open: &OpenConnections, runs: usize, time: Duration, sockets: u64) -> Result<Part> {
    let about = format!(
        "{sockets} sockets, asked every {} s: the share of one processor, the median of {runs} × {} s",
        ASKED.as_secs(),
        time.as_secs()
    );
    let mut part = Part::new("exporter", about, &["", "of one processor"]);
    let mut most = 0.0;
    for moving in MOVING {
        let measured = (0..runs).map(|_| open.measured(moving, || exported(time)));
        let measured: Vec<f64> = measured.collect::<Result<_>>()?;
        let share = median(measured).unwrap_or(f64::NAN);
        part.row([format!("{moving} connections move"), format!("{share:.2} %")]);
        most = f64::max(most, share);
    }
    part.figure("the most, in % of one processor", most, Some(Bound::Most(BOUND)));
    Ok(part)
}

/// The share of a run, by what the exporter itself tells of its processors.
fn exported(time: Duration) -> Result<f64> {
    let mut command = windlass();
    command.args(["exporter", "--listen", "127.0.0.1:0"]);
    let mut running = RunningChild(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?);
    let mut lines = BufReader::new(running.0.stdout.take().context("it has an output")?);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let address =
        line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.with_context(|| format!("it says {line:?}"))?;
    let (began, before) = (Instant::now(), asked(address)?);
    while began.elapsed() < time {
        sleep(ASKED.min(time));
        asked(address)?;
    }
    Ok((asked(address)? - before) / began.elapsed().as_secs_f64() * 100.0)
}

/// Asks an exporter; what it took of processors so far, in seconds.
fn asked(address: &str) -> Result<f64> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let of = |line: &str| line.strip_prefix("windlass_exporter_cpu_seconds_total ")?.parse().ok();
    text.lines().find_map(of).context("it does not tell what it takes")
}

fn run(time: Duration) -> Result<LoadResult> {
    let mut command = windlass();
    command.args(["top", "--json", "--rows", "40"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = RunningChild(command.spawn()?);
    let mut lines = BufReader::new(running.0.stdout.take().context("it has an output")?);
    // Its start is no part of it.
    record(&mut lines)?;
    let (began, before) = (Instant::now(), spent(running.0.id())?);
    let (mut looks, mut whole) = (0_u32, 0_u32);
    while began.elapsed() < time {
        let record = record(&mut lines)?;
        looks += 1;
        whole += u32::from(record["looked_at_all_seconds_ago"] == 0.0);
    }
    let spent = spent(running.0.id())?.saturating_sub(before);
    let percent = spent.as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    Ok(LoadResult { percent, whole: f64::from(whole) / f64::from(looks.max(1)) })
}

fn record(lines: &mut BufReader<ChildStdout>) -> Result<serde_json::Value> {
    let mut line = String::new();
    lines.read_line(&mut line)?;
    serde_json::from_str(&line).with_context(|| format!("it says {line:?}"))
}

/// Returns the processor time of a process (`/proc/PID/schedstat`, in nanoseconds). It has one
/// thread.
fn spent(pid: u32) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.context("no time in schedstat")?))
}
