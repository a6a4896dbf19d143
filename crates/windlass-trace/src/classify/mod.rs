//! From kinds of waiting to limits, with the whole transfer in view.

mod full;
mod growth;
mod line;
mod loss;
mod plateau;

use std::collections::BTreeMap;

use windlass_base::{Bytes, Cause, Span, laws};

pub(crate) use self::full::QUEUE;
use self::full::{Full, fills_queue, is_line_busy, passed, segment_time};
use self::growth::{creeps, grows};
use self::line::line_time;
use self::loss::of_loss;
use self::plateau::{Sign, plateaus};
use crate::finished::Finished;
use crate::ledger::{Activity, Interval, Kind, Opened, Phase};
use crate::queueing_delay::MIN_QUEUE;

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

/// So many steps alike are no chance.
const MIN_STEPS: u64 = 3;

/// A receiver that takes this long beyond the path withholds its ACKs. Linux
/// does for 40 ms and more; half of that leaves room for its jitter.
const WITHHELD: Span = Span::from_millis(20);

/// An interval of the timeline, charged to one cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) cause: Cause,
    pub(crate) interval: Interval,
}

impl Charge {
    /// Takes the interval behind it, of the same cause.
    fn extend(&mut self, next: &Interval) {
        self.interval.end = next.end;
        self.interval.last = next.last;
        self.interval.charged += next.charged;
    }
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
    /// Whether some of that shows by nothing but what waits behind segments: nothing.
    pub(crate) by_pushes: bool,
    /// What was acknowledged while the path was full.
    pub(crate) delivered: u64,
}

impl Classified {
    /// Takes back what was charged to a cause: nobody knows where its time went.
    pub(crate) fn refute(&mut self, cause: Cause) {
        let Some(time) = self.times.remove(&cause) else { return };
        *self.times.entry(Cause::Unknown).or_default() += time;
        for charge in &mut self.charges {
            if charge.cause == cause {
                charge.cause = Cause::Unknown;
            }
        }
        self.charges.dedup_by(|next, before| {
            let same = before.cause == next.cause;
            if same {
                before.extend(&next.interval);
            }
            same
        });
    }
}

/// Charges each interval to a cause.
pub(crate) fn classify(finished: &Finished) -> Classified {
    let plateaus = plateaus(finished);
    let (grows, creeps) = (grows(finished), creeps(finished));
    let full = Full::of(finished, &grows);
    let (line, each) = (finished.line(), segment_time(finished));
    let is_filled = finished.shared_queue().is_some() || fills_queue(finished);
    let slow_timer = finished.costly_timer().is_some();
    let mut times: BTreeMap<Cause, Span> = BTreeMap::new();
    let mut by_kind: Vec<(Kind, Cause, Span)> = Vec::new();
    let mut charges: Vec<Charge> = Vec::new();
    let intervals = &finished.ledger.intervals;
    let mut delivered = 0;
    let at = |place: usize| {
        let around = Around {
            plateau: plateaus[place].is_some(),
            grows: grows[place],
            creeps: creeps[place],
            full: full.holds(place),
        };
        cause(finished, &intervals[place], around)
    };
    for (place, interval) in intervals.iter().enumerate() {
        let paced = || nearest_wait(intervals, place).map_or(Cause::Steady, at);
        let cause = if interval.kind == Kind::Paced { paced() } else { at(place) };
        let cause = match cause {
            Cause::FastRecovery if full.keeps_up(finished, interval) => Cause::PathQueue,
            Cause::AfterLoss if full.is_as_fast(finished, interval) => Cause::PathQueue,
            Cause::FastRecovery | Cause::AfterLoss
                if is_filled || is_line_busy(finished, each, interval) =>
            {
                Cause::PathQueue
            }
            cause => cause,
        };
        let on_line = match cause {
            Cause::PathQueue => interval.charged,
            Cause::Unknown | Cause::ReceiverLimited => Span::ZERO,
            _ => line_time(finished, line, interval),
        };
        let untold = cause == Cause::SenderIdle && may_be_path(finished, interval);
        let cause = if untold { Cause::Unknown } else { cause };
        if on_line > Span::ZERO {
            // A line that spaced the data did so before the capture.
            let spaced = cause != Cause::PathQueue;
            let activity = &interval.activity;
            delivered += if spaced { activity.sent } else { passed(finished, activity) };
        }
        for (cause, part) in parts(interval, on_line, cause) {
            let cause = of_loss(finished, slow_timer, cause);
            let time = part.charged;
            *times.entry(cause).or_default() += time;
            let key = (interval.kind, cause);
            match by_kind.iter_mut().find(|(kind, known, _)| (*kind, *known) == key) {
                Some((_, _, sum)) => *sum += time,
                None => by_kind.push((interval.kind, cause, time)),
            }
            match charges.last_mut() {
                Some(last) if last.cause == cause => last.extend(&part),
                _ => charges.push(Charge { cause, interval: part }),
            }
        }
    }
    // Time whose interval was merged away goes where its kind went.
    for absorbed in &finished.ledger.absorbed {
        let same = by_kind.iter().filter(|(known, _, _)| *known == absorbed.kind);
        let most = same.max_by_key(|(_, _, sum)| *sum);
        let plain = || {
            let untold = is_untold(finished, absorbed.kind);
            if untold { Cause::Unknown } else { plain_cause(absorbed.kind) }
        };
        let cause =
            most.map_or_else(|| of_loss(finished, slow_timer, plain()), |(_, cause, _)| *cause);
        *times.entry(cause).or_default() += absorbed.charged;
        if cause == Cause::PathQueue {
            delivered += passed(finished, &absorbed.activity);
        }
    }
    times.retain(|_, span| *span > Span::ZERO);
    let total = times.values().copied().sum();
    let level = intervals.iter().zip(&plateaus).filter(|(_, plateau)| plateau.is_some());
    let flights: Vec<u64> = level.map(|(interval, _)| interval.activity.flight_high).collect();
    let plateau = flights.iter().sum::<u64>().checked_div(flights.len() as u64);
    let by_pushes = plateaus.contains(&Some(Sign::Pushes));
    Classified { charges, times, total, plateau, by_pushes, delivered }
}

/// The interval next to this one in which the sender waited for the receiver or the path.
/// A pace follows the rate at which data is delivered, so what sets that rate there holds
/// a paced sender, too.
fn nearest_wait(intervals: &[Interval], place: usize) -> Option<usize> {
    let waits =
        |kind| matches!(kind, Kind::Window | Kind::Open | Kind::Partly(_) | Kind::OpensLate);
    let places = (0..intervals.len()).filter(|&other| waits(intervals[other].kind));
    places.min_by_key(|other| other.abs_diff(place))
}

/// Whether the capture cannot tell what such a wait was.
fn is_untold(finished: &Finished, kind: Kind) -> bool {
    // Without its ACKs a flight seems to grow for ever, and each wait to be a pause.
    finished.is_untrue()
        || finished.lacks_acks && kind != Kind::AwaitPeer
        // Beyond a proxy the sender waits for the ACKs of another connection.
        || finished.splits_sender() && matches!(kind, Kind::Open | Kind::Nagle)
        || kind == Kind::Unheard && !finished.loses_acks()
}

/// Whether a pause may as well be the path's: an ACK may take as long to the sender, and its
/// answer back, as these pauses did on average.
fn may_be_path(finished: &Finished, interval: &Interval) -> bool {
    let pauses = i64::from(interval.activity.rounds.max(1));
    finished.longest_turn().is_some_and(|longest| interval.charged < longest * pauses)
}

/// The causes of an interval, of which the line took so much. Where in it the line sent
/// is not kept: its part comes first.
fn parts(interval: &Interval, on_line: Span, cause: Cause) -> Vec<(Cause, Interval)> {
    if on_line <= Span::ZERO {
        return vec![(cause, *interval)];
    }
    if on_line >= interval.charged {
        return vec![(Cause::PathQueue, *interval)];
    }
    let whole = interval.end.since(interval.start);
    let parted = interval.start + whole.scaled(on_line.share_of(interval.charged));
    let first = Interval { charged: on_line, end: parted, ..*interval };
    let rest = Interval { charged: interval.charged - on_line, start: parted, ..*interval };
    vec![(Cause::PathQueue, first), (cause, rest)]
}

/// What the rounds around an interval say of it.
#[derive(Clone, Copy)]
struct Around {
    /// A send buffer holds the flight level.
    plateau: bool,
    /// The flight still grows as in slow start.
    grows: bool,
    /// It grows by little, for long.
    creeps: bool,
    /// The path is full.
    full: bool,
}

fn cause(finished: &Finished, interval: &Interval, around: Around) -> Cause {
    if is_untold(finished, interval.kind) {
        return Cause::Unknown;
    }
    match interval.kind {
        Kind::Window => window_cause(finished, interval, around),
        Kind::Open => open_cause(finished, interval, around),
        Kind::Blind { window_full } => blind_cause(finished, window_full),
        Kind::Skipped if finished.loses() => Cause::Timeout,
        Kind::Partly(_) if finished.reading.is_some() => Cause::ReceiverLimited,
        Kind::Nagle if keeps_time(finished) => Cause::SenderIdle,
        Kind::Nagle if is_buffer_below_mss(finished, finished.counts.nagle) => {
            Cause::BufferDelayedAck
        }
        kind => plain_cause(kind),
    }
}

fn plain_cause(kind: Kind) -> Cause {
    match kind {
        Kind::Window => Cause::WindowPathRtt,
        Kind::Open | Kind::Paced => Cause::Steady,
        Kind::Nagle => Cause::NagleDelayedAck,
        Kind::Recovery => Cause::FastRecovery,
        Kind::Timeout | Kind::Blind { .. } => Cause::Timeout,
        Kind::NotReading | Kind::Partly(Opened::AfterLong) => Cause::ReceiverNotReading,
        Kind::NoUpdate | Kind::Partly(Opened::WhenProbed) => Cause::NoWindowUpdate,
        Kind::OpensLate | Kind::Partly(Opened::Late) => Cause::WindowOpensLate,
        Kind::Idle | Kind::Skipped => Cause::SenderIdle,
        Kind::AwaitPeer => Cause::AwaitsAnswer,
        Kind::Queued => Cause::PathQueue,
        Kind::Unheard => Cause::AckLoss,
        Kind::Missing => Cause::Unknown,
    }
}

fn window_cause(finished: &Finished, interval: &Interval, around: Around) -> Cause {
    let offered = interval.activity.window_share();
    if finished.reading.is_some() && offered.is_none_or(|share| share < UNREAD) {
        return Cause::ReceiverLimited;
    }
    if finished.window_most < finished.segment_size {
        return Cause::WindowBelowMss;
    }
    // Where the window also closes, that says who does not read, and over some windows
    // the right edge.
    let told = finished.reader.as_ref().is_some_and(|reader| reader.is_told());
    let closed = finished.closures.total().share_of(interval.end.since(interval.start));
    if !told && closed < 0.1 && offered.is_some_and(|share| share < UNREAD) {
        return Cause::ReceiverLimited;
    }
    if around.full {
        return Cause::PathQueue;
    }
    if is_ack_slow(finished, interval) || finished.withholds_acks() {
        Cause::WindowAckLatency
    } else {
        Cause::WindowPathRtt
    }
}

fn open_cause(finished: &Finished, interval: &Interval, around: Around) -> Cause {
    let activity = &interval.activity;
    if are_segments_small(finished)
        && activity.small_segments * 2 > activity.segments
        && !is_one_by_one(activity)
    {
        return Cause::SmallSegments;
    }
    if around.full {
        return Cause::PathQueue;
    }
    if is_held_by_marks(finished, interval, around) {
        return Cause::PathMarks;
    }
    let withheld = is_ack_withheld(finished, interval) || finished.withholds_acks();
    if around.plateau {
        return if withheld { withheld_cause(finished) } else { Cause::BufferPathRtt };
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
        Phase::Level if around.grows => Cause::SlowStart,
        Phase::Level if is_cut(finished, activity) => Cause::Reordering,
        // It has grown until the queue was full, again and again; or it grows since a loss has ended
        // its slow start, however far beyond what it was then.
        Phase::Level if finished.loses_when_full() => Cause::AfterLoss,
        Phase::Level if around.creeps && finished.counts.loss_events > 0 => Cause::AfterLoss,
        Phase::Level => Cause::Steady,
    }
}

/// Whether what a queue marked keeps the window small: after each mark the sender has less in
/// flight, and regains that until the next. Before the first it tests how much the path takes, and
/// where data is lost more often, that cuts it.
fn is_held_by_marks(finished: &Finished, interval: &Interval, around: Around) -> bool {
    let is_cut = match interval.phase {
        Phase::SlowStart => false,
        Phase::AfterLoss => true,
        Phase::Level => around.creeps || finished.marks.hold(interval.start, interval.end),
    };
    is_cut && finished.marks.cuts > finished.counts.loss_events
}

/// Whether a program that seems to be held back by ACKs sends at the same steps where none
/// is due: it keeps time by itself.
fn keeps_time(finished: &Finished) -> bool {
    let counts = &finished.counts;
    counts.nagle_in_step >= MIN_STEPS && counts.nagle_in_step * 4 >= counts.nagle
}

/// Whether a level flight is one that the sender cuts again and again, as others overtake its
/// segments: half of what Mathis's law leaves it, or more.
fn is_cut(finished: &Finished, activity: &Activity) -> bool {
    let size = Bytes::new(finished.segment_size);
    let flight = laws::mathis_flight(size, finished.counts.event_ratio());
    finished.reorders() && flight.is_some_and(|flight| activity.flight_high as f64 * 2.0 >= flight)
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
/// for the ACK of the one before, of which `held` were seen, and none is full. Nagle's
/// algorithm would let the program fill a segment while one waits. (Two are in flight where
/// the capture misses an ACK or a segment.)
fn is_buffer_below_mss(finished: &Finished, held: u64) -> bool {
    let (counts, size) = (&finished.counts, finished.segment_size);
    let small = counts.flight_most < size
        || counts.flight_most < 2 * size && counts.bytes * 20 < counts.segments * size * 19;
    small && held * 4 > counts.segments * 3
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

/// Whether one segment at a time was in flight: a dialogue, in which a message is as
/// long as it is.
fn is_one_by_one(activity: &Activity) -> bool {
    activity.flight_high * u64::from(activity.segments) < 2 * activity.sent
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

/// Whether the receiver takes longer to acknowledge than the path does.
fn is_ack_slow(finished: &Finished, interval: &Interval) -> bool {
    let (Some(path), Some(cycle)) = (finished.path_rtt, cycle(finished, interval)) else {
        return false;
    };
    // Either may be off by a step of the clock.
    let beyond = cycle - path - finished.clock_step;
    if finished.handshake.rtt().is_some() {
        beyond >= path.max(MIN_QUEUE)
    } else {
        // No handshake: only the spread of the samples tells.
        cycle >= path * 3 && beyond >= WITHHELD
    }
}

/// Whether the receiver withholds its ACKs until a timer.
fn is_ack_withheld(finished: &Finished, interval: &Interval) -> bool {
    let (Some(path), Some(cycle)) = (finished.path_rtt, cycle(finished, interval)) else {
        return false;
    };
    is_ack_slow(finished, interval) && cycle - path - finished.clock_step >= WITHHELD
}
