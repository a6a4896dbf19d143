//! tcptrace's long listing, by connection and direction.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Rule::{Near, NoLess, Same};
use crate::{ComparedFigure, Connections, ours};
use windlass_testkit::captures::name;

/// A connection of the listing: its ends, and its figures by direction.
#[derive(Default)]
struct ListedConnection {
    ends: Vec<String>,
    figures: [HashMap<String, f64>; 2],
}

/// A plain copy of a compressed capture: tcptrace reads no other.
fn plain(file: &Path, folder: &Path) -> PathBuf {
    if file.extension().is_none_or(|end| end != "gz") {
        return file.to_owned();
    }
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(file).unwrap();
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let copy = folder.join(name(file).trim_end_matches(".gz"));
    std::fs::write(&copy, bytes).unwrap();
    copy
}

/// The number at the start of a cell, as `1000000`, `36.1 ms` or `0 bytes`.
fn leading(cell: &str) -> Option<f64> {
    cell.split_whitespace().next()?.parse().ok()
}

/// A line of two columns, `name: value  name: value`.
fn columns(line: &str) -> Option<(&str, f64, f64)> {
    let (key, rest) = line.trim().split_once(':')?;
    let (left, right) = rest.split_once(&format!("{key}:"))?;
    Some((key, leading(left)?, leading(right)?))
}

fn listing(file: &Path) -> Vec<ListedConnection> {
    let output = Command::new("tcptrace").args(["-l", "-r", "-n"]).arg(file).output().unwrap();
    let mut all: Vec<ListedConnection> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if line.starts_with("TCP connection ") && line.ends_with(':') {
            all.push(ListedConnection::default());
        }
        let Some(last) = all.last_mut() else { continue };
        if let Some((_, end)) = line.trim().strip_prefix("host ").and_then(|l| l.split_once(':')) {
            last.ends.push(end.trim().to_owned());
        } else if let Some((key, left, right)) = columns(line) {
            // Two lines have this name: bytes, then packets.
            last.figures[0].entry(key.to_owned()).or_insert(left);
            last.figures[1].entry(key.to_owned()).or_insert(right);
        }
    }
    all
}

/// tcptrace's figures of every connection of `record`; `None` for pcapng.
pub(crate) fn compared<'a>(
    file: &Path,
    record: &'a Value,
    folder: &Path,
) -> Option<Connections<'a>> {
    if file.extension().is_some_and(|end| end == "pcapng") {
        return None;
    }
    let listing = listing(&plain(file, folder));
    let connections = record["connections"].as_array().unwrap();
    Some(connections.iter().map(|report| (report, figures(report, &listing))).collect())
}

/// Returns whether both are the same end: tcptrace writes `::1` as `:0001`.
fn same_end(listed: &str, plain: &str) -> bool {
    let loopback = |end: &str| end.replace(":0001:", "::1:");
    loopback(listed) == plain
}

fn figures(report: &Value, listing: &[ListedConnection]) -> Option<Vec<ComparedFigure>> {
    let ends = ["sender", "receiver"].map(|key| report[key].as_str().unwrap());
    let plain = ends.map(|end| end.replace(['[', ']'], ""));
    let listed = listing.iter().find(|listed| {
        plain.iter().all(|end| listed.ends.iter().any(|listed| same_end(listed, end)))
    })?;
    let from = usize::from(!same_end(&listed.ends[0], &plain[0]));
    let theirs = |way: usize, key: &str| listed.figures[way].get(key).copied().unwrap_or(f64::NAN);
    let compared = |figure, rule, ours, theirs| ComparedFigure { figure, rule, ours, theirs };
    let mut all = Vec::new();
    for (way, losses) in [(from, "losses"), (1 - from, "losses_returned")] {
        if report[losses].is_null() {
            continue;
        }
        let own = |key: &str| ours(report, &format!("/{losses}/{key}"));
        let again = theirs(way, "rexmt data pkts");
        let late = again + theirs(way, "outoforder pkts");
        all.push(compared("late data", Same, own("retransmissions") + own("out_of_order"), late));
        all.push(compared("retransmissions", Same, own("retransmissions"), again));
    }
    let window = |key: &str| ours(report, &format!("/receive_window/{key}"));
    let zero = theirs(1 - from, "zero win adv");
    all.push(compared("zero windows", Same, window("zero_windows"), zero));
    all.push(compared("probes", Same, window("probes"), theirs(from, "zwnd probe pkts")));
    all.push(compared("bytes", Same, ours(report, "/bytes"), theirs(from, "unique bytes sent")));
    // Seen at the sender, the shortest sample is the path. tcptrace writes
    // tenths of milliseconds, and leaves out what follows a loss.
    let at_sender = ours(report, "/rtt_seconds/capture_to_sender") == 0.0;
    if at_sender && theirs(from, "RTT samples") > 0.0 {
        let own = ours(report, "/rtt_seconds/min") * 1e3;
        all.push(compared("RTT, least", Near(0.03, 0.06), own, theirs(from, "RTT min")));
        let own = ours(report, "/ack_latency_seconds/max") * 1e3;
        all.push(compared("ACK latency, most", NoLess(0.06), own, theirs(from, "RTT max")));
    }
    Some(all)
}
