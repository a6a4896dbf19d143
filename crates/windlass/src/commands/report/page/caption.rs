//! Captions of the charts.

use windlass_base::{Bytes, Rate, Span};
use windlass_output::{figures, mark, verdict};
use windlass_trace::curve::{Curve, Steps};
use windlass_trace::report::ConnectionReport;
use windlass_trace::time_sequence::Series;

/// Describes the throughput chart, with the band above it.
pub(super) fn throughput(report: &ConnectionReport, steps: &Steps) -> String {
    let mean = both(report.bytes_per_second);
    let width = steps.width;
    let most = steps.rates().map(|(_, rate)| rate).fold(0.0, f64::max);
    let most = both(Rate::from_bytes_per_second(most));
    let mut said =
        format!("{mean} on average over the transfer; maximum {most} in a step of {width}.");
    if let Some(law) = &report.verdict.law
        && let Some(rate) = report.verdict.predicted_bytes_per_second
    {
        said.push_str(&format!(" The law of {} predicts {}.", law.name, both(rate)));
    }
    let cause = report.verdict.cause;
    said.push_str(&format!(
        " The band above shows the limits over time: {} ({}) for {} of the time.",
        verdict::cause(cause),
        mark(cause.limit()).letter,
        figures::percent(report.verdict.share).plain()
    ));
    said
}

/// Describes the chart of sequence numbers.
pub(super) fn sequence(report: &ConnectionReport, series: &Series, beyond: bool) -> String {
    let losses = &report.losses;
    let segments = figures::counted(losses.segments, "segment").plain();
    let mut said = match losses.retransmissions {
        0 => format!("{segments} with data, no retransmissions."),
        again => {
            format!("{segments} with data, {} of them retransmissions.", figures::count(again))
        }
    };
    if losses.out_of_order > 0 {
        said.push_str(&format!(" {} arrived out of order.", figures::count(losses.out_of_order)));
    }
    let gaps = gap(&series.acked, &series.edge);
    if let Some((least, most)) = gaps {
        let (least, most) = (Bytes::new(least), Bytes::new(most));
        said.push_str(&if least == most {
            format!(" The edge of the window is always {most} ahead of the ACK.")
        } else {
            format!(" The edge of the window is {least} to {most} ahead of the ACK.")
        });
    }
    if beyond {
        said.push_str(BEYOND);
    }
    said.push_str(&reduced(&series.sent));
    said
}

/// Sentence for a window that leaves the chart.
const BEYOND: &str = " Where the window is not drawn, it is above the chart.";

/// Returns the minimum and maximum distance from the ACK to the window's edge; `None` if the
/// curves are reduced or have different samples.
fn gap(acked: &Curve, edge: &Curve) -> Option<(u64, u64)> {
    if !acked.is_exact() || !edge.is_exact() {
        return None;
    }
    let mut acks = acked.stretches().iter();
    let gaps = edge.stretches().iter().filter_map(|edge| {
        let ack = acks.find(|ack| ack.from == edge.from)?;
        u64::try_from(edge.last.saturating_sub(ack.last)).ok()
    });
    gaps.fold(None, |ends, gap| match ends {
        None => Some((gap, gap)),
        Some((least, most)) => Some((least.min(gap), most.max(gap))),
    })
}

/// Returns the caption of bytes in flight.
pub(super) fn flight(report: &ConnectionReport, beyond: bool) -> String {
    let window = &report.receive_window;
    let most = window.max_flight_bytes;
    let mut said = format!("At most {most} were in flight.");
    match (window.bytes, window.max_bytes) {
        (Some(bytes), Some(largest)) => {
            said.push_str(&format!(" The window was mostly {bytes}"));
            said.push_str(&if largest > bytes {
                format!(", at most {largest}")
            } else {
                String::new()
            });
            let full = most.get() + window.segment_bytes.get() > largest.get();
            said.push_str(if full {
                ": the flight filled it."
            } else {
                ": the flight never came within a segment of the largest."
            });
        }
        _ => said.push_str(" The capture shows no window."),
    }
    if beyond {
        said.push_str(BEYOND);
    }
    if window.closures > 0 {
        said.push_str(&format!(
            " The window was closed {}, for {} in total.",
            figures::counted(window.closures, "time").plain(),
            window.closed_seconds
        ));
    }
    said
}

/// Describes the latency chart.
pub(super) fn latency(report: &ConnectionReport, series: &Series) -> String {
    let mut said = match &report.ack_latency_seconds {
        Some(latency) => format!(
            "ACK latency at the point of capture: median {}, 90th percentile {}, maximum {}.",
            latency.p50, latency.p90, latency.max
        ),
        None => "The ACK latency is unknown: no ACK is for a segment that was sent only once."
            .to_owned(),
    };
    match report.rtt_seconds {
        Some(rtt) => said.push_str(&format!(" The path's round trip time is {}.", rtt.min)),
        None => said.push_str(" The path's round trip time is unknown."),
    }
    said.push_str(&reduced(&series.latency));
    said
}

/// Returns the sentence on a reduced curve.
fn reduced(curve: &Curve) -> String {
    if curve.is_exact() {
        return String::new();
    }
    format!(
        " {} samples are drawn as {} boxes, each from its minimum to its maximum.",
        figures::count(curve.samples()),
        figures::count(curve.stretches().len() as u64)
    )
}

/// Formats a rate in bytes and in bits.
fn both(rate: Rate) -> String {
    figures::both(rate).plain()
}

/// Returns the measured rate and the law's as guides, with style class and name.
pub(super) fn rates(report: &ConnectionReport) -> Vec<(Rate, &'static str, String)> {
    let mean = report.bytes_per_second;
    let mut rates = vec![(mean, "guide", format!("average {}", both(mean)))];
    if let Some(rate) = report.verdict.predicted_bytes_per_second {
        rates.push((rate, "guide law", format!("law predicts {}", both(rate))));
    }
    rates
}

/// Returns the RTT of the path, if known.
pub(super) fn round_trip(report: &ConnectionReport) -> Option<(Span, String)> {
    let rtt = report.rtt_seconds?.min;
    Some((rtt, format!("round trip time of the path {rtt}")))
}
