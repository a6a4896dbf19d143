//! How many jobs `windlass spool load` can hand over: to a server that reads them
//! and answers, and does nothing else.
//!
//!     cargo bench -p windlass --bench load
//!     cargo bench -p windlass --bench load -- --quick
//!
//! Each run is the program as a whole. The figures are those of its reports;
//! read the medians.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use serde_json::Value;

/// So often each load is run.
const RUNS: usize = 3;

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(|| serve(stream.unwrap()));
        }
    });
    println!("{:<28} {:>12} {:>12} {:>14}", "load", "jobs/s", "MB/s", "CPU per job");
    for (size, jobs) in [("10000", 50_000), ("1011712", 15_000)] {
        for connections in [1, 2, 8] {
            let jobs = if quick { jobs / 10 } else { jobs };
            let mut runs: Vec<(f64, f64, f64)> =
                (0..RUNS).map(|_| load(port, size, jobs, connections)).collect();
            runs.sort_by(|one, other| one.0.total_cmp(&other.0));
            let (rate, bytes, cpu) = runs[RUNS / 2];
            let name = format!("{size} B, {connections} at once");
            println!("{name:<28} {rate:>12.0} {bytes:>12.0} {:>11.1} µs", cpu * 1e6);
        }
    }
}

/// Jobs and megabytes per second, and the processor time of a job.
fn load(port: u16, size: &str, jobs: u64, connections: u32) -> (f64, f64, f64) {
    let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["spool", "load", "--json", "--no-wait", "--payload", "random"])
        .args(["--jobs", &jobs.to_string(), "--size", size])
        .args(["--connections", &connections.to_string()])
        .arg(format!("ipp://127.0.0.1:{port}/printers/dummy{{0..279}}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["counts"]["acknowledged"], jobs);
    let queue = &report["queue"];
    let number = |name: &str| queue[name].as_f64().unwrap();
    let cpu = (number("user_seconds") + number("system_seconds")) / jobs as f64;
    (number("jobs_per_second"), number("bytes_per_second") / 1e6, cpu)
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
