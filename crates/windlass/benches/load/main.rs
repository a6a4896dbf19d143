//! Rate at which `windlass spool load` submits jobs to a server that only reads and answers them.
//!
//!     cargo bench -p windlass --bench load
//!     cargo bench -p windlass --bench load -- --quick
//!
//! Each run is the program as a whole. The figures are those of its reports;
//! read the medians.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has peers")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;

use anyhow::{Result, ensure};
use common::{Bench, Part, grouped, in_turn};
use program::{number, windlass};
use serde_json::Value;

const JOBS: [(u64, u64); 2] = [(10_000, 50_000), (1_011_712, 15_000)];

fn main() -> ExitCode {
    Bench::run("load", &[], &[], measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(|| serve(stream));
        }
    });
    let runs = bench.asked.runs(3, 1);
    let fewer = if bench.asked.quick { 10 } else { 1 };
    let loads: Vec<(u64, u64, u32)> = JOBS
        .into_iter()
        .flat_map(|(size, jobs)| [1, 2, 8].map(|connections| (size, jobs / fewer, connections)))
        .collect();
    let measured =
        in_turn(runs, &loads, |&(size, jobs, connections)| load(port, size, jobs, connections))?;
    let about = format!("jobs handed to a server that only reads and answers, medians of {runs}");
    let columns = ["jobs of", "connections", "jobs", "jobs/s", "MB/s", "processor a job"];
    let mut part = Part::new("load", about, &columns);
    for ((size, jobs, connections), mut runs) in loads.into_iter().zip(measured) {
        runs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (rate, bytes, cpu) = runs[runs.len() / 2];
        part.row([
            format!("{} B", grouped(size as f64)),
            connections.to_string(),
            grouped(jobs as f64),
            grouped(rate),
            grouped(bytes),
            format!("{:.1} µs", cpu * 1e6),
        ]);
    }
    bench.tell(part);
    Ok(())
}

/// Jobs and megabytes per second, and the processor time of a job.
fn load(port: u16, size: u64, jobs: u64, connections: u32) -> Result<(f64, f64, f64)> {
    let output = windlass()
        .args(["spool", "load", "--json", "--no-wait", "--payload", "random"])
        .args(["--jobs", &jobs.to_string(), "--size", &size.to_string()])
        .args(["--connections", &connections.to_string()])
        .arg(format!("ipp://127.0.0.1:{port}/printers/dummy{{0..279}}"))
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(report["counts"]["acknowledged"] == jobs, "not all jobs were taken: {report}");
    let of = |name: &str| number(&report, &format!("/queue/{name}"));
    let cpu = (of("user_seconds")? + of("system_seconds")?) / jobs as f64;
    Ok((of("jobs_per_second")?, of("bytes_per_second")? / 1e6, cpu))
}

/// Reads requests, and answers each: its number is all that is looked at.
fn serve(mut stream: TcpStream) -> Option<()> {
    let body = [
        &[2, 0, 0, 0, 0, 0, 0, 0, 1][..],
        b"\x47\x00\x12attributes-charset\x00\x05utf-8",
        b"\x48\x00\x1battributes-natural-language\x00\x02en",
        b"\x02\x21\x00\x06job-id\x00\x04\x00\x00\x00\x01\x03",
    ]
    .concat();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/ipp\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut answer = [head.as_bytes(), &body].concat();
    let (mut held, mut from, mut to) = (vec![0; 1 << 20], 0, 0);
    loop {
        held.copy_within(from..to, 0);
        to -= from;
        let end = loop {
            if let Some(at) = held[..to].windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            to += stream.read(&mut held[to..]).ok().filter(|got| *got > 0)?;
        };
        let text = String::from_utf8_lossy(&held[..end]);
        let length = text.split("Content-Length: ").nth(1)?.split("\r\n").next()?;
        let mut left: usize = length.parse().ok()?;
        from = end;
        while to - from < 8 {
            to += stream.read(&mut held[to..]).ok().filter(|got| *got > 0)?;
        }
        answer[head.len() + 4..head.len() + 8].copy_from_slice(&held[from + 4..from + 8]);
        loop {
            let taken = left.min(to - from);
            (left, from) = (left - taken, from + taken);
            if left == 0 {
                break;
            }
            to = stream.read(&mut held).ok().filter(|got| *got > 0)?;
            from = 0;
        }
        stream.write_all(&answer).ok()?;
    }
}
