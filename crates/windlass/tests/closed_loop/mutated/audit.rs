//! Invariants of every report, for any capture: an account that shares no code with the analyser's
//! own.

use std::collections::BTreeSet;

use windlass_base::verdict::CaveatId;
use windlass_base::{Bytes, Cause, Figure, Limit, LimitReason, Piece, Rate, Sentence, Span};
use windlass_trace::Reasons;
use windlass_trace::report::{Confidence, ConnectionReport, Unit};

use super::why;

/// Sums over the packets of a connection, counted apart from the analyser.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketSums {
    pub(crate) packets: u64,
    /// Their numbers.
    pub(crate) numbers: BTreeSet<u64>,
    /// Bytes of payload, each packet's.
    pub(crate) payload: u64,
    /// The time over which the packets lie, with the clock's steps back left out.
    pub(crate) span: Span,
    /// Total by which the clock was set back between packets.
    pub(crate) back: Span,
}

impl PacketSums {
    /// Returns whether a packet belongs to the connection.
    pub(super) fn has(&self, packet: u64) -> bool {
        self.numbers.contains(&packet)
    }
}

/// A rule that a report breaks, and how.
#[derive(Debug)]
pub(crate) struct Breach {
    pub(crate) rule: &'static str,
    pub(crate) how: String,
}

/// A law that is an upper bound may be beaten so much: its numbers are medians.
const BEATEN: f64 = 1.25;
/// Maximum ratio of a law's rate to the measured one, for high confidence.
const SURE: f64 = 1.5;
/// A remedy is worth a word from so much on.
const WORTH: f64 = 1.1;
/// No link is faster: 800 Gb/s.
const FASTEST: f64 = 100e9;
/// No ACK is delayed for longer (RFC 1122 section 4.2.3.2).
const LATEST_ACK: f64 = 0.5;
/// Time that a clock and the hosts may add to any time.
const JITTER: f64 = 1e-3;

/// The verdicts whose law no transfer can beat.
fn is_bounded(limit: Limit, because: Option<LimitReason>) -> bool {
    use LimitReason::{
        AckLatency, DelayedAck, PathRtt, Policer, Queue, Steady, WindowBelowMss, WindowOpensLate,
    };
    match limit {
        Limit::ReceiverWindow | Limit::SendBuffer => {
            matches!(because, Some(PathRtt | AckLatency | WindowBelowMss | DelayedAck))
        }
        Limit::ZeroWindow => because == Some(WindowOpensLate),
        Limit::CongestionWindow => because == Some(Steady),
        Limit::PathCapacity => matches!(because, Some(Queue | Policer)),
        _ => false,
    }
}

/// Collects what is broken.
pub(super) struct Audit(Vec<Breach>);

impl Audit {
    pub(super) fn holds(&mut self, holds: bool, rule: &'static str, how: impl FnOnce() -> String) {
        if !holds {
            self.0.push(Breach { rule, how: how() });
        }
    }
}

/// The rules that a report, and its reasons, break.
pub(crate) fn audit(report: &ConnectionReport, why: &Reasons, seen: &PacketSums) -> Vec<Breach> {
    let mut audit = Audit(Vec::new());
    sums(report, &mut audit);
    timeline(report, seen, &mut audit);
    amounts(report, seen, &mut audit);
    losses(report, &mut audit);
    waits(report, &mut audit);
    rates(report, &mut audit);
    ranks(report, &mut audit);
    others(report, &mut audit);
    packets(report, seen, &mut audit);
    words(report, &mut audit);
    why::reasons(report, why, seen, &mut audit);
    audit.0
}

fn sums(report: &ConnectionReport, audit: &mut Audit) {
    let shares: f64 = report.shares.values().sum();
    audit.holds((shares - 1.0).abs() < 1e-6, "shares sum to 1", || shares.to_string());
    let causes: f64 = report.causes.values().sum();
    audit.holds((causes - 1.0).abs() < 1e-6, "causes sum to 1", || causes.to_string());
    let mut all = report.shares.values().chain(report.causes.values());
    let sane = all.all(|share| (0.0..=1.0 + 1e-9).contains(share));
    audit.holds(sane, "a share lies between 0 and 1", || format!("{:?}", report.causes));
    let verdict = &report.verdict;
    let cause = verdict.cause.to_string();
    let own = report.causes.get(&cause).copied().unwrap_or_default();
    let of_limit = report.shares.get(verdict.cause.limit().id()).copied().unwrap_or_default();
    let same = [(own, verdict.share), (of_limit, verdict.limit_share)];
    // A verdict that nothing was charged to says that nothing is known.
    let none = own == 0.0 && verdict.cause.limit() == Limit::Unknown;
    let holds = none || same.iter().all(|(one, other)| (one - other).abs() < 1e-6);
    audit.holds(holds, "a verdict's shares are its cause's and limit's", || format!("{same:?}"));
    // An audit of its own may take the next candidate, and be less sure.
    let most = report.causes.values().copied().fold(0.0, f64::max);
    let sure = verdict.confidence == Confidence::High;
    audit.holds(!sure || own >= most - 1e-9, "what is sure cost most", || {
        format!("{own} of {:?}", report.causes)
    });
}

/// The named cause is the costliest of the costliest limit.
fn ranks(report: &ConnectionReport, audit: &mut Audit) {
    let verdict = &report.verdict;
    let limit = verdict.cause.limit();
    let costlier = report.shares.iter().find(|(_, share)| **share > verdict.limit_share + 1e-6);
    audit.holds(costlier.is_none(), "no limit costs more than the named one", || {
        format!("{costlier:?}, and {} {}", limit.id(), verdict.limit_share)
    });
    let of_limit = |cause: &str| cause.split('/').next() == Some(limit.id());
    let costlier = report
        .causes
        .iter()
        .find(|(cause, share)| of_limit(cause) && **share > verdict.share + 1e-6);
    audit.holds(costlier.is_none(), "no cause of its limit costs more than the named one", || {
        format!("{costlier:?}, and {} {}", verdict.cause, verdict.share)
    });
    let next =
        verdict.next.map_or(0.0, |next| report.shares.get(next.id()).copied().unwrap_or(f64::NAN));
    let others = report.shares.iter().filter(|(other, _)| **other != limit.id());
    let most = others.map(|(_, share)| *share).fold(0.0, f64::max);
    let is_next = verdict.next != Some(limit) && (next - most).abs() < 1e-6;
    audit.holds(is_next, "the next limit is the costliest of the others", || {
        format!("{:?} {next} of {:?}", verdict.next, report.shares)
    });
}

/// Causes that fit as well stand behind the named one, and are none that was refuted.
fn others(report: &ConnectionReport, audit: &mut Audit) {
    let verdict = &report.verdict;
    let between = &verdict.between;
    let told = || format!("{between:?} of {}, {:?}", verdict.cause, verdict.confidence);
    if between.is_empty() {
        return;
    }
    let distinct: BTreeSet<String> = between.iter().map(ToString::to_string).collect();
    let named_first = between[0] == verdict.cause && between.len() > 1;
    audit.holds(named_first, "the named cause leads those that fit as well", told);
    audit.holds(distinct.len() == between.len(), "no cause fits as well as itself", told);
    audit.holds(!between.contains(&Cause::Unknown), "what is unknown fits nothing", told);
    audit.holds(verdict.confidence < Confidence::High, "what is sure stands alone", told);
    let refuted = verdict.caveats.iter().filter(|caveat| caveat.id == CaveatId::Contradiction);
    for refuted in refuted {
        let text = refuted.text.to_string();
        let back = between.iter().find(|cause| text.contains(&format!("look like {cause},")));
        audit.holds(back.is_none(), "what was refuted fits no more", || {
            format!("{back:?} of {between:?}")
        });
    }
}

/// Packets that are named are the connection's.
fn packets(report: &ConnectionReport, seen: &PacketSums, audit: &mut Audit) {
    for evidence in &report.verdict.evidence {
        let absent = evidence.packets.iter().find(|packet| !seen.has(**packet));
        audit.holds(absent.is_none(), "evidence is in packets of the connection", || {
            format!("{absent:?}: {}", evidence.shows)
        });
    }
    for at in &report.timeline {
        let there = [at.first_packet, at.last_packet].map(|packet| seen.has(packet));
        audit.holds(there == [true; 2], "intervals lie between the connection's packets", || {
            format!("{} to {}", at.first_packet, at.last_packet)
        });
    }
}

/// Checks that every statement has figures.
fn words(report: &ConnectionReport, audit: &mut Audit) {
    let verdict = &report.verdict;
    let advice = verdict.remedies.iter().map(|remedy| &remedy.action);
    let shown = verdict.evidence.iter().map(|evidence| &evidence.shows);
    let caveats = verdict.caveats.iter().map(|caveat| &caveat.text);
    let all = [&verdict.sentence].into_iter().chain(advice.clone()).chain(shown).chain(caveats);
    for sentence in all {
        let text = sentence.to_string();
        let is_number = !text.contains("NaN") && !text.split(' ').any(|word| word == "inf");
        audit.holds(is_number, "what is told are numbers", || text.clone());
    }
    let is_nothing = |sentence: &Sentence| {
        sentence.pieces().iter().any(|piece| match piece {
            Piece::Figure(Figure::Bytes(bytes)) => bytes.get() == 0,
            Piece::Figure(Figure::Rate(rate)) => rate.bytes_per_second() <= 0.0,
            _ => false,
        })
    };
    for action in advice {
        audit.holds(!is_nothing(action), "no advice tells nothing", || action.to_string());
    }
}

fn timeline(report: &ConnectionReport, seen: &PacketSums, audit: &mut Audit) {
    let total = report.seconds;
    audit.holds(total >= Span::ZERO, "no transfer takes less than no time", || total.to_string());
    let slack = Span::from_micros(10);
    audit.holds(total <= seen.span + slack, "a transfer lies within its packets", || {
        format!("{total} of {}", seen.span)
    });
    let (mut before, mut packet) = (Span::ZERO, 0);
    for at in &report.timeline {
        let ordered = at.start >= before - slack && at.end >= at.start;
        audit.holds(ordered, "intervals are in order", || {
            format!("{} to {} after {before}", at.start, at.end)
        });
        audit.holds(at.end <= total + slack, "intervals lie within the transfer", || {
            format!("{} of {total}", at.end)
        });
        let charged = at.charged >= Span::ZERO && at.charged <= at.end - at.start + slack;
        audit.holds(charged, "no interval is charged with more than it is", || {
            format!("{} of {}", at.charged, at.end - at.start)
        });
        let numbers = [packet, at.first_packet, at.last_packet];
        audit.holds(numbers.is_sorted(), "packets are in order", || format!("{numbers:?}"));
        (before, packet) = (at.end, at.last_packet);
    }
    let length: f64 = report.timeline.iter().map(|at| (at.end - at.start).as_seconds()).sum();
    let whole = report.timeline.is_empty() || (length - total.as_seconds()).abs() <= 1e-5;
    audit.holds(whole, "intervals sum to the transfer", || format!("{length} s of {total}"));
}

fn amounts(report: &ConnectionReport, seen: &PacketSums, audit: &mut Audit) {
    let (bytes, missing) = (report.bytes.get(), report.losses.missing_from_capture_bytes.get());
    audit.holds(
        bytes <= seen.payload + missing,
        "bytes were seen, or are said to be missing",
        || format!("{bytes} B, {} seen, {missing} missing", seen.payload),
    );
    let rate = report.bytes_per_second.bytes_per_second();
    audit.holds(rate.is_finite() && rate <= FASTEST, "no rate is beyond any link's", || {
        format!("{bytes} B in {}: {rate} B/s", report.seconds)
    });
    // A window in each round trip and with each packet that tells of one, and of a
    // connection whose window nobody saw the largest without scaling.
    let window = report.receive_window.max_bytes.map_or(0, Bytes::get);
    let window = window.max(report.receive_window.max_flight_bytes.get()).max(65_535) as f64;
    let rtt = report.rtt_seconds.map_or(0.0, |rtt| rtt.min.as_seconds()).max(10e-6);
    let trips = seen.span.as_seconds() / rtt;
    let most = 2.0 * window * (2.0 + trips + seen.packets as f64);
    audit.holds(missing as f64 <= most, "missing bytes fit the window and the time", || {
        format!("{missing} B missing of {bytes}, and {most:.0} at most")
    });
}

fn losses(report: &ConnectionReport, audit: &mut Audit) {
    let losses = &report.losses;
    let proven = losses.retransmissions > losses.needless;
    // Of lost ACKs the data arrived, and was sent again all the same.
    let acks = report.verdict.cause.because() == Some(LimitReason::AckLoss)
        && losses.unheard > 0
        && losses.retransmissions >= losses.unheard;
    // And what a timer sends again too early had been lost no more than that.
    let early =
        report.verdict.cause.because() == Some(LimitReason::FastTimer) && losses.needless > 0;
    audit.holds(
        report.verdict.cause.limit() != Limit::Loss || proven || acks || early,
        "loss has a retransmission",
        || format!("{} sent again, {} needlessly", losses.retransmissions, losses.needless),
    );
    let after = report.verdict.cause.because() == Some(LimitReason::AfterLoss);
    audit.holds(!after || proven, "what follows a loss has a retransmission", || {
        format!("{} sent again, {} needlessly", losses.retransmissions, losses.needless)
    });
    audit.holds((0.0..=1.0).contains(&losses.ratio), "a loss ratio is a share", || {
        losses.ratio.to_string()
    });
    let parts = losses.fast + losses.by_timer <= losses.retransmissions;
    audit.holds(parts, "fast and by timer are parts of all", || {
        format!("{} + {} of {}", losses.fast, losses.by_timer, losses.retransmissions)
    });
}

/// The number of the verdict's law that has this letter.
fn input(report: &ConnectionReport, symbol: &str) -> Option<f64> {
    let inputs = &report.verdict.law.as_ref()?.inputs;
    inputs.iter().find(|input| input.symbol == symbol).map(|input| input.value)
}

fn waits(report: &ConnectionReport, audit: &mut Audit) {
    let verdict = &report.verdict;
    let latency = report.ack_latency_seconds;
    let most = latency.map_or(0.0, |latency| latency.max.as_seconds());
    let turn = report.rtt_seconds.map_or(0.0, |rtt| rtt.capture_to_sender.as_seconds());
    let delayed = verdict.cause.because() == Some(LimitReason::DelayedAck)
        || verdict.cause.limit() == Limit::NagleDelayedAck
        || verdict.cause.because() == Some(LimitReason::AckLatency);
    if delayed {
        audit.holds(latency.is_some(), "a delayed ACK was measured", || {
            verdict.sentence.to_string()
        });
        let letter =
            if verdict.cause.because() == Some(LimitReason::AckLatency) { "T" } else { "D" };
        if let (Some(delay), true) = (input(report, letter), latency.is_some()) {
            let closed = report.receive_window.longest_closure_seconds;
            let closed = closed.map_or(0.0, Span::as_seconds);
            // Of what was sent again nothing tells how late its ACK is (Karn and Partridge 1987).
            let hidden = if report.losses.retransmissions > 0 { LATEST_ACK } else { 0.0 };
            let limit = (most * 1.05 + turn + closed + JITTER).max(hidden);
            audit.holds(delay <= limit, "no ACK is delayed for longer than any was late", || {
                format!("{delay} s, and {most} s at most, {turn} s from the sender")
            });
        }
    }
    if let Some(own) = latency.and_then(|latency| latency.receiver_own) {
        audit.holds(own.as_seconds() <= most + JITTER, "the receiver's own part is a part", || {
            format!("{own} of {most} s")
        });
    }
    if verdict.cause.because() == Some(LimitReason::Queue)
        && let Some(rate) = input(report, "C").filter(|rate| *rate > 0.0)
    {
        // What stood before it in the queue is at most what was in flight, and it may
        // have been joined by as much of other connections.
        let flight = report.receive_window.max_flight_bytes.get() as f64;
        let measured = report.bytes_per_second.bytes_per_second().min(rate);
        let rtt = report.rtt_seconds.map_or(0.0, |rtt| rtt.min.as_seconds());
        let step = report.clock_step_seconds.map_or(0.0, Span::as_seconds);
        let limit = 2.0 * flight / measured + 2.0 * rtt + 0.05 + step;
        for evidence in &verdict.evidence {
            let [Piece::Words(what), .., Piece::Figure(Figure::Span(wait))] =
                evidence.shows.pieces()
            else {
                continue;
            };
            if !what.contains("queue") {
                continue;
            }
            let wait = wait.as_seconds();
            audit.holds(wait <= limit, "a queue is no longer than its data takes", || {
                format!("{}; {flight} B in flight at {measured:.0} B/s", evidence.shows)
            });
        }
    }
}

/// Returns the error of a law from the step of the capture's clock.
fn error_bar(report: &ConnectionReport) -> f64 {
    let Some(step) = report.clock_step_seconds else { return 1.0 };
    let inputs = report.verdict.law.iter().flat_map(|law| &law.inputs);
    let times = inputs.filter(|input| input.unit == Unit::Seconds).map(|input| input.value);
    let least = times.fold(f64::INFINITY, f64::min);
    1.0 + step.as_seconds() / least
}

fn rates(report: &ConnectionReport, audit: &mut Audit) {
    let verdict = &report.verdict;
    let measured = report.bytes_per_second.bytes_per_second();
    let of = |rate: Rate| rate.bytes_per_second();
    if let Some(predicted) = verdict.predicted_bytes_per_second.map(of)
        && measured > 0.0
    {
        let name = || {
            let law = verdict.law.as_ref().map_or("none", |law| law.name);
            format!("{predicted:.1} B/s by {law}, measured {measured:.1}")
        };
        audit.holds(predicted.is_finite(), "a law gives a number", name);
        let mut inputs = verdict.law.iter().flat_map(|law| &law.inputs);
        let numbers = inputs.all(|input| input.value.is_finite());
        audit.holds(numbers, "a law is of numbers", || format!("{:?}", verdict.law));
        let bounded = is_bounded(verdict.cause.limit(), verdict.cause.because());
        // Where pieces are left out, nobody knows how long they took.
        let untold = verdict.caveats.iter().any(|caveat| caveat.id == CaveatId::Fragments);
        // The last flight of a few waits for nobody's next one.
        let flight = report.receive_window.max_flight_bytes.per(report.seconds);
        let last = of(flight).min(predicted * 0.25);
        let most = predicted * BEATEN * error_bar(report) + last;
        audit.holds(!bounded || untold || measured <= most, "no upper bound is beaten", name);
        let near = predicted <= measured * SURE && measured <= predicted * SURE;
        let sure = verdict.confidence == Confidence::High;
        audit.holds(!sure || near, "what is sure has a law that fits", name);
    }
    remedies(report, audit);
}

/// The rules that the promises of a report break, with the rates of the fitted model.
pub(crate) fn promises(report: &ConnectionReport) -> Vec<Breach> {
    let mut audit = Audit(Vec::new());
    remedies(report, &mut audit);
    audit.0
}

fn remedies(report: &ConnectionReport, audit: &mut Audit) {
    let verdict = &report.verdict;
    let measured = report.bytes_per_second.bytes_per_second();
    let of = |rate: Rate| rate.bytes_per_second();
    for remedy in &verdict.remedies {
        let most = remedy.at_most_bytes_per_second.map(of);
        let one = most.is_none() || remedy.expected_bytes_per_second.is_none();
        audit.holds(one, "a remedy promises a rate or a bound", || remedy.action.to_string());
        let has_source = remedy.at_most_by.is_none() || most.is_some();
        audit.holds(has_source, "a source is of a bound", || remedy.action.to_string());
        let above = most.is_none_or(|most| most.is_finite() && most >= measured);
        audit.holds(above, "no bound is below what was measured", || {
            format!("{most:?}, measured {measured:.1}: {}", remedy.action)
        });
        let is_zero = matches!(remedy.unit, Some(Unit::Seconds | Unit::Share));
        let value = remedy.value.is_none_or(|value| value.is_finite() && (value > 0.0 || is_zero));
        audit.holds(value, "a remedy sets a value", || {
            format!("{:?}: {}", remedy.value, remedy.action)
        });
        let Some(expected) = remedy.expected_bytes_per_second.map(of) else { continue };
        let name =
            || format!("{expected:.1} B/s expected, measured {measured:.1}: {}", remedy.action);
        audit.holds(expected.is_finite() && expected >= measured, "a remedy slows nothing", name);
        let worth = expected < measured || expected >= measured * WORTH;
        audit.holds(worth, "a remedy gives a tenth more", name);
    }
}
