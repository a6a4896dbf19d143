//! The law that predicts a transfer's rate, with the transfer's numbers; and the laws that
//! several causes share.
use windlass_base::thresholds::{HALF_AGAIN, LEAST_TIMER};
use windlass_base::verdict::{Input, Law, Unit};
use windlass_base::{Bytes, Rate, Sentence, Span, laws, sentence};

use super::case::Case;
use super::facts::Facts;

/// A law and the rate it gives.
pub(crate) struct AppliedLaw {
    pub(crate) law: Law,
    pub(crate) rate: Rate,
}

pub(crate) fn by(
    rate: Rate,
    name: &'static str,
    formula: &'static str,
    inputs: Vec<Input>,
) -> AppliedLaw {
    AppliedLaw { law: Law { name, formula, inputs }, rate }
}

/// Returns a law's prediction; a time that the clock does not resolve predicts nothing.
pub(crate) fn told(case: &Case<'_>, applied: Option<AppliedLaw>) -> Option<AppliedLaw> {
    let resolved = case.facts.capture.clock_step.as_seconds() * HALF_AGAIN.get();
    applied.filter(|applied| applied.rate > Rate::ZERO && shortest(&applied.law) >= resolved)
}

/// Returns the factor by which a step of the capture's clock lets a law be off: 1, plus the step's
/// part of the law's shortest time.
pub(crate) fn error_bar(law: &Law, step: Span) -> f64 {
    1.0 + step.as_seconds() / shortest(law).max(f64::MIN_POSITIVE)
}

/// Returns the shortest time of a law, in seconds; infinite if the law has no time.
fn shortest(law: &Law) -> f64 {
    let times = law.inputs.iter().filter(|input| input.unit == Unit::Seconds);
    times.map(|input| input.value).fold(f64::INFINITY, f64::min)
}

pub(crate) fn bytes(symbol: &'static str, value: Bytes, meaning: &'static str) -> Input {
    Input { symbol, value: value.get() as f64, unit: Unit::Bytes, meaning }
}

pub(crate) fn seconds(symbol: &'static str, value: Span, meaning: &'static str) -> Input {
    Input { symbol, value: value.as_seconds(), unit: Unit::Seconds, meaning }
}

pub(crate) fn rate(symbol: &'static str, value: Rate, meaning: &'static str) -> Input {
    Input { symbol, value: value.bytes_per_second(), unit: Unit::BytesPerSecond, meaning }
}

pub(crate) fn share(symbol: &'static str, value: f64, meaning: &'static str) -> Input {
    Input { symbol, value, unit: Unit::Share, meaning }
}

/// Returns the law of a transfer that goes on at the rate `open` and stops so often, for so long in
/// all. The meanings are of the data between two stops, of that rate, and of a mean stop.
pub(crate) fn stop_and_go(
    case: &Case<'_>,
    stops: u64,
    open: Rate,
    stopped: Span,
    meanings: [&'static str; 3],
) -> AppliedLaw {
    let stops = stops.max(1);
    let (between, stop) = (Bytes::new(case.bytes().get() / stops), stopped.part_of(stops));
    let inputs = vec![
        bytes("B", between, meanings[0]),
        rate("R", open, meanings[1]),
        seconds("Z", stop, meanings[2]),
    ];
    by(between.per(open.time_for(between) + stop), "stall", "B / (B / R + Z)", inputs)
}

/// Returns the window that limits the transfer: the receiver's offer, in full segments if a sender
/// sends only those.
pub(crate) fn usable_window(case: &Case<'_>) -> Option<Bytes> {
    let window = case.window()?.get();
    let most = case.facts.counts.flight_most;
    // A sender may leave the rest of a window that is no whole number of segments; its largest
    // flight tells.
    Some(Bytes::new(if most > 0 { window.min(most).max(1) } else { window }))
}

/// Returns the law of the receiver's window, once in each cycle.
pub(crate) fn window(case: &Case<'_>) -> Option<AppliedLaw> {
    Some(window_in(case, usable_window(case)?, case.cycle()?))
}

/// Returns the law of the receiver's window, if ACKs may cover segments of two flights.
pub(crate) fn window_of_path(case: &Case<'_>) -> Option<AppliedLaw> {
    let window = usable_window(case)?;
    Some(window_in(case, window, case.cycle_of(window)?))
}

fn window_in(case: &Case<'_>, window: Bytes, mut cycle: Span) -> AppliedLaw {
    // A window that closes with each ACK opens only after that.
    let closures = &case.facts.window.closures;
    if closures.count * 2 >= case.facts.acks.cycles.count {
        cycle += closures.median().unwrap_or_default();
    }
    let inputs = vec![
        bytes("W", window, "the window that the sender can use"),
        seconds("T", cycle, "from the first segment to the ACK that frees its place"),
    ];
    by(laws::window_rate(window, cycle), "window", "W / T", inputs)
}

/// Returns the retransmission timeout for PFTK: Linux's least, or twice the round trip.
pub(crate) fn timeout(rtt: Span) -> Span {
    LEAST_TIMER.get().max(rtt * 2)
}

/// Returns the law of the rate that losses leave a congestion window.
pub(crate) fn pftk(case: &Case<'_>) -> Option<AppliedLaw> {
    let facts = case.facts;
    let (mss, rtt, ratio) = (case.segment(), facts.path.told_rtt?, facts.counts.event_ratio());
    let window = Some(Bytes::new(facts.window.most));
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

/// Returns the law of the sender's largest flight, once in each cycle.
pub(crate) fn flight(case: &Case<'_>) -> Option<AppliedLaw> {
    let most = Bytes::new(case.facts.counts.flight_most);
    kept(case, most, "the most that the sender had in flight")
}

/// Returns the law of a flight, once in each cycle.
pub(crate) fn kept(case: &Case<'_>, flight: Bytes, meaning: &'static str) -> Option<AppliedLaw> {
    let cycle = case.cycle_of(flight)?;
    let inputs =
        vec![bytes("F", flight, meaning), seconds("T", cycle, "from the first segment to its ACK")];
    Some(by(laws::window_rate(flight, cycle), "window", "F / T", inputs))
}

/// Returns `on a path of 36 ms`, if the path's round trip is known.
pub(crate) fn on_its_path(facts: &Facts) -> Sentence {
    facts.path.told_rtt.map_or_else(|| "on its path".into(), |rtt| sentence!("on a path of {rtt}"))
}

pub(crate) fn filled(case: &Case<'_>) -> Option<AppliedLaw> {
    // If timers ran out again and again there is no plateau; the flight is the buffer then.
    let buffer = case.plateau();
    let delay = case.cycle_of(buffer)?;
    let inputs = vec![
        bytes("N", buffer, "the most that the sender had in flight"),
        seconds("D", delay, "from the first segment to its ACK"),
    ];
    Some(by(laws::send_buffer_rate(buffer, delay), "send-buffer", "N / D", inputs))
}

pub(crate) fn stalls(case: &Case<'_>) -> Option<AppliedLaw> {
    let facts = case.facts;
    let flight = facts.counts.flight_most.max(1);
    // A window that was never seen open let through what was in flight.
    let window = if facts.window.most > 0 { facts.window.most.min(flight) } else { flight };
    let open = laws::window_rate(Bytes::new(window), case.cycle()?);
    let (closures, closed) = (facts.window.closures.count, facts.window.closures.total);
    // If the best rate over a few round trips is less than the rate while the window was open, each
    // stretch of that length held a stall.
    let going = case.bytes().per((case.total() - closed).or_zero());
    let best = facts.line.capacity.filter(|best| *best >= going);
    let open = best.map_or(open, |best| open.min(best));
    let meanings = [
        "data between two stalls",
        "the rate while the window is open",
        "how long it is closed, on average",
    ];
    Some(stop_and_go(case, closures, open, closed, meanings))
}
