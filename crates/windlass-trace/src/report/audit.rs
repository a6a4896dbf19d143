//! Holds a report against its own figures.
//!
//! A verdict that its report contradicts is wrong, whatever it rests on. Each rule here
//! uses only what the report says, so that it fails where the analysis does.

use std::fmt;

use windlass_base::{Bytes, Cause, Limit, Rate, Span};

use super::law::error_bar;
use super::{Confidence, ConnectionReport, Unit};
use crate::capacity::FASTEST;
use crate::flow::LATEST_ACK;

/// How far a wait may be longer than what is to explain it: waits are medians and means,
/// and end when a host has reacted.
const SLACK: f64 = 1.5;

/// The same where both are short: a program that waits for its turn.
const MIN_SLACK: Span = Span::from_millis(10);

/// A queue may be so many times as long as the data in flight takes at the mean rate: the
/// path's rate goes up and down, and other connections' data stands in it too.
const QUEUE: f64 = 2.0;

/// A law that bounds a rate is beaten by no more, but for its clock's step: what it counts
/// with are medians.
pub(super) const BEATEN: f64 = 1.25;

/// What the last flight of a short transfer may add, as a share of the law's rate: of four
/// flights or more it is that.
const LAST: f64 = 0.25;

/// `high` asks of a law that it comes as near.
const NEAR: f64 = 1.5;

/// How far shares may miss 1, as sums of floating-point numbers do.
const ROUNDING: f64 = 1e-6;

/// The least time that an amount is held against.
const SHORTEST: Span = Span::from_millis(1);

/// What in a report contradicts its own figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Breach {
    /// Shares, or the parts of the timeline, do not sum to the whole.
    Sum {
        /// What the sum should be.
        whole: f64,
        /// What it is.
        sum: f64,
    },
    /// Loss is blamed, and nothing proves any.
    LossWithoutProof,
    /// A delayed ACK is blamed for a wait that is longer than any ACK was late.
    DelayedAck {
        /// How long the wait is said to be.
        said: Span,
        /// The longest that an ACK took.
        longest: Span,
    },
    /// Data is said to have stood in a queue for longer than all that was in flight takes.
    Queue {
        /// How long it is said to have stood there.
        said: Span,
        /// What was in flight, at the path's rate.
        possible: Span,
    },
    /// The transfer was faster than a law allows.
    LawBeaten {
        /// What the law allows.
        predicted: Rate,
        /// What was measured.
        measured: Rate,
    },
    /// A window is blamed that cannot be one: more was in flight, and its scale is not
    /// known.
    WindowExceeded {
        /// The largest window, by the least scale that is known of.
        window: Bytes,
        /// What was in flight.
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
    /// Whether it refutes the cause that the verdict names, and not only how sure that is.
    pub const fn refutes(self) -> bool {
        !matches!(self, Self::Sure | Self::Sum { .. })
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum { whole, sum } => write!(f, "parts sum to {sum}, and the whole is {whole}"),
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

/// Everything in which a report contradicts itself; nothing where it is sound.
///
/// The queue's rule is Little's law (1961): what stands in a queue is its rate times the
/// time in it. That a window or a send buffer bounds a rate is RFC 9293 section 3.8.6.
pub fn audit(report: &ConnectionReport) -> Vec<Breach> {
    let rules = [loss, delayed_ack, queue, law, window, amount, sure];
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

/// Loss shows by what was sent again and was needed, or was never answered; that of ACKs, by
/// what was sent again as the sender had not heard them.
fn loss(report: &ConnectionReport) -> Option<Breach> {
    let verdict = &report.verdict;
    let blamed = verdict.cause.limit() == Limit::Loss || verdict.cause == Cause::AfterLoss;
    let losses = &report.losses;
    let proven = match verdict.cause {
        Cause::AckLoss => losses.unheard > 0,
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
    let most = longest.scaled(SLACK).max(longest + MIN_SLACK);
    // An ACK that came only after its segment was sent again gives no latency.
    let hidden = report.losses.retransmissions > 0;
    let most = if hidden { most.max(LATEST_ACK) } else { most };
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
    let most = possible.scaled(QUEUE).max(possible + MIN_SLACK);
    (said > most).then_some(Breach::Queue { said, possible })
}

/// What is in flight fits into the window (RFC 9293 section 3.8.6), and a sender that does
/// not keep to it is rarer than a window that is larger than it reads.
fn window(report: &ConnectionReport) -> Option<Breach> {
    let offered = &report.receive_window;
    let blamed = report.verdict.cause.limit() == Limit::ReceiverWindow;
    let (window, flight) = (offered.max_bytes?, offered.max_flight_bytes);
    let exceeded = flight > window + offered.segment_bytes;
    (blamed && !offered.scale_known && exceeded)
        .then_some(Breach::WindowExceeded { window, flight })
}

/// A transfer faster than a law that bounds it.
fn law(report: &ConnectionReport) -> Option<Breach> {
    let verdict = &report.verdict;
    let law = verdict.law.as_ref()?;
    let bounds = matches!(law.name, "window" | "send-buffer" | "line");
    let (predicted, measured) =
        (verdict.predicted_bytes_per_second?, verdict.measured_bytes_per_second);
    let predicted_rate = predicted.bytes_per_second();
    // The last flight of a few waits for nobody's next one.
    let last = report.receive_window.max_flight_bytes.per(report.seconds).bytes_per_second();
    let most = predicted_rate * BEATEN * error_bar(law, report.clock_step())
        + last.min(predicted_rate * LAST);
    // Where pieces of the conversation are left out, nobody knows how long they took.
    let untold = verdict.caveats.iter().any(|caveat| caveat.id == super::CaveatId::Fragments);
    let beaten = bounds && !untold && measured.bytes_per_second() > most;
    beaten.then_some(Breach::LawBeaten { predicted, measured })
}

fn amount(report: &ConnectionReport) -> Option<Breach> {
    let rate = report.bytes.per(report.seconds.max(SHORTEST));
    (rate > Rate::from_bytes_per_second(FASTEST as f64 * 1e9)).then_some(Breach::Amount { rate })
}

fn sure(report: &ConnectionReport) -> Option<Breach> {
    let verdict = &report.verdict;
    if verdict.confidence != Confidence::High {
        return None;
    }
    let measured = verdict.measured_bytes_per_second.bytes_per_second();
    let far = verdict.predicted_bytes_per_second.is_some_and(|predicted| {
        let ratio = predicted.bytes_per_second() / measured.max(f64::MIN_POSITIVE);
        ratio.max(1.0 / ratio.max(f64::MIN_POSITIVE)) > NEAR
    });
    let most = report.causes.values().copied().fold(0.0, f64::max);
    let unknown = verdict.cause.limit() == Limit::Unknown;
    (far || unknown || most > verdict.share + ROUNDING).then_some(Breach::Sure)
}
