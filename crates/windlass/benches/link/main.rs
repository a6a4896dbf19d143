//! Effect of the emulated link's settings, measured by stock iperf3 and ping, with bounds.
//!
//!     cargo bench -p windlass --bench link
//!     cargo bench -p windlass --bench link -- --seconds 3
//!
//! A busy machine shows in `late`, which is the emulator's own lateness.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use common::{Bench, OwnOption, Part};
use program::{number, windlass};
use serde_json::Value;

const OWN: [OwnOption; 1] =
    [OwnOption("--seconds", "N", "how long each transfer takes; 10 without it")];

const KNOWN: [&str; 4] = ["10mbit", "100mbit", "100mbit-64k", "1gbit"];

/// A link that is measured.
struct Setup {
    name: &'static str,
    rate: &'static str,
    bits_per_second: f64,
    rtt: &'static str,
    rtt_seconds: f64,
    queue: Option<&'static str>,
    /// The least share of the rate that a transfer must reach; none where it is
    /// only stated.
    least: Option<f64>,
}

const PATHS: [Setup; 4] = [
    Setup {
        name: "10mbit",
        rate: "10mbit",
        bits_per_second: 1e7,
        rtt: "40ms",
        rtt_seconds: 0.04,
        queue: None,
        least: Some(0.9),
    },
    Setup {
        name: "100mbit",
        rate: "100mbit",
        bits_per_second: 1e8,
        rtt: "2.45ms",
        rtt_seconds: 0.002_45,
        queue: None,
        least: Some(0.9),
    },
    Setup {
        name: "100mbit-64k",
        rate: "100mbit",
        bits_per_second: 1e8,
        rtt: "2.45ms",
        rtt_seconds: 0.002_45,
        queue: Some("64k"),
        least: Some(0.9),
    },
    Setup {
        name: "1gbit",
        rate: "1gbit",
        bits_per_second: 1e9,
        rtt: "2.55ms",
        rtt_seconds: 0.002_55,
        queue: None,
        least: None,
    },
];

/// Maximum difference of the idle round trip, as a share.
const RTT_SHARE: f64 = 0.05;
const RTT_SECONDS: f64 = 100e-6;

/// Time that the emulator may add to a full queue.
const SLACK_SECONDS: f64 = 0.001;

fn main() -> ExitCode {
    Bench::run("link", &OWN, &KNOWN, measure)
}

fn measure(bench: &mut Bench) -> Result<()> {
    let seconds = bench.asked.number("--seconds", 10, 2);
    bench.compares(["iperf3", "ping"]);
    let wanted = bench.wanted();
    for path in PATHS.iter().filter(|path| wanted.contains(&path.name)) {
        let queue = path.queue.unwrap_or("one bandwidth-delay product");
        let about =
            format!("{}, {}, a queue of {queue}; transfers of {seconds} s", path.rate, path.rtt);
        let mut part = Part::new(path.name, about, &["", "measured", "bound"]);
        let idle = idle(path)?;
        let allowed = path.rtt_seconds * (1.0 + RTT_SHARE) + RTT_SECONDS;
        line(&mut part, "round trip, idle", &ms(idle), Some((ms(allowed), idle <= allowed)));
        loaded(path, seconds, &mut part)?;
        bench.tell(part);
    }
    Ok(())
}

/// A line of the table.
fn line(part: &mut Part, name: &str, measured: &str, bound: Option<(String, bool)>) {
    let bound = bound.map_or_else(|| "-".to_owned(), |(bound, holds)| part.bound(&bound, holds));
    part.row([name, measured, &bound]);
}

fn ms(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// The mean round trip of an idle link, as ping sees it.
fn idle(path: &Setup) -> Result<f64> {
    let ping = ["ping", "-q", "-c", "100", "-i", "0.01", "192.0.2.2"];
    let (stdout, _) = link(path, &[], &ping)?;
    mean(&stdout)
}

/// The mean of ping's last line: `rtt min/avg/max/mdev = 2.5/2.6/3.0/0.1 ms`.
fn mean(stdout: &str) -> Result<f64> {
    let figures = stdout.rsplit_once("= ").context("ping gave no times")?.1;
    let mean = figures.split('/').nth(1).context("ping gave no mean")?;
    Ok(mean.parse::<f64>()? / 1e3)
}

/// A transfer, and pings beside it.
fn loaded(path: &Setup, seconds: u64, part: &mut Part) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let said = folder.path().join("iperf3.json");
    let script = format!(
        "iperf3 -c 192.0.2.2 -C cubic -t {seconds} --json > {} & sleep 1; \
         ping -q -c {} -i 0.05 192.0.2.2; wait",
        said.display(),
        (seconds.saturating_sub(1) * 20).max(1)
    );
    let peer = ["--peer", "exec iperf3 -s -1 >/dev/null"];
    let (stdout, report) = link(path, &peer, &["sh", "-c", &script])?;
    let said: Value = serde_json::from_str(&std::fs::read_to_string(&said)?)?;
    let rate = number(&said, "/end/sum_received/bits_per_second")?;
    let share = rate / path.bits_per_second;
    let rate = format!("{:.1} Mbit/s", rate / 1e6);
    let least = path.least.map(|least| {
        let bound = format!("{:.1} Mbit/s", least * path.bits_per_second / 1e6);
        (bound, share >= least)
    });
    line(part, "transfer", &rate, least);

    let queue = number(&report, "/up/settings/queue_bytes")?;
    let high = number(&report, "/up/queue_high_water_bytes")?;
    line(
        part,
        "most in the queue",
        &format!("{high} B"),
        Some((format!("{queue} B"), high <= queue)),
    );
    let most = path.rtt_seconds + queue * 8.0 / path.bits_per_second + SLACK_SECONDS;
    let under_load = mean(&stdout)?;
    line(part, "round trip, loaded", &ms(under_load), Some((ms(most), under_load <= most)));
    for (name, pointer) in [
        ("emulator late, median", "/up/late_seconds/p50"),
        ("emulator late, 99 of 100", "/up/late_seconds/p99"),
        ("emulator late, most", "/up/late_seconds/max"),
    ] {
        line(part, name, &ms(number(&report, pointer)?), None);
    }
    for (name, pointer) in
        [("dropped by the queue", "/up/dropped_by_queue"), ("missed by the emulator", "/up/missed")]
    {
        line(part, name, &number(&report, pointer)?.to_string(), None);
    }
    Ok(())
}

/// Runs a command over the link; its output, and the link's report.
fn link(path: &Setup, options: &[&str], command: &[&str]) -> Result<(String, Value)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("report.json");
    let mut link = windlass();
    link.args(["link", "--json", "--report"]).arg(&file);
    link.args(["--rate", path.rate, "--rtt", path.rtt]);
    if let Some(queue) = path.queue {
        link.args(["--queue", queue]);
    }
    let output = link.args(options).arg("--").args(command).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {stderr}", command.join(" "));
    let report = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), report))
}
