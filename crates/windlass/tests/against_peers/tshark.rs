//! tshark's analysis flags, counted by connection and direction.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Rule::{Near, NoLess, NoMore, Same};
use crate::{ComparedFigure, Connections, ours};

const FIELDS: [&str; 25] = [
    "frame.number",
    "frame.time_relative",
    "tcp.stream",
    "ip.src",
    "ipv6.src",
    "tcp.srcport",
    "tcp.len",
    "tcp.flags",
    "tcp.ack",
    "tcp.options.sack_le",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.acks_frame",
    "tcp.analysis.initial_rtt",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.zero_window",
    "tcp.analysis.zero_window_probe",
    "tcp.analysis.keep_alive",
    "tcp.seq",
    "tcp.window_size",
    "tcp.analysis.window_full",
    "ip.id",
];

/// A frame, as far as it matters here.
pub(crate) struct Frame {
    pub(crate) number: u64,
    /// In seconds.
    pub(crate) time: f64,
    pub(crate) stream: u64,
    pub(crate) source: String,
    pub(crate) length: u64,
    /// True if the segment opens, closes or resets the connection.
    pub(crate) control: bool,
    pub(crate) sequence: u64,
    pub(crate) ack: Option<u64>,
    pub(crate) window: Option<u64>,
    pub(crate) identification: Option<u16>,
    sack_left: Option<u64>,
    rtt: Option<f64>,
    answers: Option<u64>,
    opening: Option<f64>,
    marks: Vec<&'static str>,
}

impl Frame {
    fn new(line: &str) -> Self {
        let values: Vec<&str> = line.split('|').collect();
        let text = |field: &str| {
            let at = FIELDS.iter().position(|name| *name == field).unwrap();
            values[at].split(',').next().unwrap()
        };
        let number = |field: &str| match text(field).strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text(field).parse().ok(),
        };
        let port = text("tcp.srcport");
        let source = match text("ip.src") {
            "" => format!("[{}]:{port}", text("ipv6.src")),
            address => format!("{address}:{port}"),
        };
        let marks = FIELDS.iter().zip(&values).filter(|(_, value)| !value.is_empty());
        Self {
            number: number("frame.number").unwrap(),
            time: text("frame.time_relative").parse().unwrap_or(0.0),
            stream: number("tcp.stream").unwrap(),
            source,
            length: number("tcp.len").unwrap_or(0),
            control: number("tcp.flags").is_some_and(|flags| flags & 7 != 0),
            sequence: number("tcp.seq").unwrap_or(0),
            ack: number("tcp.ack"),
            window: number("tcp.window_size"),
            identification: number("ip.id").and_then(|id| u16::try_from(id).ok()),
            sack_left: number("tcp.options.sack_le"),
            rtt: text("tcp.analysis.ack_rtt").parse().ok(),
            answers: number("tcp.analysis.acks_frame"),
            opening: text("tcp.analysis.initial_rtt").parse().ok(),
            marks: marks.filter_map(|(name, _)| name.strip_prefix("tcp.analysis.")).collect(),
        }
    }

    pub(crate) fn is(&self, mark: &str) -> bool {
        self.marks.contains(&mark)
    }

    fn carries_data(&self) -> bool {
        self.length > 0
    }
}

pub(crate) fn frames(file: &Path) -> Vec<Frame> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-o", "tcp.desegment_tcp_streams:FALSE", "-Y", "tcp", "-Tfields"]);
    tshark.args(["-Eoccurrence=a", "-Eseparator=|", "-r"]).arg(file);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(Frame::new).collect()
}

/// Duplicate ACKs as RFC 5681 and RFC 6675 define them: nothing new is
/// acknowledged, no data, and the same window or a SACK block. First without
/// those whose first block lies below themselves, then with them: they answer
/// data that came twice (RFC 2883), and say so by repeating themselves.
fn duplicate_acks(acks: &[&Frame]) -> (f64, f64) {
    let mut before = None;
    let (mut least, mut most) = (0.0, 0.0);
    for frame in acks.iter().filter(|frame| frame.ack.is_some()) {
        // Without a block it may be a window update, which tshark tells.
        let repeats = frame.sack_left.is_some() || frame.is("duplicate_ack");
        if before == frame.ack && repeats && !frame.carries_data() && !frame.control {
            most += 1.0;
            if frame.sack_left.is_none_or(|left| Some(left) >= frame.ack) {
                least += 1.0;
            }
        }
        before = frame.ack;
    }
    (least, most)
}

/// Times to the ACKs of data, each as often as it covers full segments, and
/// what half of the data does not exceed.
fn latencies(data: &[&Frame], acks: &[&Frame], segment: f64) -> (Option<f64>, f64) {
    let with_data = data.iter().filter(|frame| frame.carries_data());
    let with_data: HashSet<u64> = with_data.map(|frame| frame.number).collect();
    let (mut times, mut before) = (Vec::new(), 1);
    for frame in acks {
        let Some(ack) = frame.ack else { continue };
        let covered = (ack.saturating_sub(before) as f64 / segment).ceil();
        before = before.max(ack);
        if frame.answers.is_some_and(|frame| with_data.contains(&frame)) {
            times.extend(frame.rtt.map(|time| (time, covered)));
        }
    }
    times.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all: f64 = times.iter().map(|(_, covered)| covered).sum();
    let mut reached = 0.0;
    let usual = times.iter().find(|(_, covered)| {
        reached += covered;
        reached * 2.0 >= all
    });
    (usual.map(|(time, _)| *time), times.last().map_or(f64::NAN, |(time, _)| *time))
}

/// Compares tshark's figures for the data from `from` with `losses`.
fn direction(frames: &[&Frame], from: &str, losses: &Value) -> Vec<ComparedFigure> {
    let (data, acks): (Vec<&Frame>, Vec<&Frame>) =
        frames.iter().partition(|frame| frame.source == from);
    // SYNs that are sent again are counted with the handshake.
    let data: Vec<&Frame> = data.into_iter().filter(|frame| frame.carries_data()).collect();
    let count =
        |frames: &[&Frame], flag: &str| frames.iter().filter(|frame| frame.is(flag)).count() as f64;
    let again = count(&data, "retransmission");
    let late = again + count(&data, "out_of_order");
    let (least, most) = duplicate_acks(&acks);
    let own = |key: &str| ours(losses, &format!("/{key}"));
    let compared = |figure, rule, ours, theirs| ComparedFigure { figure, rule, ours, theirs };
    vec![
        compared("late data", Same, own("retransmissions") + own("out_of_order"), late),
        compared("retransmissions", Same, own("retransmissions"), again),
        compared("fast", NoLess(0.0), own("fast"), count(&data, "fast_retransmission")),
        compared("needless", NoLess(0.0), own("needless"), count(&data, "spurious_retransmission")),
        compared("duplicate ACKs", NoLess(0.0), own("duplicate_acks"), least),
        compared("duplicate ACKs, of D-SACK too", NoMore, own("duplicate_acks"), most),
    ]
}

/// Probes, closed windows and times, of the larger transfer only.
fn transfer(frames: &[&Frame], from: &str, report: &Value) -> Vec<ComparedFigure> {
    let (data, acks): (Vec<&Frame>, Vec<&Frame>) =
        frames.iter().partition(|frame| frame.source == from);
    let count =
        |frames: &[&Frame], flag: &str| frames.iter().filter(|frame| frame.is(flag)).count() as f64;
    let own = |key: &str| ours(report, &format!("/receive_window/{key}"));
    let probes = count(&data, "zero_window_probe");
    let asked = probes + count(&data, "keep_alive");
    let compared = |figure, rule, ours, theirs| ComparedFigure { figure, rule, ours, theirs };
    let mut all = vec![
        compared("zero windows", Same, own("zero_windows"), count(&acks, "zero_window")),
        compared("probes and keep-alives", Same, own("probes") + own("keep_alives"), asked),
        compared("probes", Same, own("probes"), probes),
    ];
    let segment = own("segment_bytes");
    let (usual, most) = latencies(&data, &acks, segment);
    // Quantiles have two significant figures; the first decimal of a
    // microsecond is noise.
    if let Some(usual) = usual {
        let own = |key: &str| ours(report, &format!("/ack_latency_seconds/{key}"));
        all.push(compared("ACK latency, median", Near(0.03, 3e-6), own("p50"), usual));
        all.push(compared("ACK latency, most", NoMore, own("max"), most));
    }
    let opening = frames.iter().find_map(|frame| frame.opening);
    if let Some(opening) = opening {
        let own = ours(report, "/handshake/rtt_seconds");
        all.push(compared("handshake", Near(0.0, 2e-6), own, opening));
    }
    all
}

/// tshark's figures of every connection of `record`.
pub(crate) fn compared<'a>(file: &Path, record: &'a Value) -> Option<Connections<'a>> {
    let frames = frames(file);
    let connections = record["connections"].as_array().unwrap();
    let of = |report: &'a Value| {
        let ends = ["sender", "receiver"].map(|key| report[key].as_str().unwrap());
        let stream = report["number"].as_u64().unwrap() - 1;
        let own: Vec<&Frame> = frames
            .iter()
            .filter(|frame| frame.stream == stream)
            .filter(|frame| ends.contains(&frame.source.as_str()))
            .collect();
        let figures = (!own.is_empty()).then(|| {
            let mut figures = direction(&own, ends[0], &report["losses"]);
            figures.extend(transfer(&own, ends[0], report));
            if !report["losses_returned"].is_null() {
                figures.extend(direction(&own, ends[1], &report["losses_returned"]));
            }
            figures
        });
        (report, figures)
    };
    Some(connections.iter().map(of).collect())
}
