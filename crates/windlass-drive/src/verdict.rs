//! What held a transfer back, from what the kernels of its ends say.
//!
//! Linux keeps, for each connection, how long it was busy sending, and for how
//! long of that the peer's window or the send buffer held it up (the
//! chronograph of `tcp_chrono_start`, in `TCP_INFO` since 4.10). What remains is
//! the path's or the congestion window's; the RTT under load beside the idle one
//! tells which. The words are those of `windlass explain`.

use windlass_base::figures::{Count, Percent, Share};
use windlass_base::verdict::{Confidence, Evidence, Input, Law, Remedy, Side, Unit, Verdict};
use windlass_base::{Bytes, Cause, Rate, Sentence, Span, laws, sentence};

use crate::report::{DirectionReport, Latency, LimitTimes, SenderStream, share};

/// A round trip under load this much above the idle one has waited in a queue:
/// the path carries what it can. BBR's inflight bound is 1.25 × the product, too
/// (draft-ietf-ccwg-bbr, `ProbeBW` up).
const QUEUED: f64 = 1.25;

/// And by this much at least: below, it is the hosts' own doing.
const QUEUED_BY: Span = Span::from_micros(200);

/// Windows of so many segments cannot queue what delays them much: the receiver
/// does. (A window of 2 segments is the print server's of the first document.)
const FEW_SEGMENTS: u64 = 4;

/// The share of a processor from which on a thread has no more to give.
const BUSY: f64 = 0.9;

/// A thread that only starts and ends has its processor for all of its time: what
/// is shorter than the longest tick of Linux says nothing of that.
const TICK: Span = Span::from_millis(10);

/// The same of all processors of a machine that is both ends: what the kernel
/// does in interrupts is nobody's.
const MACHINE_BUSY: f64 = 0.8;

/// A transfer at this share of the best delivery is at the path's rate, as in
/// `explain`.
const FULL: f64 = 0.8;

/// A flight of this share of the offered window about fills it: the start, in
/// which it grows, is in the mean.
const FILLS: f64 = 0.6;

/// The share of samples with a closed window from which on the receiver does not
/// read: full windows are closed for a moment now and then.
const CLOSED: f64 = 0.1;

/// The share of segments lost from which on loss is the limit (decision 7).
const LOSSY: f64 = 0.01;

/// A rate this near to the pace that was asked for is the pace's.
const PACED: f64 = 0.85;

/// A share this close to the first makes the first uncertain, as in `explain`.
const CLOSE: f64 = 0.1;

/// What is known of a direction of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct DirectionSeen<'a> {
    /// What the sender measured.
    pub sender: &'a DirectionReport,
    /// What the receiver measured, where it said so.
    pub receiver: Option<&'a DirectionReport>,
    /// The latency beside it.
    pub latency: Latency,
    /// The pace that was asked for.
    pub pace: Option<Rate>,
    /// The processors that both ends share, where they are one machine.
    pub shared: Option<usize>,
}

impl<'a> DirectionSeen<'a> {
    /// What the sender alone measured.
    pub fn by_sender(sender: &'a DirectionReport) -> Self {
        Self { sender, receiver: None, latency: Latency::default(), pace: None, shared: None }
    }
}

/// The streams of a direction together.
#[derive(Clone, Copy, Debug)]
struct Sum {
    streams: u64,
    /// Means and counts of what their kernels know.
    kernel: SenderStream,
    /// Sums of the means.
    window: Bytes,
    flight: Bytes,
    congestion_window: Bytes,
    buffer: Bytes,
    closed: bool,
    segment: u64,
    lost: u64,
}

impl Sum {
    fn of(sender: &DirectionReport) -> Self {
        let all = || {
            let streams = sender.streams.iter();
            streams.filter_map(|stream| Some((stream, stream.sender.as_ref()?)))
        };
        let sum = |of: fn(&SenderStream) -> Bytes| all().map(|(_, kernel)| of(kernel)).sum();
        let lost = |kernel: &SenderStream| {
            kernel.retransmissions.saturating_sub(kernel.needless_retransmissions)
        };
        Self {
            streams: all().count() as u64,
            kernel: sender.kernel().unwrap_or_default(),
            window: sum(|kernel| kernel.mean_peer_window_bytes.unwrap_or_default()),
            flight: sum(|kernel| kernel.mean_flight_bytes),
            congestion_window: sum(|kernel| kernel.mean_congestion_window_bytes),
            buffer: all().map(|(stream, _)| stream.granted_send_buffer_bytes).sum(),
            closed: all().any(|(_, kernel)| kernel.closed_share >= CLOSED),
            segment: all().map(|(stream, _)| stream.mss_bytes.into()).max().unwrap_or(0),
            lost: all().map(|(_, kernel)| lost(kernel)).sum(),
        }
    }

    /// The mean round trip under load; zero where it is not known.
    fn rtt(&self) -> Span {
        self.kernel.mean_rtt_seconds.unwrap_or_default()
    }

    fn has_window(&self) -> bool {
        self.kernel.mean_peer_window_bytes.is_some()
    }

    fn loss(&self) -> f64 {
        share(self.lost, self.kernel.segments)
    }

    /// The window of one stream.
    fn one_window(&self) -> Bytes {
        Bytes::new(self.window.get() / self.streams.max(1))
    }
}

/// What held a direction of a transfer back.
pub fn verdict(seen: &DirectionSeen<'_>) -> Verdict {
    let sum = Sum::of(seen.sender);
    let shares = shares(seen, &sum);
    let (cause, share) = shares.first().copied().unwrap_or((Cause::Unknown, 1.0));
    let next = shares.get(1).filter(|(_, share)| *share > 0.01).map(|(cause, _)| cause.limit());
    let of_limit = shares.iter().filter(|(other, _)| other.limit() == cause.limit());
    let limit_share = of_limit.map(|(_, share)| share).sum::<f64>().max(share);
    let law = law(seen, &sum, cause);
    let (predicted, measured) = (law.as_ref().map(|(_, rate)| *rate), seen.sender.bytes_per_second);
    Verdict {
        cause,
        share,
        limit_share,
        sentence: sentence(seen, &sum, cause, share),
        evidence: evidence(seen, &sum),
        predicted_bytes_per_second: predicted,
        law: law.map(|(law, _)| law),
        measured_bytes_per_second: measured,
        next,
        remedies: remedies(seen, &sum, cause, share),
        confidence: confidence(cause, &shares).min(Confidence::by_prediction(predicted, measured)),
        caveats: Vec::new(),
    }
}

/// What the time went to, the most first.
fn shares(seen: &DirectionSeen<'_>, sum: &Sum) -> Vec<(Cause, f64)> {
    let whole = seen.sender.seconds.scaled(sum.streams as f64);
    if sum.streams == 0 || whole <= Span::ZERO || seen.sender.bytes == Bytes::ZERO {
        return Vec::new();
    }
    let LimitTimes { busy_seconds, receiver_limited_seconds, buffer_limited_seconds } =
        sum.kernel.times;
    let window = receiver_limited_seconds.share_of(whole);
    let buffer = buffer_limited_seconds.share_of(whole);
    let busy = busy_seconds.share_of(whole);
    let rest = (busy - window - buffer).max(0.0);
    let idle = (1.0 - busy).max(0.0);
    let shares = [
        (of_window(seen, sum), window),
        (Cause::BufferPathRtt, buffer),
        (of_rest(seen, sum), rest),
        (of_idle(seen), idle),
    ];
    // The same limit may have come by two ways.
    let mut merged = Vec::<(Cause, f64)>::new();
    for (cause, share) in shares {
        match merged.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, known)) => *known += share,
            None => merged.push((cause, share)),
        }
    }
    merged.sort_by(|one, other| other.1.total_cmp(&one.1));
    merged
}

/// The round trip of the idle path. The kernel's own least may come from time
/// stamps of a millisecond.
fn base(seen: &DirectionSeen<'_>, sum: &Sum) -> Option<Span> {
    seen.latency.idle_seconds.map(|idle| idle.min).or(sum.kernel.min_rtt_seconds)
}

/// The least round trip that is known: that of a small message holds what both
/// programs take as well, which on a short path is most of it.
fn least(seen: &DirectionSeen<'_>, sum: &Sum) -> Option<Span> {
    // Where segments leave twice, the kernel goes by time stamps.
    let own = sum.kernel.min_rtt_seconds.filter(|_| sum.kernel.retransmissions == 0);
    base(seen, sum).into_iter().chain(own).min()
}

/// Whether the transfer goes as fast as data was ever delivered.
fn is_full(seen: &DirectionSeen<'_>, sum: &Sum) -> bool {
    let best = sum.kernel.max_delivery_bytes_per_second.bytes_per_second();
    seen.sender.bytes_per_second.bytes_per_second() >= FULL * best
}

/// Whether data waits in a queue of the path.
fn is_queued(seen: &DirectionSeen<'_>, sum: &Sum) -> bool {
    let Some(base) = base(seen, sum) else { return false };
    // Small messages beside the test wait in the same queue; a receiver that is
    // slow to acknowledge does not delay them. Hosts that are slow to answer do
    // so without load, too.
    let messages = match (seen.latency.idle_seconds, seen.latency.loaded_seconds) {
        (Some(idle), Some(loaded)) => is_longer(loaded.p50, idle.p50),
        (None, Some(loaded)) => is_longer(loaded.p50, base),
        (_, None) => true,
    };
    messages && is_longer(sum.rtt(), base)
}

/// Whether a round trip has waited beyond what it takes otherwise.
fn is_longer(rtt: Span, idle: Span) -> bool {
    rtt > idle.scaled(QUEUED) && rtt - idle > QUEUED_BY
}

fn is_busy(seen: &DirectionSeen<'_>) -> bool {
    is_long(seen) && seen.sender.cpu.busiest_share >= BUSY
}

/// Whether it took long enough for processors to matter.
fn is_long(seen: &DirectionSeen<'_>) -> bool {
    seen.sender.seconds >= TICK
}

/// The share that both ends take of the processors that they share.
fn machine(seen: &DirectionSeen<'_>) -> Option<f64> {
    let shares = seen.sender.cpu.share + seen.receiver?.cpu.share;
    Some(shares / seen.shared? as f64)
}

fn machine_is_busy(seen: &DirectionSeen<'_>) -> bool {
    is_long(seen) && machine(seen).is_some_and(|share| share >= MACHINE_BUSY)
}

fn receiver_is_busy(seen: &DirectionSeen<'_>) -> bool {
    is_long(seen) && seen.receiver.is_some_and(|receiver| receiver.cpu.busiest_share >= BUSY)
}

/// What a full window comes from.
fn of_window(seen: &DirectionSeen<'_>, sum: &Sum) -> Cause {
    let segment = sum.segment.max(1);
    if receiver_is_busy(seen) || machine_is_busy(seen) {
        return Cause::Processor;
    }
    if sum.has_window() && sum.one_window().get() < segment {
        return Cause::WindowBelowMss;
    }
    if sum.closed {
        return Cause::ReceiverNotReading;
    }
    let late = base(seen, sum).is_some_and(|base| is_longer(sum.rtt(), base));
    if late && sum.has_window() && sum.one_window().get() <= FEW_SEGMENTS * segment {
        return Cause::WindowAckLatency;
    }
    // A window that holds more than the path does fills the path's queue.
    if is_queued(seen, sum) { Cause::PathQueue } else { Cause::WindowPathRtt }
}

/// Whether the flight fills the offered window, and the congestion window would
/// allow more. Linux adds up in jiffies for how long a window held it
/// (`tcp_chrono_set`), so on a path that is shorter than a jiffy much of that is
/// missed. What is in flight on average is the rate times the round trip (Little
/// 1961); samples of it miss what is acknowledged just before them.
fn fills_window(seen: &DirectionSeen<'_>, sum: &Sum) -> bool {
    let window = sum.window.get() as f64;
    let flight = seen.sender.bytes_per_second.bytes_per_second() * sum.rtt().as_seconds();
    sum.has_window()
        && window > 0.0
        && flight >= FILLS * window
        && sum.congestion_window > sum.window
}

/// Whether a window of a few segments holds the sender, where no small messages
/// tell a queue from a receiver that is late: so few segments queue for no time,
/// and neither the congestion window nor the buffer is as small.
fn holds_by_few(seen: &DirectionSeen<'_>, sum: &Sum) -> bool {
    seen.latency.loaded_seconds.is_none()
        && sum.has_window()
        && sum.one_window().get() <= FEW_SEGMENTS * sum.segment
        && sum.congestion_window > sum.window
        && sum.buffer > sum.window
        && !fills_buffer(seen, sum)
}

/// Whether the flight fills the send buffer, and the congestion window would
/// allow more. Linux does not count all of that wait: a write that finds room
/// takes a whole segment of the stack (up to 64 KB), and while that one is on its
/// way the kernel waits for ACKs and not for room. A buffer that the kernel
/// sizes holds twice the congestion window (`tcp_sndbuf_expand`), so no flight
/// fills it before that is full.
fn fills_buffer(seen: &DirectionSeen<'_>, sum: &Sum) -> bool {
    let flight = seen.sender.bytes_per_second.bytes_per_second() * sum.rtt().as_seconds();
    let buffer = sum.buffer.get() as f64;
    buffer > 0.0
        && flight >= FILLS * buffer
        && flight <= FULL * sum.congestion_window.get() as f64
        && (!sum.has_window() || flight < FULL * sum.window.get() as f64)
}

/// What the time comes from in which there was nothing to send.
fn of_idle(seen: &DirectionSeen<'_>) -> Cause {
    if is_busy(seen) || machine_is_busy(seen) { Cause::Processor } else { Cause::SenderIdle }
}

/// Whether a rate is that of the pace that was asked for.
pub fn keeps(pace: Rate, rate: Rate) -> bool {
    rate.bytes_per_second() > pace.bytes_per_second() * PACED
}

/// What the rest of the busy time comes from.
fn of_rest(seen: &DirectionSeen<'_>, sum: &Sum) -> Cause {
    if seen.pace.is_some_and(|pace| keeps(pace, seen.sender.bytes_per_second)) {
        Cause::SenderIdle
    } else if is_busy(seen) || receiver_is_busy(seen) || machine_is_busy(seen) {
        Cause::Processor
    } else if sum.loss() >= LOSSY {
        Cause::FastRecovery
    } else if holds_by_few(seen, sum) {
        of_window(seen, sum)
    } else if is_queued(seen, sum)
        && (is_full(seen, sum) || sum.lost == 0 && !fills_buffer(seen, sum))
    {
        Cause::PathQueue
    } else if fills_window(seen, sum) {
        of_window(seen, sum)
    } else if fills_buffer(seen, sum) {
        Cause::BufferPathRtt
    } else if sum.kernel.never_left_slow_start {
        Cause::SlowStart
    } else if sum.lost > 0 {
        Cause::AfterLoss
    } else {
        Cause::Steady
    }
}

fn confidence(cause: Cause, shares: &[(Cause, f64)]) -> Confidence {
    let first = shares.first().map_or(0.0, |(_, share)| *share);
    let second = shares.get(1).map_or(0.0, |(_, share)| *share);
    if cause == Cause::Unknown {
        Confidence::Low
    } else if first < 0.4 || first - second < CLOSE || cause == Cause::Steady {
        Confidence::Medium
    } else {
        Confidence::High
    }
}

fn streams(sum: &Sum) -> Sentence {
    match sum.streams {
        1 => Sentence::new(),
        count => sentence!(" on each of {count} streams"),
    }
}

fn sentence(seen: &DirectionSeen<'_>, sum: &Sum, cause: Cause, share: f64) -> Sentence {
    let (time, rtt, window) = (Share(share), sum.rtt(), sum.one_window());
    let each = streams(sum);
    let base = base(seen, sum).unwrap_or_default();
    match cause {
        Cause::WindowPathRtt => sentence!(
            "The receiver takes only {window} at a time{each}, and each round trip takes {rtt}: \
             the sender waits with a full window {time} of the time."
        ),
        Cause::WindowAckLatency => sentence!(
            "The receiver takes only {window} at a time{each} and acknowledges it {rtt} later on \
             a path of {base}: the sender waits {time} of the time."
        ),
        Cause::WindowBelowMss => sentence!(
            "The receiver takes only {window} at a time{each}, less than one full segment of {}: \
             the sender sends a piece, waits for its ACK and sends the next, {time} of the time.",
            Bytes::new(sum.segment)
        ),
        Cause::ReceiverNotReading => sentence!(
            "The receiver closes its window{each}: its program does not read as fast as data \
             comes, and the sender waits {time} of the time."
        ),
        Cause::BufferPathRtt => sentence!(
            "The sender's buffer holds too little for a round trip of {rtt}{each}: it waits for \
             room {time} of the time, though the receiver would take {window}."
        ),
        Cause::PathQueue => sentence!(
            "The path carries what it can: data waits in a queue of it, so that a round trip \
             takes {rtt} and not {base}, {time} of the time."
        ),
        Cause::SlowStart => sentence!(
            "The sender still tests how much the path takes{each}, and sends more with each round \
             trip of {rtt}, {time} of the time."
        ),
        Cause::FastRecovery => sentence!(
            "{} of the segments were lost and sent again, and with each loss the sender \
             sends less: {time} of the time its congestion window holds it.",
            Percent(sum.loss(), 2)
        ),
        Cause::AfterLoss => sentence!(
            "After loss the sender regains its rate slowly{each}, on a path of {rtt}: its \
             congestion window holds it {time} of the time."
        ),
        Cause::Steady => sentence!(
            "The sender's congestion window of {} holds it{each} {time} of the time.",
            Bytes::new(sum.congestion_window.get() / sum.streams.max(1))
        ),
        Cause::Processor if is_busy(seen) => sentence!(
            "The sender's program takes {} of a processor: it cannot send faster.",
            Share(seen.sender.cpu.busiest_share)
        ),
        Cause::Processor if receiver_is_busy(seen) => sentence!(
            "The receiver's program takes {} of a processor: it cannot take data faster.",
            Share(seen.receiver.map_or(0.0, |receiver| receiver.cpu.busiest_share))
        ),
        Cause::Processor => sentence!(
            "Both ends are this machine, and they take {} of its processors together.",
            Share(machine(seen).unwrap_or(0.0))
        ),
        Cause::SenderIdle if seen.pace.is_some() => {
            "The sender keeps to the pace that was asked for.".into()
        }
        Cause::SenderIdle => {
            sentence!("The sending program had nothing to send{each} {time} of the time.")
        }
        _ => "Nothing that was measured tells what held the transfer back.".into(),
    }
}

fn evidence(seen: &DirectionSeen<'_>, sum: &Sum) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let mut say = |shows: Sentence| evidence.push(Evidence { packets: Vec::new(), shows });
    let whole = seen.sender.seconds.scaled(sum.streams as f64);
    if sum.streams > 0 && whole > Span::ZERO {
        let of = |time: Span| Share(time.share_of(whole));
        say(sentence!(
            "the sender's kernel was busy {} of the time: the window held it {}, the send buffer \
             {}",
            of(sum.kernel.times.busy_seconds),
            of(sum.kernel.times.receiver_limited_seconds),
            of(sum.kernel.times.buffer_limited_seconds),
        ));
    }
    if let (Some(least), true) = (least(seen, sum), sum.rtt() > Span::ZERO) {
        say(sentence!("a round trip takes {least} at the least, {} under load", sum.rtt()));
    }
    if let (Some(idle), Some(loaded)) = (seen.latency.idle_seconds, seen.latency.loaded_seconds) {
        say(sentence!(
            "a small message beside it takes {} idle, {} under load",
            idle.p50,
            loaded.p50
        ));
    }
    if sum.lost > 0 {
        let (of, were) = (Count(sum.kernel.segments), if sum.lost == 1 { "was" } else { "were" });
        say(sentence!("{} of {of} segments {were} lost", Count(sum.lost)));
    }
    evidence
}

fn input(symbol: &'static str, value: f64, unit: Unit, meaning: &'static str) -> Input {
    Input { symbol, value, unit, meaning }
}

fn bytes(symbol: &'static str, value: Bytes, meaning: &'static str) -> Input {
    input(symbol, value.get() as f64, Unit::Bytes, meaning)
}

fn law(seen: &DirectionSeen<'_>, sum: &Sum, cause: Cause) -> Option<(Law, Rate)> {
    if sum.rtt() <= Span::ZERO {
        return None;
    }
    let cycle = input("T", sum.rtt().as_seconds(), Unit::Seconds, "the mean round trip under load");
    let window = |window: Bytes, meaning| {
        let law = Law {
            name: "window",
            formula: "W / T",
            inputs: vec![bytes("W", window, meaning), cycle.clone()],
        };
        Some((law, laws::window_rate(window, sum.rtt())))
    };
    match cause {
        Cause::WindowPathRtt | Cause::WindowAckLatency if sum.has_window() => {
            window(sum.window, "the windows that the receiver offers, over all streams")
        }
        // A short transfer has no sample with something in flight.
        Cause::BufferPathRtt | Cause::Steady | Cause::SlowStart if sum.flight > Bytes::ZERO => {
            window(sum.flight, "what is in flight on average, over all streams")
        }
        Cause::FastRecovery | Cause::AfterLoss => {
            let (segment, loss) = (Bytes::new(sum.segment), sum.loss());
            let one = laws::mathis_rate(segment, base(seen, sum)?, loss)?;
            let rate = Rate::from_bytes_per_second(one.bytes_per_second() * sum.streams as f64);
            let inputs = vec![
                bytes("MSS", segment, "the size of a segment"),
                input("p", loss, Unit::Share, "the share of segments lost"),
                input("n", sum.streams as f64, Unit::Count, "streams"),
            ];
            Some((Law { name: "loss", formula: "n × MSS / RTT × 1.22 / √p", inputs }, rate))
        }
        _ => None,
    }
}

/// The rate when `share` of the time shrinks to `factor` of itself (Amdahl 1967).
fn lifted(seen: &DirectionSeen<'_>, share: f64, factor: f64) -> Option<Rate> {
    let rest = 1.0 - share + share * factor;
    let rate = seen.sender.bytes_per_second.bytes_per_second();
    (rest > 0.0 && rate > 0.0).then(|| Rate::from_bytes_per_second(rate / rest))
}

fn remedies(seen: &DirectionSeen<'_>, sum: &Sum, cause: Cause, share: f64) -> Vec<Remedy> {
    let remedy = |side, action: Sentence, value: Option<(f64, Unit)>, factor: Option<f64>| Remedy {
        side,
        action,
        value: value.map(|(value, _)| value),
        unit: value.map(|(_, unit)| unit),
        expected_bytes_per_second: factor.and_then(|factor| lifted(seen, share, factor)),
        then: None,
    };
    let advice = |side, action: &'static str| remedy(side, action.into(), None, None);
    let size = |bytes: u64| Some((bytes as f64, Unit::Bytes));
    let window = sum.one_window().get().max(1);
    let larger = || {
        let four = window.saturating_mul(4).next_power_of_two();
        let action = sentence!("offer a larger receive window: {}", Bytes::new(four));
        remedy(Side::Receiver, action, size(four), Some(window as f64 / four as f64))
    };
    let more = || {
        let streams = Some(((sum.streams * 4) as f64, Unit::Count));
        let action = "send over 4 times as many streams at once".into();
        remedy(Side::Sender, action, streams, Some(0.25))
    };
    match cause {
        Cause::WindowPathRtt => vec![larger(), more()],
        Cause::WindowAckLatency => {
            let at_once = base(seen, sum).map(|base| {
                let action = sentence!(
                    "acknowledge when data arrives, at the latest every second segment: the path \
                     itself takes {base}"
                );
                let value = Some((base.as_seconds(), Unit::Seconds));
                remedy(Side::Receiver, action, value, Some(base.share_of(sum.rtt())))
            });
            at_once.into_iter().chain([larger()]).collect()
        }
        Cause::WindowBelowMss => {
            let least = sum.segment.saturating_mul(4);
            let bytes = Bytes::new(least);
            let action = sentence!("offer a window of at least 4 full segments: {bytes}");
            vec![remedy(Side::Receiver, action, size(least), None)]
        }
        Cause::ReceiverNotReading => vec![advice(
            Side::Receiver,
            "find out why its program takes no data; a larger buffer only moves the wait",
        )],
        Cause::BufferPathRtt => {
            // Less than what is in flight already would change nothing.
            let held = sum.buffer.max(sum.flight).get() / sum.streams.max(1);
            let value = held.saturating_mul(4);
            let bytes = Bytes::new(value);
            let action = sentence!("use a larger send buffer: {bytes}, or let the kernel size it");
            vec![remedy(Side::Sender, action, size(value), Some(0.25))]
        }
        Cause::PathQueue => vec![advice(
            Side::Path,
            "none needed: this is the path's rate. A smaller window keeps its queue short; \
             windlass sweep finds it",
        )],
        Cause::SlowStart => {
            vec![advice(Side::Sender, "measure for longer, or leave the start out with --omit")]
        }
        Cause::FastRecovery | Cause::AfterLoss => vec![
            advice(
                Side::Path,
                "find where segments are lost: a full queue, a bad cable, a duplex mismatch, radio",
            ),
            advice(Side::Sender, "try a congestion control that minds loss less, as bbr"),
        ],
        Cause::Processor if sum.streams < 2 && !machine_is_busy(seen) => vec![advice(
            if is_busy(seen) { Side::Sender } else { Side::Receiver },
            "use more streams, where there are more processors",
        )],
        Cause::Steady => vec![more()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
