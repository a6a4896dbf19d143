//! The law that predicts a transfer's rate, with the transfer's numbers.

use windlass_base::{Bytes, Cause, Rate, Span, laws};

use super::subject::Subject;
use super::{Input, Law, Unit};

/// A time of fewer steps of the capture's clock may be half of what it seems, or twice.
const RESOLVED: f64 = 2.0;

/// A law and the rate it gives.
pub(super) struct Applied {
    pub(super) law: Law,
    pub(super) rate: Rate,
}

impl Applied {
    #[expect(clippy::unnecessary_wraps, reason = "each law ends with it")]
    fn by(
        rate: Rate,
        name: &'static str,
        formula: &'static str,
        inputs: Vec<Input>,
    ) -> Option<Self> {
        Some(Self { law: Law { name, formula, inputs }, rate })
    }
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
    match cause {
        Cause::WindowPathRtt | Cause::WindowAckLatency | Cause::WindowBelowMss => window(subject),
        Cause::WindowOpensLate => opens_late(subject),
        Cause::ReceiverNotReading | Cause::NoWindowUpdate => stalls(subject),
        Cause::BufferDelayedAck | Cause::BufferPathRtt => send_buffer(subject),
        Cause::SlowStart => slow_start(subject),
        Cause::AfterLoss | Cause::FastRecovery => loss(subject),
        Cause::Reordering => cuts(subject),
        Cause::Timeout => silences(subject, cause, subject.finished.counts.timeouts),
        Cause::AckLoss => silences(subject, cause, subject.finished.sent_in_vain.acks_lost),
        Cause::SlowTimer => silences(subject, cause, slow_timeouts(subject)),
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

/// So much data at the rate between stops, then a stop, each with what it is.
fn stop_and_go(
    between: (Bytes, &'static str),
    open: (Rate, &'static str),
    stop: (Span, &'static str),
) -> Option<Applied> {
    let whole = open.0.time_for(between.0) + stop.0;
    let inputs = vec![
        bytes("B", between.0, between.1),
        rate("R", open.0, open.1),
        seconds("Z", stop.0, stop.1),
    ];
    Applied::by(between.0.per(whole), "stall", "B / (B / R + Z)", inputs)
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
    if closures.count() * 2 >= subject.finished.cycles.count() {
        cycle += closures.median().unwrap_or_default();
    }
    Applied::by(
        laws::window_rate(window, cycle),
        "window",
        "W / T",
        vec![
            bytes("W", window, "the window that the sender can use"),
            seconds("T", cycle, "from the first segment to the ACK that frees its place"),
        ],
    )
}

fn opens_late(subject: &Subject<'_>) -> Option<Applied> {
    let window = usable_window(subject)?.get().max(subject.finished.counts.flight_most);
    let (window, open) = (Bytes::new(window), subject.cycle()?);
    let closed = subject.finished.closures.median()?;
    Applied::by(
        laws::window_rate(window, open + closed),
        "window",
        "W / (T + Z)",
        vec![
            bytes("W", window, "the window when it is open"),
            seconds("T", open, "from the first segment to its ACK"),
            seconds("Z", closed, "from that ACK to the open window"),
        ],
    )
}

fn stalls(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let closures = finished.closures.count().max(1);
    let between = Bytes::new(subject.bytes().get() / closures);
    let closed = finished.closures.total() / i64::try_from(closures).unwrap_or(i64::MAX);
    let flight = finished.counts.flight_most.max(1);
    // A window that was never seen open let through what was in flight.
    let window = if finished.window_most > 0 { finished.window_most.min(flight) } else { flight };
    let window = Bytes::new(window);
    let open = laws::window_rate(window, subject.cycle()?);
    let open = finished.capacity.map_or(open, |best| open.min(best));
    stop_and_go(
        (between, "data between two stalls"),
        (open, "the rate while the window is open"),
        (closed, "how long it is closed, on average"),
    )
}

fn reader(subject: &Subject<'_>) -> Option<Applied> {
    let reading = subject.finished.reading?.rate;
    let meaning = "how fast the right edge of its window moves on, by the median";
    Applied::by(reading, "reader", "R", vec![rate("R", reading, meaning)])
}

/// How often a sender waits for a message of the other side, and how long on average.
pub(super) fn awaits(subject: &Subject<'_>) -> Option<(u64, Span)> {
    let count = subject.finished.counts.awaits;
    let parts = i64::try_from(count).ok().filter(|parts| *parts > 0)?;
    Some((count, subject.time_of(Cause::AwaitsAnswer) / parts))
}

fn dialogue(subject: &Subject<'_>) -> Option<Applied> {
    let (count, wait) = awaits(subject)?;
    let sending = subject.total() - subject.time_of(Cause::AwaitsAnswer);
    if sending <= Span::ZERO || wait <= Span::ZERO {
        return None;
    }
    let (asks, between) = match subject.asks() {
        Some(true) => ("from the end of it to the next request, on average", "data for a request"),
        _ => {
            ("from the end of it to the other side's message, on average", "data between two waits")
        }
    };
    stop_and_go(
        (Bytes::new(subject.bytes().get() / count), between),
        (subject.bytes().per(sending), "the rate without the waits"),
        (wait, asks),
    )
}

fn send_buffer(subject: &Subject<'_>) -> Option<Applied> {
    // Where timers ran out again and again there is no plateau; the flight is
    // the buffer then.
    let most = subject.finished.counts.flight_most;
    let buffer = Bytes::new(subject.classified.plateau.unwrap_or(most));
    let delay = subject.cycle()?;
    Applied::by(
        laws::send_buffer_rate(buffer, delay),
        "send-buffer",
        "N / D",
        vec![
            bytes("N", buffer, "the most that the sender had in flight"),
            seconds("D", delay, "from the first segment to its ACK"),
        ],
    )
}

fn slow_start(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let rtt = finished.told_rtt()?;
    let initial = Bytes::new(finished.initial_flight.max(1));
    let time = laws::slow_start_time(subject.bytes(), initial, 2.0, rtt);
    Applied::by(
        subject.bytes().per(time),
        "slow-start",
        "B / (RTT · log₂(1 + B / IW))",
        vec![
            bytes("B", subject.bytes(), "the transfer"),
            bytes("IW", initial, "the first flight"),
            seconds("RTT", rtt, "the path's round trip"),
        ],
    )
}

fn slow_timeouts(subject: &Subject<'_>) -> u64 {
    subject.finished.costly_timer().map_or(0, |timer| timer.count.into())
}

/// Transfers that wait for timers: so much data, then a silence that is charged to `cause`,
/// so many times.
fn silences(subject: &Subject<'_>, cause: Cause, count: u64) -> Option<Applied> {
    let finished = subject.finished;
    let count = count.max(1);
    let between = Bytes::new(subject.bytes().get() / count);
    let times = i64::try_from(count).unwrap_or(i64::MAX);
    let silence = subject.time_of(cause) / times;
    let open = finished.capacity.filter(|_| finished.counts.acks > 0)?;
    stop_and_go(
        (between, "data between two timeouts"),
        (open, "the rate between them"),
        (silence, "silence and repair, on average"),
    )
}

/// A receiver that keeps nothing behind a hole: so much data, then a repair that sends
/// all of a flight again.
fn discards(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let holes = finished.counts.loss_events.max(1);
    let between = Bytes::new(subject.bytes().get() / holes);
    let times = i64::try_from(holes).unwrap_or(i64::MAX);
    let repair = subject.time_of(Cause::ReceiverDiscards) / times;
    stop_and_go(
        (between, "data between two losses of the path"),
        (finished.capacity?, "the rate between them"),
        (repair, "until all that was discarded is there again, on average"),
    )
}

/// Full segments that never arrive: what passed, and the silences until the sender
/// lowered its size. Where it never did, nothing more passes.
fn black_hole(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    finished.black_hole.as_ref().filter(|hole| hole.escaped)?;
    let silence = subject.time_of(Cause::BlackHole);
    stop_and_go(
        (subject.bytes(), "the transfer"),
        (finished.capacity?, "the rate with segments that pass"),
        (silence, "until the sender lowered its size"),
    )
}

/// The burst passes at once, and the rest at the policer's rate.
fn policer(subject: &Subject<'_>) -> Option<Applied> {
    let policer = subject.finished.policer.as_ref()?;
    let rest = subject.bytes().get().checked_sub(policer.burst.get()).filter(|rest| *rest > 0)?;
    Applied::by(
        subject.bytes().per(policer.rate.time_for(Bytes::new(rest))),
        "policer",
        "B · R / (B − b)",
        vec![
            bytes("B", subject.bytes(), "the transfer"),
            rate("R", policer.rate, "what the policer lets pass"),
            bytes("b", policer.burst, "the burst that it let pass before"),
        ],
    )
}

/// The retransmission timeout that PFTK counts with: Linux's least, or twice
/// the round trip.
pub(super) fn timeout(rtt: Span) -> Span {
    Span::from_millis(200).max(rtt * 2)
}

fn loss(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let rtt = finished.told_rtt()?;
    let ratio = finished.counts.loss_events as f64 / finished.counts.segments.max(1) as f64;
    let window = Bytes::new(finished.window_most);
    let bound = laws::pftk_rate(subject.segment(), rtt, ratio, timeout(rtt), 2, Some(window))?;
    let formula = "MSS / (RTT √(4p/3) + T₀ min(1, 3 √(3p/4)) p (1 + 32p²))";
    Applied::by(
        bound,
        "loss",
        formula,
        vec![
            bytes("MSS", subject.segment(), "a full segment"),
            seconds("RTT", rtt, "the path's round trip"),
            Input {
                symbol: "p",
                value: ratio,
                unit: Unit::Share,
                meaning: "losses that the sender reacted to, of segments",
            },
            seconds("T₀", timeout(rtt), "the retransmission timeout"),
        ],
    )
}

/// Repairs of what was not lost: each cuts the congestion window, and no timer runs out.
fn cuts(subject: &Subject<'_>) -> Option<Applied> {
    let finished = subject.finished;
    let rtt = finished.told_rtt()?;
    let ratio = finished.counts.loss_events as f64 / finished.counts.segments.max(1) as f64;
    Applied::by(
        laws::mathis_rate(subject.segment(), rtt, ratio)?,
        "loss",
        "MSS / RTT · √(3/2) / √p",
        vec![
            bytes("MSS", subject.segment(), "a full segment"),
            seconds("RTT", rtt, "the path's round trip"),
            Input {
                symbol: "p",
                value: ratio,
                unit: Unit::Share,
                meaning: "repairs, each of which cut the congestion window, of segments",
            },
        ],
    )
}

fn flight(subject: &Subject<'_>) -> Option<Applied> {
    let flight = Bytes::new(subject.finished.counts.flight_most);
    let cycle = subject.cycle()?;
    Applied::by(
        laws::window_rate(flight, cycle),
        "window",
        "F / T",
        vec![
            bytes("F", flight, "the most that the sender had in flight"),
            seconds("T", cycle, "from the first segment to its ACK"),
        ],
    )
}

/// What the path delivered while it was full, or else the fastest that it
/// delivered over four round trips.
pub(super) fn capacity_seen(subject: &Subject<'_>) -> Option<Rate> {
    let time = subject.time_of(Cause::PathQueue);
    if subject.classified.delivered > 0 && time > Span::ZERO {
        let delivered = Bytes::new(subject.classified.delivered).per(time);
        // It carried the whole transfer, so it carries at least that.
        let measured = subject.bytes().per(subject.total());
        return Some(if delivered < measured { measured } else { delivered });
    }
    subject.finished.capacity
}

fn capacity(subject: &Subject<'_>) -> Option<Applied> {
    let capacity = capacity_seen(subject)?;
    let input = rate("C", capacity, "what the path delivered while it was full");
    Applied::by(capacity, "line", "C", vec![input])
}

fn nagle(subject: &Subject<'_>) -> Option<Applied> {
    let count = subject.finished.counts.nagle;
    let time = subject.time_of(Cause::NagleDelayedAck);
    if count == 0 {
        return None;
    }
    let each = Bytes::new(subject.bytes().get() / count);
    let wait = Span::from_nanos(time.as_nanos() / i64::try_from(count).unwrap_or(i64::MAX));
    let inputs = vec![
        bytes("N", each, "data between two such waits"),
        seconds("D", wait, "how long each lasts"),
    ];
    Applied::by(laws::send_buffer_rate(each, wait), "send-buffer", "N / D", inputs)
}
