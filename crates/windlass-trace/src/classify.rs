//! From kinds of waiting to limits, with the whole transfer in view.

use std::collections::BTreeMap;

use windlass_base::{Bytes, Cause, Rate, Span};

use crate::finished::Finished;
use crate::ledger::{Activity, Interval, Kind, Phase};

/// Rounds that a flight must stay level before it counts as a plateau. A
/// congestion window in congestion avoidance grows by a segment in each
/// (RFC 5681 section 3.1), so it would have grown by several.
const PLATEAU_ROUNDS: usize = 5;

/// A round trip this much longer than the path's shows a queue: the bound of
/// the round-based rules of BBR (Cardwell et al. 2016) is 1.2, and 1.25 with
/// jitter.
const QUEUE: f64 = 1.25;

/// Latencies shorter than this say nothing of a queue or of a delayed ACK:
/// hosts are that slow by themselves.
const LEAST_QUEUE: Span = Span::from_micros(500);

/// The share of its time that a full line sends; losses leave gaps.
const BUSY: f64 = 0.85;

/// Loss as frequent as this keeps a congestion window from growing: at 1 %
/// Mathis's law leaves it 12 segments.
const FREQUENT_LOSS: f64 = 0.01;

/// A receiver that offers less than this share of its largest window, on average,
/// holds data that its program has not read: a larger window would hold more of
/// it, and nothing would be faster. A printer that reads 1,986 kB/s from a buffer
/// of eight segments, and acknowledges after 3 ms, offers five, 62 %. One that
/// reads at once offers all, or all but the two segments of a delayed ACK: of
/// eight, 75 %.
const UNREAD: f64 = 0.7;

/// A receiver that takes this long beyond the path withholds its ACKs. Linux
/// does for 40 ms and more; half of that leaves room for its jitter.
const WITHHELD: Span = Span::from_millis(20);

/// An interval of the timeline, charged to one cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) cause: Cause,
    pub(crate) interval: Interval,
}

/// Where a transfer's time went.
#[derive(Debug)]
pub(crate) struct Classified {
    pub(crate) charges: Vec<Charge>,
    /// Time by cause; the sum is the whole transfer.
    pub(crate) times: BTreeMap<Cause, Span>,
    pub(crate) total: Span,
    /// The flight at which a send buffer holds the transfer, on average.
    pub(crate) plateau: Option<u64>,
    /// What was acknowledged while the path was full.
    pub(crate) delivered: u64,
}

/// Charges each interval to a cause.
pub(crate) fn classify(finished: &Finished) -> Classified {
    let plateaus = plateaus(finished);
    let full = full_rate(finished);
    let mut times: BTreeMap<Cause, Span> = BTreeMap::new();
    let mut by_kind: Vec<(Kind, Cause, Span)> = Vec::new();
    let mut charges: Vec<Charge> = Vec::new();
    let intervals = &finished.ledger.intervals;
    let mut delivered = 0;
    for (interval, plateau) in intervals.iter().zip(&plateaus) {
        let cause = match cause(finished, interval, *plateau) {
            Cause::FastRecovery if keeps_up(finished, interval, full) => Cause::PathQueue,
            Cause::FastRecovery | Cause::AfterLoss if is_line_busy(finished, interval) => {
                Cause::PathQueue
            }
            cause => cause,
        };
        if cause == Cause::PathQueue {
            delivered += passed(finished, &interval.activity);
        }
        *times.entry(cause).or_default() += interval.charged;
        match by_kind.iter_mut().find(|(kind, known, _)| (*kind, *known) == (interval.kind, cause))
        {
            Some((_, _, sum)) => *sum += interval.charged,
            None => by_kind.push((interval.kind, cause, interval.charged)),
        }
        match charges.last_mut() {
            Some(last) if last.cause == cause => {
                last.interval.end = interval.end;
                last.interval.last = interval.last;
                last.interval.charged += interval.charged;
            }
            _ => charges.push(Charge { cause, interval: *interval }),
        }
    }
    // Time whose interval was merged away goes where its kind went.
    for absorbed in &finished.ledger.absorbed {
        let same = by_kind.iter().filter(|(known, _, _)| *known == absorbed.kind);
        let most = same.max_by_key(|(_, _, sum)| *sum);
        let cause = most.map_or_else(|| plain_cause(absorbed.kind), |(_, cause, _)| *cause);
        *times.entry(cause).or_default() += absorbed.charged;
        if cause == Cause::PathQueue {
            delivered += passed(finished, &absorbed.activity);
        }
    }
    times.retain(|_, span| *span > Span::ZERO);
    let total = times.values().copied().sum();
    let level = intervals.iter().zip(&plateaus).filter(|(_, plateau)| **plateau);
    let flights: Vec<u64> = level.map(|(interval, _)| interval.activity.flight_high).collect();
    let plateau = flights.iter().sum::<u64>().checked_div(flights.len() as u64);
    Classified { charges, times, total, plateau, delivered }
}

/// The rate of the path, where it stood full for a good part of the transfer.
fn full_rate(finished: &Finished) -> Option<Rate> {
    let intervals = finished.ledger.intervals.iter();
    let full = intervals.clone().filter(|interval| {
        interval.kind == Kind::Queued
            || matches!(interval.kind, Kind::Open | Kind::Window)
                && is_pipe_full(finished, interval)
    });
    let (mut time, mut bytes) = (Span::ZERO, 0);
    for interval in full {
        time += interval.charged;
        bytes += passed(finished, &interval.activity);
    }
    let all: Span = intervals.map(|interval| interval.charged).sum();
    // Not less than the fastest that it delivered over a few round trips.
    let fastest = finished.capacity.unwrap_or_default();
    let full = Bytes::new(bytes).per(time);
    (time.share_of(all) >= 0.05).then_some(if full < fastest { fastest } else { full })
}

/// Whether a transfer under repair went on at the path's rate: then loss cost it
/// nothing, for the queue that lost the data was full.
fn keeps_up(finished: &Finished, interval: &Interval, full: Option<Rate>) -> bool {
    let rate = Bytes::new(passed(finished, &interval.activity)).per(interval.charged);
    full.is_some_and(|full| rate.bytes_per_second() >= 0.8 * full.bytes_per_second())
}

/// Whether segments came to the capture one behind the other, as a line sends
/// them that is never idle. Behind the line that limits the path that is how a
/// full queue before it shows, where the sender's timestamps do not tell.
fn is_line_busy(finished: &Finished, interval: &Interval) -> bool {
    let Some(each) = finished.packet_time.filter(|each| *each > Span::ZERO) else { return false };
    let segments = interval.activity.sent / finished.segment_size;
    let sending = each * i64::try_from(segments).unwrap_or(i64::MAX);
    sending.share_of(interval.charged) >= BUSY
}

fn cause(finished: &Finished, interval: &Interval, plateau: bool) -> Cause {
    match interval.kind {
        Kind::Window => window_cause(finished, interval),
        Kind::Open => open_cause(finished, interval, plateau),
        Kind::Blind { window_full } => blind_cause(finished, window_full),
        Kind::Skipped if finished.loses() => Cause::Timeout,
        Kind::Nagle if is_buffer_below_mss(finished, finished.counts.nagle) => {
            Cause::BufferDelayedAck
        }
        kind => plain_cause(kind),
    }
}

/// What passed the path in this time: near the receiver, what arrived; else
/// what was acknowledged.
fn passed(finished: &Finished, activity: &Activity) -> u64 {
    if finished.ack_delay > Span::ZERO { activity.sent } else { activity.acked }
}

fn plain_cause(kind: Kind) -> Cause {
    match kind {
        Kind::Window => Cause::WindowPathRtt,
        Kind::Open => Cause::Steady,
        Kind::Nagle => Cause::NagleDelayedAck,
        Kind::Recovery => Cause::FastRecovery,
        Kind::Timeout | Kind::Blind { .. } => Cause::Timeout,
        Kind::NotReading => Cause::ReceiverNotReading,
        Kind::NoUpdate => Cause::NoWindowUpdate,
        Kind::OpensLate => Cause::WindowOpensLate,
        Kind::Idle | Kind::Skipped => Cause::SenderIdle,
        Kind::AwaitPeer => Cause::AwaitsAnswer,
        Kind::Queued => Cause::PathQueue,
        Kind::Missing => Cause::Unknown,
    }
}

fn window_cause(finished: &Finished, interval: &Interval) -> Cause {
    if finished.window_most < finished.segment_size {
        return Cause::WindowBelowMss;
    }
    // Where the window also closes, that says who does not read.
    let closed = finished.closures.total().share_of(interval.end.since(interval.start));
    if closed < 0.1 && interval.activity.window_share().is_some_and(|share| share < UNREAD) {
        return Cause::ReceiverLimited;
    }
    if is_pipe_full(finished, interval) {
        return Cause::PathQueue;
    }
    if is_ack_slow(finished, interval) || finished.withholds_acks() {
        Cause::WindowAckLatency
    } else {
        Cause::WindowPathRtt
    }
}

fn open_cause(finished: &Finished, interval: &Interval, plateau: bool) -> Cause {
    let activity = &interval.activity;
    if are_segments_small(finished) && activity.small_segments * 2 > activity.segments {
        return Cause::SmallSegments;
    }
    if is_pipe_full(finished, interval) {
        return Cause::PathQueue;
    }
    if plateau {
        return if is_ack_withheld(finished, interval) || finished.withholds_acks() {
            withheld_cause(finished)
        } else {
            Cause::BufferPathRtt
        };
    }
    if interval.phase == Phase::AfterLoss && finished.loss_ratio() >= FREQUENT_LOSS {
        // The next loss comes before the window has regained what the last one
        // took: it is loss that keeps the window small.
        let counts = &finished.counts;
        let by_timer = counts.timeouts * 2 > counts.loss_events;
        return if by_timer { Cause::Timeout } else { Cause::FastRecovery };
    }
    match interval.phase {
        Phase::SlowStart => Cause::SlowStart,
        Phase::AfterLoss => Cause::AfterLoss,
        Phase::Level => Cause::Steady,
    }
}

/// What a withheld ACK holds back: a small segment, or what has no room in the
/// send buffer.
fn withheld_cause(finished: &Finished) -> Cause {
    let counts = &finished.counts;
    let often = counts.held_small * 2 > counts.blind_timeouts + counts.withheld;
    if often && !is_buffer_below_mss(finished, counts.held_small) {
        Cause::NagleDelayedAck
    } else {
        Cause::BufferDelayedAck
    }
}

/// Whether the send buffer holds less than a segment: nearly each segment waits
/// for the ACK of the one before, of which `held` were seen. Nagle's algorithm
/// would let the program fill a segment while one waits.
fn is_buffer_below_mss(finished: &Finished, held: u64) -> bool {
    let counts = &finished.counts;
    counts.flight_most < finished.segment_size && held * 4 > counts.segments * 3
}

/// A timer ran out and nothing proves a loss: a loss like any other, unless the
/// receiver is known to withhold its ACKs.
fn blind_cause(finished: &Finished, window_full: bool) -> Cause {
    match (finished.withholds_acks(), window_full) {
        (true, true) => Cause::WindowAckLatency,
        (true, false) => withheld_cause(finished),
        (false, _) => Cause::Timeout,
    }
}

/// Whether the sender's segments are small by habit: half a segment or less on
/// average, over enough of them to be more than a few requests.
fn are_segments_small(finished: &Finished) -> bool {
    let counts = &finished.counts;
    counts.segments >= 20 && counts.bytes < counts.segments * finished.segment_size / 2
}

/// The whole cycle from data to its ACK's effect, over an interval: the ACK's
/// latency at the capture, and the way from there to the sender and back.
fn cycle(finished: &Finished, interval: &Interval) -> Option<Span> {
    let latency = interval.activity.latency().or_else(|| finished.latency.median())?;
    let turn = match interval.activity.turn() {
        Some(turn) if finished.ack_delay > Span::ZERO => turn,
        _ => finished.ack_delay,
    };
    Some(latency + turn)
}

/// The path's round trip without a queue: the handshake's, or the least sample
/// where the handshake took longer than jitter explains.
fn quiet_rtt(finished: &Finished) -> Option<Span> {
    let least = finished.path_rtt?;
    Some(finished.handshake.rtt().map_or(least, |rtt| rtt.min(least.scaled(1.5)).max(least)))
}

/// Whether a queue stood on the path: ACKs came as an even train, and took
/// longer than the path does.
fn is_pipe_full(finished: &Finished, interval: &Interval) -> bool {
    let activity = &interval.activity;
    let (Some(path), Some(cycle)) = (quiet_rtt(finished), cycle(finished, interval)) else {
        return false;
    };
    let own = cycle - path;
    if own < LEAST_QUEUE || own.as_seconds() < path.as_seconds() * (QUEUE - 1.0) {
        return false;
    }
    // A train of ACKs, each for a few segments of the flight. One late ACK for
    // the whole flight is the receiver's doing.
    let even = activity.usual_gap().is_some_and(|gap| gap <= cycle / 2);
    let flight = activity.flight_high;
    let per_ack = activity.acked / u64::from(activity.acks.max(1));
    even && flight >= 4 * finished.segment_size && per_ack > 0 && flight / per_ack >= 3
}

/// Whether the receiver takes longer to acknowledge than the path does.
fn is_ack_slow(finished: &Finished, interval: &Interval) -> bool {
    let (Some(path), Some(cycle)) = (finished.path_rtt, cycle(finished, interval)) else {
        return false;
    };
    if finished.handshake.rtt().is_some() {
        cycle - path >= path.max(LEAST_QUEUE)
    } else {
        // No handshake: only the spread of the samples tells.
        cycle >= path * 3 && cycle - path >= WITHHELD
    }
}

/// Whether the receiver withholds its ACKs until a timer.
fn is_ack_withheld(finished: &Finished, interval: &Interval) -> bool {
    let (Some(path), Some(cycle)) = (finished.path_rtt, cycle(finished, interval)) else {
        return false;
    };
    is_ack_slow(finished, interval) && cycle - path >= WITHHELD
}

/// Which intervals are part of a plateau that a send buffer makes: the flight
/// stays level over many rounds without loss, and the sender's waits do not
/// look like a congestion window's.
fn plateaus(finished: &Finished) -> Vec<bool> {
    let intervals = &finished.ledger.intervals;
    let mut marks = vec![false; intervals.len()];
    let rounds: Vec<usize> = (0..intervals.len())
        .filter(|&place| {
            let interval = &intervals[place];
            interval.kind == Kind::Open && interval.activity.flight_high > 0
        })
        .collect();
    let mut start = 0;
    while start < rounds.len() {
        let span = &rounds[start..start + level_run(finished, &rounds[start..])];
        if span.is_empty() || !is_buffer_like(finished, span) {
            start += 1;
            continue;
        }
        for &place in span {
            marks[place] = true;
        }
        start += span.len();
    }
    marks
}

/// How many of the first intervals form a plateau; 0 where they form none.
fn level_run(finished: &Finished, places: &[usize]) -> usize {
    let intervals = &finished.ledger.intervals;
    let flights: Vec<u64> = places
        .iter()
        .map(|&place| &intervals[place])
        .take_while(|interval| interval.phase != Phase::AfterLoss)
        .map(|interval| interval.activity.flight_high)
        .scan((u64::MAX, 0), |(low, high), flight| {
            (*low, *high) = ((*low).min(flight), (*high).max(flight));
            // A buffer counted in memory rather than in bytes holds now more,
            // now less.
            (*low * 2 > *high).then_some(flight)
        })
        .collect();
    let rounds: usize = places[..flights.len()]
        .iter()
        .map(|&place| intervals[place].activity.rounds.max(1) as usize)
        .sum();
    let (early, late) = flights.split_at(flights.len() / 2);
    let peak = |flights: &[u64]| flights.iter().copied().max().unwrap_or(0);
    let grew = peak(late) > peak(early) + finished.segment_size + finished.segment_size / 4;
    if rounds < PLATEAU_ROUNDS || (grew && flights.len() > 1) { 0 } else { flights.len() }
}

/// Whether the waits of a plateau look like a full send buffer rather than a
/// congestion window that something holds fixed. A congestion window lets out
/// full segments with each ACK.
fn is_buffer_like(finished: &Finished, places: &[usize]) -> bool {
    let (mut prompt, mut deep, mut partial, mut segments) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut rounds = 0;
    for &place in places {
        let activity = &finished.ledger.intervals[place].activity;
        prompt += u64::from(activity.prompt);
        deep += u64::from(activity.deep);
        partial += u64::from(activity.partial_segments);
        segments += u64::from(activity.segments);
        rounds += u64::from(activity.rounds.max(1));
    }
    // A buffer that is no whole number of segments ends each refill with a
    // part of one, however large it is.
    deep >= prompt || partial * 10 >= segments || partial * 2 >= rounds
}
