//! The law that predicts a transfer's rate, with the transfer's numbers.

use windlass_base::{Bytes, Cause, Rate, Span, laws};

use super::sentence::nagle_wait;
use super::subject::Subject;
use super::{Input, Law, Unit};

/// A time of fewer steps of the capture's clock may be half of what it seems, or twice.
const RESOLVED: f64 = 2.0;

/// A law and the rate it gives.
pub(super) struct Applied {
    pub(super) law: Law,
    pub(super) rate: Rate,
}

fn by(rate: Rate, name: &'static str, formula: &'static str, inputs: Vec<Input>) -> Applied {
    Applied { law: Law { name, formula, inputs }, rate }
}

/// The law for a cause; `None` where no law says what the rate will be, or the
/// capture lacks a number that it needs.
pub(super) fn law(subject: &Subject<'_>, cause: Cause) -> Option<Applied> {
    let applied = law_of(subject, cause)?;
    // A time that the clock does not resolve predicts nothing.
    let told = shortest(&applied.law) >= subject.finished.clock_step.as_seconds() * RESOLVED;
    (applied.rate > Rate::ZERO && told).then_some(applied)
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

fn law_of(subject: &Subject<'_>, cause: Cause) -> Option<Applied> {
    let finished = subject.finished;
    match cause {
        Cause::WindowPathRtt | Cause::WindowAckLatency | Cause::WindowBelowMss => window(subject),
        Cause::WindowOpensLate => opens_late(subject),
        Cause::ReceiverNotReading | Cause::NoWindowUpdate => stalls(subject),
        Cause::BufferDelayedAck | Cause::BufferPathRtt => send_buffer(subject),
        Cause::SlowStart => slow_start(subject),
        Cause::AfterLoss | Cause::FastRecovery => loss(subject),
        Cause::Reordering => cuts(subject),
        Cause::Timeout => silences(subject, cause, finished.counts.timeouts),
        Cause::AckLoss => silences(subject, cause, finished.sent_in_vain.acks_lost),
        Cause::SlowTimer => {
            silences(subject, cause, finished.costly_timer().map_or(0, |timer| timer.count.into()))
        }
        Cause::BlackHole => black_hole(subject),
        Cause::ReceiverDiscards => discards(subject),
        Cause::Steady | Cause::SmallSegments => flight(subject),
        Cause::PathQueue => capacity(subject),
        Cause::PathPolicer => policer(subject),
        Cause::NagleDelayedAck => nagle(subject),
        Cause::ReceiverLimited => reader(subject),
        Cause::AwaitsAnswer => dialogue(subject),
        Cause::SenderIdle | Cause::Processor | Cause::Unknown => None,
    }
}

fn bytes(symbol: &'static str, value: Bytes, meaning: &'static str) -> Input {
    Input { symbol, value: value.get() as f64, unit: Unit::Bytes, meaning }
}

fn seconds(symbol: &'static str, value: Span, meaning: &'static str) -> Input {
    Input { symbol, value: value.as_seconds(), unit: Unit::Seconds, meaning }
}

fn rate(symbol: &'static str, value: Rate, meaning: &'static str) -> Input {
    Input { symbol, value: value.bytes_per_second(), unit: Unit::BytesPerSecond, meaning }
}

fn share(symbol: &'static str, value: f64, meaning: &'static str) -> Input {
    Input { symbol, value, unit: Unit::Share, meaning }
}

/// A transfer that goes on at the rate `open` and stops so often, for so long in all. What
/// it moves between two stops, that rate, and a stop on average have these meanings.
fn stop_and_go(
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

fn window(subject: &Subject<'_>) -> Option<Applied> {
    let window = usable_window(subject)?;
    let mut cycle = subject.cycle()?;
    // A window that closes with each ACK opens only after that.
    let closures = &subject.finished.closures;
    if closures.count * 2 >= subject.finished.cycles.count {
        cycle += closures.median().unwrap_or_default();
    }
    let inputs = vec![
        bytes("W", window, "the window that the sender can use"),
        seconds("T", cycle, "from the first segment to the ACK that frees its place"),
    ];
    Some(by(laws::window_rate(window, cycle), "window", "W / T", inputs))
}

fn opens_late(subject: &Subject<'_>) -> Option<Applied> {
    let window = usable_window(subject)?.get().max(subject.finished.counts.flight_most);
    let (window, open) = (Bytes::new(window), subject.cycle()?);
    let closed = subject.finished.closures.median()?;
    let inputs = vec![
        bytes("W", window, "the window when it is open"),
        seconds("T", open, "from the first segment to its ACK"),
        seconds("Z", closed, "from that ACK to the open window"),
    ];
    Some(by(laws::window_rate(window, open + closed), "window", "W / (T + Z)", inputs))
}

fn stalls(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let flight = finished.counts.flight_most.max(1);
    // A window that was never seen open let through what was in flight.
    let window = if finished.window_most > 0 { finished.window_most.min(flight) } else { flight };
    let open = laws::window_rate(Bytes::new(window), subject.cycle()?);
    let open = finished.capacity.map_or(open, |best| open.min(best));
    let (closures, closed) = (finished.closures.count, finished.closures.total());
    let meanings = [
        "data between two stalls",
        "the rate while the window is open",
        "how long it is closed, on average",
    ];
    Some(stop_and_go(subject, closures, open, closed, meanings))
}

fn reader(subject: &Subject<'_>) -> Option<Applied> {
    let reading = subject.finished.reading?.rate;
    let meaning = "how fast the right edge of its window moves on, by the median";
    Some(by(reading, "reader", "R", vec![rate("R", reading, meaning)]))
}

/// How often a sender waits for a message of the other side, and how long on average.
pub(super) fn awaits(subject: &Subject<'_>) -> Option<(u64, Span)> {
    let count = subject.finished.counts.awaits;
    (count > 0).then(|| (count, subject.time_of(Cause::AwaitsAnswer).part_of(count)))
}

fn dialogue(subject: &Subject<'_>) -> Option<Applied> {
    let (count, wait) = awaits(subject)?;
    let waited = subject.time_of(Cause::AwaitsAnswer);
    let sending = subject.total() - waited;
    if sending <= Span::ZERO || wait <= Span::ZERO {
        return None;
    }
    let (asks, between) = match subject.asks() {
        Some(true) => ("from the end of it to the next request, on average", "data for a request"),
        _ => {
            ("from the end of it to the other side's message, on average", "data between two waits")
        }
    };
    let open = subject.bytes().per(sending);
    Some(stop_and_go(subject, count, open, waited, [between, "the rate without the waits", asks]))
}

fn send_buffer(subject: &Subject<'_>) -> Option<Applied> {
    // Where timers ran out again and again there is no plateau; the flight is
    // the buffer then.
    let (buffer, delay) = (subject.plateau(), subject.cycle()?);
    let inputs = vec![
        bytes("N", buffer, "the most that the sender had in flight"),
        seconds("D", delay, "from the first segment to its ACK"),
    ];
    Some(by(laws::send_buffer_rate(buffer, delay), "send-buffer", "N / D", inputs))
}

fn slow_start(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let rtt = finished.told_rtt()?;
    let initial = Bytes::new(finished.initial_flight.max(1));
    let time = laws::slow_start_time(subject.bytes(), initial, 2.0, rtt);
    let inputs = vec![
        bytes("B", subject.bytes(), "the transfer"),
        bytes("IW", initial, "the first flight"),
        seconds("RTT", rtt, "the path's round trip"),
    ];
    let formula = "B / (RTT · log₂(1 + B / IW))";
    Some(by(subject.bytes().per(time), "slow-start", formula, inputs))
}

/// Transfers that wait for timers: so much data, then a silence that is charged to `cause`,
/// so many times.
fn silences(subject: &Subject<'_>, cause: Cause, count: u64) -> Option<Applied> {
    let open = subject.finished.capacity.filter(|_| subject.finished.counts.acks > 0)?;
    let meanings =
        ["data between two timeouts", "the rate between them", "silence and repair, on average"];
    Some(stop_and_go(subject, count, open, subject.time_of(cause), meanings))
}

/// A receiver that keeps nothing behind a hole: so much data, then a repair that sends
/// all of a flight again.
fn discards(subject: &Subject<'_>) -> Option<Applied> {
    let (holes, open) = (subject.finished.counts.loss_events, subject.finished.capacity?);
    let meanings = [
        "data between two losses of the path",
        "the rate between them",
        "until all that was discarded is there again, on average",
    ];
    Some(stop_and_go(subject, holes, open, subject.time_of(Cause::ReceiverDiscards), meanings))
}

/// Full segments that never arrive: what passed, and the silences until the sender
/// lowered its size. Where it never did, nothing more passes.
fn black_hole(subject: &Subject<'_>) -> Option<Applied> {
    subject.finished.black_hole.as_ref().filter(|hole| hole.escaped)?;
    let (open, silence) = (subject.finished.capacity?, subject.time_of(Cause::BlackHole));
    let meanings =
        ["the transfer", "the rate with segments that pass", "until the sender lowered its size"];
    Some(stop_and_go(subject, 1, open, silence, meanings))
}

/// The burst passes at once, and the rest at the policer's rate.
fn policer(subject: &Subject<'_>) -> Option<Applied> {
    let policer = subject.finished.policer.as_ref()?;
    let rest = subject.bytes().get().checked_sub(policer.burst.get()).filter(|rest| *rest > 0)?;
    let bound = subject.bytes().per(policer.rate.time_for(Bytes::new(rest)));
    let inputs = vec![
        bytes("B", subject.bytes(), "the transfer"),
        rate("R", policer.rate, "what the policer lets pass"),
        bytes("b", policer.burst, "the burst that it let pass before"),
    ];
    Some(by(bound, "policer", "B · R / (B − b)", inputs))
}

/// The retransmission timeout that PFTK counts with: Linux's least, or twice
/// the round trip.
pub(super) fn timeout(rtt: Span) -> Span {
    Span::from_millis(200).max(rtt * 2)
}

fn loss(subject: &Subject<'_>) -> Option<Applied> {
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

/// Repairs of what was not lost: each cuts the congestion window, and no timer runs out.
fn cuts(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let (mss, rtt, ratio) =
        (subject.segment(), finished.told_rtt()?, finished.counts.event_ratio());
    let inputs = vec![
        bytes("MSS", mss, "a full segment"),
        seconds("RTT", rtt, "the path's round trip"),
        share("p", ratio, "repairs, each of which cut the congestion window, of segments"),
    ];
    Some(by(laws::mathis_rate(mss, rtt, ratio)?, "loss", "MSS / RTT · √(3/2) / √p", inputs))
}

fn flight(subject: &Subject<'_>) -> Option<Applied> {
    let (flight, cycle) = (Bytes::new(subject.finished.counts.flight_most), subject.cycle()?);
    let inputs = vec![
        bytes("F", flight, "the most that the sender had in flight"),
        seconds("T", cycle, "from the first segment to its ACK"),
    ];
    Some(by(laws::window_rate(flight, cycle), "window", "F / T", inputs))
}

/// What the path delivered while it was full, or else the fastest that it
/// delivered over four round trips.
pub(super) fn capacity_seen(subject: &Subject<'_>) -> Option<Rate> {
    let time = subject.time_of(Cause::PathQueue);
    if subject.classified.delivered > 0 && time > Span::ZERO {
        let delivered = Bytes::new(subject.classified.delivered).per(time);
        // It carried the whole transfer, so it carries at least that.
        return Some(delivered.max(subject.measured()));
    }
    subject.finished.capacity
}

fn capacity(subject: &Subject<'_>) -> Option<Applied> {
    let capacity = capacity_seen(subject)?;
    let input = rate("C", capacity, "what the path delivered while it was full");
    Some(by(capacity, "line", "C", vec![input]))
}

fn nagle(subject: &Subject<'_>) -> Option<Applied> {
    let each = Bytes::new(subject.bytes().get().checked_div(subject.finished.counts.nagle)?);
    let wait = nagle_wait(subject);
    let inputs = vec![
        bytes("N", each, "data between two such waits"),
        seconds("D", wait, "how long each lasts"),
    ];
    Some(by(laws::send_buffer_rate(each, wait), "send-buffer", "N / D", inputs))
}
