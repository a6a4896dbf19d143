//! Datagrams as fast as they go, beside iperf3.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::common::{self, Bound, Part, in_turn};
use crate::path::Path;
use crate::program::{Program, output, start};
use crate::programs::number;

/// The length of each: with its headers it fits a packet of 1,500 bytes.
const LENGTH: &str = "1400";

/// Ours over iperf3's, at the least.
const LEAST: f64 = 1.0;

/// Result of a run.
#[derive(Clone, Copy, Debug)]
struct RateResult {
    /// Rate received by the receiver's program.
    received: f64,
    sent: f64,
    lost: f64,
    /// Share of datagrams that arrived, of those that the receiver's kernel accepted.
    counted: f64,
}

/// Runs both over a path; their medians.
pub(crate) fn compare(
    name: &'static str,
    make: fn() -> Result<Path>,
    runs: usize,
    seconds: u64,
) -> Result<Part> {
    let programs: Vec<Program> =
        [Program::Windlass, Program::Iperf3].into_iter().filter(|program| program.can(1)).collect();
    let measured = in_turn(runs, &programs, |program| {
        let path = make()?;
        let before = path.octets_in()?;
        let one = run(*program, &path, seconds);
        let one = one.with_context(|| format!("{name}: {}", program.name()))?;
        let taken_in = (path.octets_in()? - before).max(1.0);
        let counted = one.received / 8.0 * seconds as f64 / taken_in;
        // The headers are in the kernel's count, and what the socket had no room for.
        ensure!(counted < 1.05, "{} tells of more than came", program.name());
        Ok(RateResult { counted, ..one })
    })?;
    let about =
        format!("datagrams of {LENGTH} B as fast as they go, medians of {runs} × {seconds} s");
    let columns = ["", "Gbit/s received", "Gbit/s sent", "lost", "of the kernel's"];
    let mut part = Part::new(name, about, &columns);
    let median = |place: usize, of: fn(&RateResult) -> f64| {
        common::median(measured[place].iter().map(of)).unwrap_or(0.0)
    };
    for (place, program) in programs.iter().enumerate() {
        part.row([
            program.name().to_owned(),
            format!("{:.2}", median(place, |one| one.received) / 1e9),
            format!("{:.2}", median(place, |one| one.sent) / 1e9),
            format!("{:.1} %", median(place, |one| one.lost) * 100.0),
            format!("{:.0} %", median(place, |one| one.counted) * 100.0),
        ]);
    }
    if programs.len() > 1 {
        let over = |of| median(0, of) / median(1, of);
        let received = over(|one| one.received);
        part.figure("received over iperf3", received, Some(Bound::Least(LEAST)));
        part.figure("sent over iperf3", over(|one| one.sent), Some(Bound::Least(LEAST)));
    }
    Ok(part)
}

fn run(program: Program, path: &Path, seconds: u64) -> Result<RateResult> {
    let time = seconds.to_string();
    let counted = 0.0;
    if program == Program::Windlass {
        let windlass = env!("CARGO_BIN_EXE_windlass");
        let mut server = path.receiver(windlass);
        server.args(["serve", "--port", "5302", "--once"]);
        let _server = start(server, true)?;
        let mut client = path.sender(windlass);
        client.args(["send", &path.address, "--port", "5302", "--json", "--udp", "--no-latency"]);
        client.args(["--rate", "400gbit", "--length", LENGTH, "--time", &format!("{time}s")]);
        let record: Value = serde_json::from_str(&output(client)?)?;
        let of = |what: &str| number(&record, &format!("/directions/0/{what}"));
        let lost = of("receiver/datagrams/lost")? / of("receiver/datagrams/sent")?;
        return Ok(RateResult {
            received: of("receiver/bytes_per_second")? * 8.0,
            sent: of("sender/bytes_per_second")? * 8.0,
            lost,
            counted,
        });
    }
    let mut server = path.receiver("iperf3");
    server.args(["-s", "-1", "-p", "5301"]);
    let _server = start(server, false)?;
    let mut client = path.sender("iperf3");
    client.args(["-c", &path.address, "-p", "5301", "-J", "-u", "-b", "0", "-l", LENGTH]);
    client.args(["-t", &time]);
    let record: Value = serde_json::from_str(&output(client)?)?;
    let of = |what: &str| number(&record, &format!("/end/{what}"));
    // Its `sum_received` has the bytes that were sent (3.12); what came is in the lost ones.
    let (sent, lost) = (of("sum/bits_per_second")?, of("sum/lost_percent")? / 100.0);
    Ok(RateResult { received: sent * (1.0 - lost), sent, lost, counted })
}
