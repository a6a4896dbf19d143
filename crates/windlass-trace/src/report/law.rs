//! The law that predicts a transfer's rate, with the transfer's numbers; and the laws that
//! several causes share.

use windlass_base::{Bytes, Rate, Sentence, Span, laws, sentence};

use super::subject::Subject;
use super::{Input, Law, Unit};
use crate::finished::Finished;

/// A time of fewer steps of the capture's clock may be half of what it seems, or twice.
const RESOLVED: f64 = 2.0;

/// A law and the rate it gives.
pub(super) struct Applied {
    pub(super) law: Law,
    pub(super) rate: Rate,
}

pub(super) fn by(
    rate: Rate,
    name: &'static str,
    formula: &'static str,
    inputs: Vec<Input>,
) -> Applied {
    Applied { law: Law { name, formula, inputs }, rate }
}

/// What a law gives, if it does: a time that the clock does not resolve predicts nothing.
pub(super) fn told(subject: &Subject<'_>, applied: Option<Applied>) -> Option<Applied> {
    let resolved = subject.finished.clock_step.as_seconds() * RESOLVED;
    applied.filter(|applied| applied.rate > Rate::ZERO && shortest(&applied.law) >= resolved)
}

/// How far a step of the capture's clock lets a law be off, as a factor from 1: by its part
/// of the law's shortest time.
pub(super) fn error_bar(law: &Law, step: Span) -> f64 {
    1.0 + step.as_seconds() / shortest(law).max(f64::MIN_POSITIVE)
}

/// The shortest time of a law, in seconds; infinite where it counts with none.
fn shortest(law: &Law) -> f64 {
    let times = law.inputs.iter().filter(|input| input.unit == Unit::Seconds);
    times.map(|input| input.value).fold(f64::INFINITY, f64::min)
}

pub(super) fn bytes(symbol: &'static str, value: Bytes, meaning: &'static str) -> Input {
    Input { symbol, value: value.get() as f64, unit: Unit::Bytes, meaning }
}

pub(super) fn seconds(symbol: &'static str, value: Span, meaning: &'static str) -> Input {
    Input { symbol, value: value.as_seconds(), unit: Unit::Seconds, meaning }
}

pub(super) fn rate(symbol: &'static str, value: Rate, meaning: &'static str) -> Input {
    Input { symbol, value: value.bytes_per_second(), unit: Unit::BytesPerSecond, meaning }
}

pub(super) fn share(symbol: &'static str, value: f64, meaning: &'static str) -> Input {
    Input { symbol, value, unit: Unit::Share, meaning }
}

/// A transfer that goes on at the rate `open` and stops so often, for so long in all. What
/// it moves between two stops, that rate, and a stop on average have these meanings.
pub(super) fn stop_and_go(
    subject: &Subject<'_>,
    stops: u64,
    open: Rate,
    stopped: Span,
    meanings: [&'static str; 3],
) -> Applied {
    let stops = stops.max(1);
    let (between, stop) = (Bytes::new(subject.bytes().get() / stops), stopped.part_of(stops));
    let inputs = vec![
        bytes("B", between, meanings[0]),
        rate("R", open, meanings[1]),
        seconds("Z", stop, meanings[2]),
    ];
    by(between.per(open.time_for(between) + stop), "stall", "B / (B / R + Z)", inputs)
}

/// The window that holds the transfer: what the receiver offers, in full
/// segments where a sender sends only those.
pub(super) fn usable_window(subject: &Subject<'_>) -> Option<Bytes> {
    let window = subject.window()?.get();
    let most = subject.finished.counts.flight_most;
    // A sender may leave the rest of a window that is no whole number of
    // segments; what it had in flight tells.
    Some(Bytes::new(if most > 0 { window.min(most).max(1) } else { window }))
}

/// The window that the receiver offers, once in each cycle.
pub(super) fn window(subject: &Subject<'_>) -> Option<Applied> {
    Some(window_in(subject, usable_window(subject)?, subject.cycle()?))
}

/// The same where ACKs may cover segments of two flights.
pub(super) fn window_of_path(subject: &Subject<'_>) -> Option<Applied> {
    let window = usable_window(subject)?;
    Some(window_in(subject, window, subject.cycle_of(window)?))
}

fn window_in(subject: &Subject<'_>, window: Bytes, mut cycle: Span) -> Applied {
    // A window that closes with each ACK opens only after that.
    let closures = &subject.finished.closures;
    if closures.count * 2 >= subject.finished.cycles.count {
        cycle += closures.median().unwrap_or_default();
    }
    let inputs = vec![
        bytes("W", window, "the window that the sender can use"),
        seconds("T", cycle, "from the first segment to the ACK that frees its place"),
    ];
    by(laws::window_rate(window, cycle), "window", "W / T", inputs)
}

/// The retransmission timeout that PFTK counts with: Linux's least, or twice
/// the round trip.
pub(super) fn timeout(rtt: Span) -> Span {
    Span::from_millis(200).max(rtt * 2)
}

/// The rate that losses leave a congestion window.
pub(super) fn pftk(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let (mss, rtt, ratio) =
        (subject.segment(), finished.told_rtt()?, finished.counts.event_ratio());
    let window = Some(Bytes::new(finished.window_most));
    let bound = laws::pftk_rate(mss, rtt, ratio, timeout(rtt), 2, window)?;
    let inputs = vec![
        bytes("MSS", mss, "a full segment"),
        seconds("RTT", rtt, "the path's round trip"),
        share("p", ratio, "losses that the sender reacted to, of segments"),
        seconds("T₀", timeout(rtt), "the retransmission timeout"),
    ];
    let formula = "MSS / (RTT √(4p/3) + T₀ min(1, 3 √(3p/4)) p (1 + 32p²))";
    Some(by(bound, "loss", formula, inputs))
}

/// The most that the sender had in flight, once in each cycle.
pub(super) fn flight(subject: &Subject<'_>) -> Option<Applied> {
    let most = Bytes::new(subject.finished.counts.flight_most);
    kept(subject, most, "the most that the sender had in flight")
}

/// So much in flight, once in each cycle.
pub(super) fn kept(subject: &Subject<'_>, flight: Bytes, meaning: &'static str) -> Option<Applied> {
    let cycle = subject.cycle_of(flight)?;
    let inputs =
        vec![bytes("F", flight, meaning), seconds("T", cycle, "from the first segment to its ACK")];
    Some(by(laws::window_rate(flight, cycle), "window", "F / T", inputs))
}

/// `on a path of 36 ms`, where something tells how long it is.
pub(super) fn on_its_path(finished: &Finished) -> Sentence {
    finished.told_rtt().map_or_else(|| "on its path".into(), |rtt| sentence!("on a path of {rtt}"))
}
