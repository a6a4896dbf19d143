//! Round trips of 64 bytes over loopback: `windlass ping --latency` beside
//! sockperf, both ends of each pinned alike, in turn.
//!
//!     cargo bench -p windlass --bench ping
//!     cargo bench -p windlass --bench ping -- --runs 9 --seconds 3
//!
//! It prints medians over the runs, and what the bound is: the median trip is no
//! more than 5 % above sockperf's best.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has peers")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use common::{Bench, Bound, OwnOption, Part, in_turn, median};
use program::{RunningChild, is_there, number};
use serde_json::Value;

const OWN: [OwnOption; 1] = [OwnOption("--seconds", "N", "how long each run takes; 2 without it")];

const KNOWN: [&str; 2] = ["one-cpu", "two-cpus"];

/// Maximum ratio of the median trip to sockperf's best.
const BOUND: f64 = 1.05;

/// The processors of client and server.
const PLACEMENTS: [(&str, &str, usize, usize); 2] = [
    ("one-cpu", "both ends on CPU 0", 0, 0),
    ("two-cpus", "client on CPU 0, server on CPU 1", 0, 1),
];

/// Measured tools: name, true for windlass, and further arguments.
const TOOLS: [(&str, bool, &[&str]); 4] = [
    ("windlass ping --latency", true, &[]),
    ("windlass ping --latency --asleep", true, &["--asleep"]),
    ("sockperf ping-pong --tcp", false, &[]),
    ("sockperf ping-pong --tcp --nonblocked", false, &["--nonblocked"]),
];

fn main() -> ExitCode {
    Bench::run("ping", &OWN, &KNOWN, |bench| {
        let runs = bench.asked.runs(5, 1);
        let seconds = bench.asked.number("--seconds", 2, 1);
        bench.compares(["sockperf"]);
        for (name, about, client, server) in PLACEMENTS {
            if bench.asked.wants(name) {
                let about = format!("{about}, medians of {runs} × {seconds} s");
                bench.tell(placement(name, about, [client, server], runs, seconds)?);
            }
        }
        anyhow::Ok(())
    })
}

/// The median trip, and what 99 of 100 took at most, in microseconds.
#[derive(Clone, Copy)]
struct Trips {
    p50: f64,
    p99: f64,
}

fn placement(
    name: &'static str,
    about: String,
    [client, server]: [usize; 2],
    runs: usize,
    seconds: u64,
) -> Result<Part> {
    let has_peer = is_there("sockperf");
    let tools: Vec<_> = TOOLS.iter().filter(|(_, is_ours, _)| *is_ours || has_peer).collect();
    let measured = in_turn(runs, &tools, |(_, is_ours, more)| {
        if *is_ours {
            windlass(client, server, seconds, more)
        } else {
            sockperf(client, server, seconds, more)
        }
    })?;
    let mut part = Part::new(name, about, &["", "p50", "p99"]);
    let mut medians = Vec::new();
    for ((name, _, _), all) in tools.iter().zip(&measured) {
        let of = |figure: fn(&Trips) -> f64| median(all.iter().map(figure)).unwrap_or(f64::NAN);
        let trips = Trips { p50: of(|trips| trips.p50), p99: of(|trips| trips.p99) };
        part.row([
            (*name).to_owned(),
            format!("{:.2} µs", trips.p50),
            format!("{:.2} µs", trips.p99),
        ]);
        medians.push(trips.p50);
    }
    if let [busy, asleep, blocked, nonblocked] = medians[..] {
        let best = blocked.min(nonblocked);
        part.figure("p50 over the best of sockperf", busy / best, Some(Bound::Most(BOUND)));
        part.figure("asleep over sockperf, which sleeps as well", asleep / blocked, None);
    }
    Ok(part)
}

/// Starts a server on a processor and a free port, and waits until it listens.
fn server(cpu: usize, program: &str, arguments: &[&str]) -> Result<(RunningChild, String)> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let port = free.port().to_string();
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), program]).args(arguments).args(["-p", &port]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = RunningChild(command.spawn().context("cannot run taskset")?);
    let until = Instant::now() + Duration::from_secs(10);
    // In the system's table: sockperf takes a connection for a client.
    while !listens(free)? {
        ensure!(Instant::now() < until, "{program} does not listen");
        sleep(Duration::from_millis(20));
    }
    Ok((server, port))
}

/// Returns whether a program listens on a port, on any address (proc(5), tcp: state 0A).
fn listens(on: SocketAddr) -> Result<bool> {
    let port = format!(":{:04X}", on.port());
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    Ok(tables.iter().flatten().flat_map(|table| table.lines()).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(1).is_some_and(|own| own.ends_with(&port)) && words.get(3) == Some(&"0A")
    }))
}

fn windlass(client: usize, on: usize, seconds: u64, more: &[&str]) -> Result<Trips> {
    let program = env!("CARGO_BIN_EXE_windlass");
    let (_server, port) = server(on, program, &["serve", "--bind", "127.0.0.1"])?;
    let output = Command::new(program)
        .args(["ping", &format!("127.0.0.1:{port}"), "--latency", "--json", "--size", "64"])
        .args(["--cpu", &client.to_string(), "--time", &format!("{seconds}s")])
        .args(more)
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let figure = |pointer: &str| anyhow::Ok(number(&report, pointer)? * 1e6);
    Ok(Trips { p50: figure("/trip_seconds/p50")?, p99: figure("/trip_seconds/p99")? })
}

fn sockperf(client: usize, on: usize, seconds: u64, more: &[&str]) -> Result<Trips> {
    let (_server, port) = {
        let mut arguments = vec!["server", "--tcp", "-i", "127.0.0.1"];
        arguments.extend(more);
        server(on, "sockperf", &arguments)?
    };
    let output = Command::new("taskset")
        .args(["-c", &client.to_string(), "sockperf", "ping-pong", "--tcp", "-i", "127.0.0.1"])
        .args(["-p", &port, "-m", "64", "--full-rtt", "-t", &seconds.to_string()])
        .args(more)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // sockperf: ---> percentile 50.000 =   38.643
    let figure = |share: &str| {
        let line = said.lines().find(|line| line.contains(&format!("percentile {share}")));
        let value = line.and_then(|line| line.rsplit('=').next());
        let value = value.with_context(|| format!("no percentile {share} in {said}"))?;
        anyhow::Ok(value.trim().parse::<f64>()?)
    };
    Ok(Trips { p50: figure("50.000")?, p99: figure("99.000")? })
}
