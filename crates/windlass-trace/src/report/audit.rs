//! Checks of a report against its own figures.
//!
//! A verdict that its report contradicts is wrong, regardless of its evidence. Each rule here uses
//! only the report, so that it fails when the analysis does.

use std::fmt;

use windlass_base::thresholds::{
    A_QUARTER, BEYOND_JITTER, BUSY_HOST, FASTEST_LINE, HALF_AGAIN, LATEST_DELAYED_ACK,
    SHORTEST_TIME,
};
use windlass_base::{Bytes, Cause, Limit, Rate, Span};

use super::{Confidence, ConnectionReport, Interval, Unit};
use crate::judge::law::error_bar;

/// Tolerance of the sum of shares, for floating-point errors.
const ROUNDING: f64 = 1e-6;

/// Contradictions of a report's own figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Breach {
    /// Shares, or the parts of the timeline, do not sum to the whole.
    Sum {
        /// Expected sum.
        whole: f64,
        /// Actual sum.
        sum: f64,
    },
    /// A part of the timeline begins before the one ahead of it ends, or ends before it begins, in
    /// time or in packet numbers.
    Backwards {
        /// The packet at which that part begins.
        packet: u64,
    },
    /// Loss is blamed, and nothing proves any.
    LossWithoutProof,
    /// A delayed ACK is blamed for a wait longer than any ACK's delay.
    DelayedAck {
        /// Claimed duration of the wait.
        said: Span,
        /// Longest ACK latency.
        longest: Span,
    },
    /// Claimed queueing delay is longer than the flight takes at the path's rate.
    Queue {
        /// Claimed queueing delay.
        said: Span,
        /// Time of the flight at the path's rate.
        possible: Span,
    },
    /// The transfer was faster than a law allows.
    LawBeaten {
        /// Rate that the law allows.
        predicted: Rate,
        /// Measured rate.
        measured: Rate,
    },
    /// A window is blamed that cannot be one: more was in flight, and its scale is not
    /// known.
    WindowExceeded {
        /// The largest window, by the least scale that is known of.
        window: Bytes,
        /// Bytes in flight.
        flight: Bytes,
    },
    /// The transfer moved more than any line carries.
    Amount {
        /// The rate that this makes.
        rate: Rate,
    },
    /// A verdict is sure though its law is far off, or its share is small.
    Sure,
}

impl Breach {
    /// Returns whether the breach refutes the cause that the verdict names, and not only the
    /// confidence.
    pub const fn refutes(self) -> bool {
        !matches!(self, Self::Sure | Self::Sum { .. } | Self::Backwards { .. })
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum { whole, sum } => write!(f, "parts sum to {sum}, and the whole is {whole}"),
            Self::Backwards { packet } => {
                write!(f, "the timeline runs backwards at packet {packet}")
            }
            Self::LossWithoutProof => {
                write!(f, "loss is blamed, and nothing was sent again for it")
            }
            Self::DelayedAck { said, longest } => {
                write!(f, "a delayed ACK of {said}, where none took longer than {longest}")
            }
            Self::Queue { said, possible } => {
                write!(f, "a queue of {said}, where what was in flight takes {possible}")
            }
            Self::LawBeaten { predicted, measured } => {
                write!(f, "{measured} measured, where the law allows {predicted}")
            }
            Self::WindowExceeded { window, flight } => {
                write!(f, "a window of {window} at most, and {flight} in flight")
            }
            Self::Amount { rate } => write!(f, "{rate}, which no line carries"),
            Self::Sure => write!(f, "high confidence, where law or share leave a doubt"),
        }
    }
}

/// Returns all contradictions of a report; none if it is sound.
///
/// The queue's rule is Little's law (1961): the data in a queue is its rate times the time in it. A
/// window or a send buffer bounds a rate by RFC 9293 section 3.8.6.
pub fn audit(report: &ConnectionReport) -> Vec<Breach> {
    let rules = [order, loss, delayed_ack, queue, law, window, amount, sure];
    sums(report).into_iter().chain(rules.iter().filter_map(|rule| rule(report))).collect()
}

fn sums(report: &ConnectionReport) -> Vec<Breach> {
    let sums = [report.shares.values().sum::<f64>(), report.causes.values().sum()];
    let parts = sums.into_iter().filter(|sum| (sum - 1.0).abs() > ROUNDING);
    let mut found: Vec<Breach> = parts.map(|sum| Breach::Sum { whole: 1.0, sum }).collect();
    let length: f64 = report.timeline.iter().map(|at| (at.end - at.start).as_seconds()).sum();
    let whole = report.seconds.as_seconds();
    let step = 1e-6 * (report.timeline.len() as f64 + whole);
    if !report.timeline.is_empty() && (length - whole).abs() > step {
        found.push(Breach::Sum { whole, sum: length });
    }
    found
}

/// Finds times or packet numbers that go back.
fn order(report: &ConnectionReport) -> Option<Breach> {
    let mut before = (Span::ZERO, 0);
    let is_backwards = |at: &&Interval| {
        let found = at.start < before.0
            || at.end < at.start
            || at.first_packet < before.1
            || at.last_packet < at.first_packet;
        before = (at.end, at.last_packet);
        found
    };
    let at = report.timeline.iter().find(is_backwards)?;
    Some(Breach::Backwards { packet: at.first_packet })
}

/// Finds a loss verdict without proof. Needed retransmissions, or data that was never answered,
/// prove loss; needless retransmissions prove a fast timer; retransmissions without an ACK at the
/// sender prove loss of ACKs.
fn loss(report: &ConnectionReport) -> Option<Breach> {
    let verdict = &report.verdict;
    let blamed = verdict.cause.limit() == Limit::Loss || verdict.cause == Cause::AfterLoss;
    let losses = &report.losses;
    let proven = match verdict.cause {
        Cause::AckLoss => losses.unheard > 0,
        Cause::FastTimer => losses.needless > 0,
        _ => losses.retransmissions > losses.needless,
    };
    (blamed && !proven).then_some(Breach::LossWithoutProof)
}

fn delayed_ack(report: &ConnectionReport) -> Option<Breach> {
    let verdict = &report.verdict;
    if !matches!(verdict.cause, Cause::NagleDelayedAck | Cause::BufferDelayedAck) {
        return None;
    }
    let inputs = &verdict.law.as_ref()?.inputs;
    let wait = inputs.iter().find(|input| input.symbol == "D" && input.unit == Unit::Seconds)?;
    let said = Span::from_seconds(wait.value);
    let turn = report.rtt_seconds.map_or(Span::ZERO, |rtt| rtt.capture_to_sender);
    let seen = report.ack_latency_seconds?.max;
    let longest = seen + turn + report.clock_step();
    let most = longest.scaled(HALF_AGAIN.get()).max(longest + BUSY_HOST.get());
    // An ACK that came only after its segment was sent again gives no latency.
    let hidden = report.losses.retransmissions > 0;
    let most = if hidden { most.max(LATEST_DELAYED_ACK.get()) } else { most };
    (said > most).then_some(Breach::DelayedAck { said, longest })
}

fn queue(report: &ConnectionReport) -> Option<Breach> {
    let verdict = &report.verdict;
    if verdict.cause != Cause::PathQueue {
        return None;
    }
    let rate = verdict.predicted_bytes_per_second?;
    let said = report.queue_seconds?;
    let rtt = report.rtt_seconds.map_or(Span::ZERO, |rtt| rtt.min);
    let flight = report.receive_window.max_flight_bytes;
    let possible = rate.time_for(flight) + rtt + report.clock_step();
    let most = possible.scaled(HALF_AGAIN.get()).max(possible + BUSY_HOST.get());
    (said > most).then_some(Breach::Queue { said, possible })
}

/// Checks that the data in flight fits into the window (RFC 9293 section 3.8.6). A window that was
/// read too small is likelier than a sender that exceeds its window.
fn window(report: &ConnectionReport) -> Option<Breach> {
    let offered = &report.receive_window;
    let blamed = report.verdict.cause.limit() == Limit::ReceiverWindow;
    let (window, flight) = (offered.max_bytes?, offered.max_flight_bytes);
    let exceeded = flight > window + offered.segment_bytes;
    (blamed && !offered.scale_known && exceeded)
        .then_some(Breach::WindowExceeded { window, flight })
}

/// Finds a transfer faster than a law that bounds it.
fn law(report: &ConnectionReport) -> Option<Breach> {
    let verdict = &report.verdict;
    let law = verdict.law.as_ref()?;
    let bounds = matches!(law.name, "window" | "send-buffer" | "line");
    let (predicted, measured) =
        (verdict.predicted_bytes_per_second?, verdict.measured_bytes_per_second);
    let predicted_rate = predicted.bytes_per_second();
    // The last flight of a few waits for nobody's next one.
    let last = report.receive_window.max_flight_bytes.per(report.seconds).bytes_per_second();
    let most = predicted_rate * BEYOND_JITTER.get() * error_bar(law, report.clock_step())
        + last.min(predicted_rate * A_QUARTER.get());
    // If pieces of the conversation are left out, their duration is unknown.
    let untold = verdict.caveats.iter().any(|caveat| caveat.id == super::CaveatId::Fragments);
    let beaten = bounds && !untold && measured.bytes_per_second() > most;
    beaten.then_some(Breach::LawBeaten { predicted, measured })
}

fn amount(report: &ConnectionReport) -> Option<Breach> {
    let rate = report.bytes.per(report.seconds.max(SHORTEST_TIME.get()));
    (rate > Rate::from_bytes_per_second(FASTEST_LINE.get() as f64 * 1e9))
        .then_some(Breach::Amount { rate })
}

fn sure(report: &ConnectionReport) -> Option<Breach> {
    let verdict = &report.verdict;
    if verdict.confidence != Confidence::High {
        return None;
    }
    let measured = verdict.measured_bytes_per_second.bytes_per_second();
    let far = verdict.predicted_bytes_per_second.is_some_and(|predicted| {
        let ratio = predicted.bytes_per_second() / measured.max(f64::MIN_POSITIVE);
        ratio.max(1.0 / ratio.max(f64::MIN_POSITIVE)) > HALF_AGAIN.get()
    });
    let most = report.causes.values().copied().fold(0.0, f64::max);
    let unknown = verdict.cause.limit() == Limit::Unknown;
    (far || unknown || most > verdict.share + ROUNDING).then_some(Breach::Sure)
}
