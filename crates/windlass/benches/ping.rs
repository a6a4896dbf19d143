//! Round trips of 64 bytes over loopback: `windlass ping --latency` beside
//! sockperf, both ends of each pinned alike, in turn.
//!
//!     cargo bench -p windlass --bench ping
//!     cargo bench -p windlass --bench ping -- --runs 9 --seconds 3
//!
//! It prints medians over the runs, and what the bound is: the median trip is no
//! more than 5 % above sockperf's best.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

const HELP: &str = "\
cargo bench -p windlass --bench ping -- [--runs N] [--seconds N]

  --runs N     how often each is measured; 5 without it
  --seconds N  how long each run takes; 2 without it";

/// What the median trip may take of sockperf's best.
const BOUND: f64 = 1.05;

/// The processors of client and server.
const PLACEMENTS: [(&str, usize, usize); 2] =
    [("both ends on CPU 0", 0, 0), ("client on CPU 0, server on CPU 1", 0, 1)];

/// What is measured: its name, whether it is ours, and what it takes more.
const TOOLS: [(&str, bool, &[&str]); 4] = [
    ("windlass ping --latency", true, &[]),
    ("windlass ping --latency --asleep", true, &["--asleep"]),
    ("sockperf ping-pong --tcp", false, &[]),
    ("sockperf ping-pong --tcp --nonblocked", false, &["--nonblocked"]),
];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let (mut runs, mut seconds) = (5_usize, 2_u32);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // cargo adds this one itself.
            "--bench" => {}
            "--runs" => runs = arguments.next().context("--runs needs a number")?.parse()?,
            "--seconds" => {
                seconds = arguments.next().context("--seconds needs a number")?.parse()?;
            }
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(true);
            }
            other => bail!("unknown argument {other}\n{HELP}"),
        }
    }
    ensure!(runs > 0 && seconds > 0, "there is nothing to measure\n{HELP}");
    let mut held = true;
    for (name, client, server) in PLACEMENTS {
        println!("\n{name}: medians of {runs} runs of {seconds} s, in turn");
        held &= placement(client, server, runs, seconds)?;
    }
    Ok(held)
}

/// The median trip, and what 99 of 100 took at most, in microseconds.
#[derive(Clone, Copy)]
struct Trips {
    p50: f64,
    p99: f64,
}

fn placement(client: usize, server: usize, runs: usize, seconds: u32) -> Result<bool> {
    let mut measured = vec![Vec::new(); TOOLS.len()];
    for _ in 0..runs {
        for ((_, is_ours, more), all) in TOOLS.iter().zip(&mut measured) {
            let trips = if *is_ours {
                windlass(client, server, seconds, more)
            } else {
                sockperf(client, server, seconds, more)
            };
            all.push(trips?);
        }
    }
    println!("  {:<40} {:>10} {:>10}", "", "p50", "p99");
    let mut medians = Vec::new();
    for ((name, _, _), all) in TOOLS.iter().zip(&measured) {
        let of = |figure: fn(&Trips) -> f64| {
            let mut all: Vec<f64> = all.iter().map(figure).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let trips = Trips { p50: of(|trips| trips.p50), p99: of(|trips| trips.p99) };
        println!("  {name:<40} {:>7.2} µs {:>7.2} µs", trips.p50, trips.p99);
        medians.push(trips.p50);
    }
    let best = medians[2].min(medians[3]);
    let (awake, asleep) = (medians[0] / best, medians[1] / medians[2]);
    let verdict = if awake <= BOUND { "" } else { "  <- NOT HELD" };
    println!("  {:<40} {awake:>10.3} (bound {BOUND}){verdict}", "windlass / best of sockperf");
    println!("  {:<40} {asleep:>10.3}", "asleep / sockperf, which sleeps as well");
    Ok(awake <= BOUND)
}

/// A server that ends with its owner.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server on a processor and a free port, and waits until it listens.
fn server(cpu: usize, program: &str, arguments: &[&str]) -> Result<(Server, String)> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let port = free.port().to_string();
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), program]).args(arguments).args(["-p", &port]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Server(command.spawn().context("cannot run taskset")?);
    let until = Instant::now() + Duration::from_secs(10);
    // In the system's table: sockperf takes a connection for a client.
    while !listens(free)? {
        ensure!(Instant::now() < until, "{program} does not listen");
        sleep(Duration::from_millis(20));
    }
    Ok((server, port))
}

/// Whether somebody listens on a port, on any address (proc(5), tcp: state 0A).
fn listens(on: SocketAddr) -> Result<bool> {
    let port = format!(":{:04X}", on.port());
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    Ok(tables.iter().flatten().flat_map(|table| table.lines()).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(1).is_some_and(|own| own.ends_with(&port)) && words.get(3) == Some(&"0A")
    }))
}

fn windlass(client: usize, on: usize, seconds: u32, more: &[&str]) -> Result<Trips> {
    let program = env!("CARGO_BIN_EXE_windlass");
    let (_server, port) = server(on, program, &["serve", "--bind", "127.0.0.1"])?;
    let output = Command::new(program)
        .args(["ping", &format!("127.0.0.1:{port}"), "--latency", "--json", "--size", "64"])
        .args(["--cpu", &client.to_string(), "--time", &format!("{seconds}s")])
        .args(more)
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let figure = |pointer: &str| {
        let seconds = report.pointer(pointer).and_then(Value::as_f64);
        seconds.map(|seconds| seconds * 1e6).with_context(|| format!("no {pointer} in {report}"))
    };
    Ok(Trips { p50: figure("/trip_seconds/p50")?, p99: figure("/trip_seconds/p99")? })
}

fn sockperf(client: usize, on: usize, seconds: u32, more: &[&str]) -> Result<Trips> {
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
