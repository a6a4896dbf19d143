//! Where the path is full.

use windlass_base::{Bytes, Rate, Span};

use super::cycle;
use crate::finished::Finished;
use crate::ledger::{Activity, Interval, Kind};
use crate::queueing_delay::MIN_QUEUE;

/// A round trip this much longer than the path's shows a queue: the bound of
/// the round-based rules of BBR (Cardwell et al. 2016) is 1.2, and 1.25 with
/// jitter.
pub(crate) const QUEUE: f64 = 1.25;

/// The share of its time that a full line sends; losses leave gaps.
const BUSY: f64 = 0.85;

/// The longest share of a flight's time that is between two ACKs, where there are two for it.
/// The time is the median of segments, of which those of one half wait for less.
const HALF: f64 = 0.75;

/// How near a rate must be to the pace that one pair of ACKs tells.
const SAME: f64 = 0.04;

/// Round trips that a queue must last before it is taken for one: a host may be slow
/// to answer for a moment.
const MIN_ROUNDS: u32 = 4;

/// A path that delivers more by this factor where more is in flight is not full.
const GROWS: f64 = 1.3;

/// A flight that is smaller by this factor is one that might have left room.
const SMALLER: f64 = 0.75;

/// Repair at this share of a full path's rate costs nothing.
const REPAIR: f64 = 0.8;

/// A rate that is no less than this share of a full path's is that rate: what a larger
/// window could add is within what a line's rate varies by.
const FULL: f64 = 0.95;

/// The share of the time in which a path stands full whose rate says something of the rest: a
/// moment's queue behind a slow start is another thing.
const OFTEN: f64 = 0.2;

/// Where the path stood full, and its rate.
pub(super) struct Full {
    marks: Vec<bool>,
    /// The share of the time, and the rate.
    rate: Option<(f64, Rate)>,
}

impl Full {
    /// Where the flight grows, `grows` says.
    pub(super) fn of(finished: &Finished, grows: &[bool]) -> Self {
        let intervals = &finished.ledger.intervals;
        let pace = service_pace(finished);
        let mut marks: Vec<bool> = intervals
            .iter()
            .enumerate()
            .map(|(place, interval)| {
                interval.kind.may_queue()
                    && has_queue(finished, pace, interval)
                    && !(grows[place] && delivers_more(finished, &intervals[..place], interval))
            })
            .collect();
        let full = intervals.iter().zip(&marks).filter(|(_, full)| **full);
        let rounds: u32 = full.map(|(interval, _)| interval.activity.rounds.max(1)).sum();
        if rounds < MIN_ROUNDS && !intervals.iter().any(|one| one.kind == Kind::Queued) {
            marks.fill(false);
        }
        let rate = full_rate(finished, &marks);
        Self { marks, rate }
    }

    /// Whether the path was full in the interval at this place.
    pub(super) fn holds(&self, place: usize) -> bool {
        self.marks[place]
    }

    /// Whether a transfer under repair went on at the path's rate: then loss cost it
    /// nothing, for the queue that lost the data was full.
    pub(super) fn keeps_up(&self, finished: &Finished, interval: &Interval) -> bool {
        self.reaches(REPAIR, finished, interval)
    }

    /// Whether data went on at the path's own rate: then no window held it back, though no
    /// queue was seen. Far from the sender a short one does not show where segments come joined,
    /// or the sender's timestamps step too coarsely.
    pub(super) fn is_as_fast(&self, finished: &Finished, interval: &Interval) -> bool {
        let is_known = self.rate.is_some_and(|(share, _)| share >= OFTEN);
        finished.is_far() && is_known && self.reaches(FULL, finished, interval)
    }

    /// Whether data passed at this share of the path's rate, or faster.
    fn reaches(&self, share: f64, finished: &Finished, interval: &Interval) -> bool {
        let rate = rate(finished, interval);
        self.rate
            .is_some_and(|(_, full)| rate.bytes_per_second() >= share * full.bytes_per_second())
    }
}

fn rate(finished: &Finished, interval: &Interval) -> Rate {
    Bytes::new(passed(finished, &interval.activity)).per(interval.charged)
}

/// Whether the path delivered more than it did before, when less was in flight: then
/// it was not full before, and need not be now.
fn delivers_more(finished: &Finished, before: &[Interval], interval: &Interval) -> bool {
    let flight = interval.activity.flight_high as f64;
    let smaller = before.iter().filter(|one| {
        one.kind == interval.kind
            && one.activity.flight_high > 0
            && (one.activity.flight_high as f64) <= flight * SMALLER
    });
    let fastest = smaller.map(|one| rate(finished, one).bytes_per_second()).reduce(f64::max);
    let now = rate(finished, interval).bytes_per_second();
    fastest.is_some_and(|fastest| now >= fastest * GROWS)
}

/// What passed the path in this time: near the receiver, what arrived; else
/// what was acknowledged.
pub(super) fn passed(finished: &Finished, activity: &Activity) -> u64 {
    if finished.ack_delay > Span::ZERO { activity.sent } else { activity.acked }
}

/// The rate of the path, where it stood full for a good part of the transfer.
fn full_rate(finished: &Finished, marks: &[bool]) -> Option<(f64, Rate)> {
    let intervals = finished.ledger.intervals.iter();
    let full =
        intervals.clone().zip(marks).filter(|(one, full)| one.kind == Kind::Queued || **full);
    let (mut time, mut bytes) = (Span::ZERO, 0);
    for (interval, _) in full {
        time += interval.charged;
        bytes += passed(finished, &interval.activity);
    }
    let all: Span = intervals.map(|interval| interval.charged).sum();
    // Not less than the fastest that it delivered over a few round trips.
    let fastest = finished.capacity.unwrap_or_default();
    let share = time.share_of(all);
    (share >= 0.05).then(|| (share, Bytes::new(bytes).per(time).max(fastest)))
}

/// How long the line takes for a full segment that comes to the capture, as far as it
/// shows.
pub(super) fn segment_time(finished: &Finished) -> Option<Span> {
    // The least gap is too short by as much as a step of the clock.
    let is_coarse = finished.clock_step > Span::ZERO;
    let spacing = if is_coarse { finished.spacing() } else { None };
    let each = spacing.map(|line| line.gap / 2).or(finished.packet_time());
    each.filter(|each| *each > Span::ZERO)
}

/// Whether segments came to the capture one behind the other, as a line sends
/// them that is never idle. Behind the line that limits the path that is how a
/// full queue before it shows, where the sender's timestamps do not tell. A segment takes
/// the line `each`.
pub(super) fn is_line_busy(finished: &Finished, each: Option<Span>, interval: &Interval) -> bool {
    let Some(each) = each else { return false };
    let segments = interval.activity.sent / finished.segment_size;
    let sending = each * i64::try_from(segments).unwrap_or(i64::MAX);
    sending.share_of(interval.charged) >= BUSY
}

/// Whether a transfer goes on, between losses of a queue that is full each time, nearly as fast as
/// the line behind it lets it then: what the queue adds to a round trip is too short to show
/// between the losses, and who else fills it does not show at all.
pub(super) fn fills_queue(finished: &Finished) -> bool {
    let Some(queue) = finished.full_queue() else { return false };
    let line = match finished.queue_of_others() {
        Some(_) => queue.rate,
        // It is the line's own, which is full for a moment only before each loss.
        None => finished.line_rate().map_or(queue.rate, |line| line.max(queue.rate)),
    };
    let tries = |one: &&Interval| matches!(one.kind, Kind::Open | Kind::Queued | Kind::Recovery);
    let went = acknowledged(finished.ledger.intervals.iter().filter(tries));
    went > Rate::ZERO && went.bytes_per_second() >= BUSY * line.bytes_per_second()
}

/// The rate at which data was acknowledged in some intervals.
fn acknowledged<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Rate {
    let (bytes, time) = intervals
        .fold((0, Span::ZERO), |sum, one| (sum.0 + one.activity.acked, sum.1 + one.charged));
    Bytes::new(bytes).per(time)
}

/// The path's round trip without a queue: the handshake's, or the least sample
/// where the handshake took longer than jitter explains.
fn quiet_rtt(finished: &Finished) -> Option<Span> {
    let least = finished.path_rtt?;
    Some(finished.handshake.rtt().map_or(least, |rtt| rtt.min(least.scaled(1.5)).max(least)))
}

/// The pace of bursts at which the narrowest place behind the sender serves it.
///
/// Where the window is acknowledged in two halves, only its first is sent at once, and one
/// or two pairs of ACKs tell a pace. It is that of a line where the whole goes on at the
/// same to a few hundredths: a receiver that is only late does not part two ACKs by as much
/// as its lateness happens to need.
fn service_pace(finished: &Finished) -> Option<Rate> {
    let pace = finished.service()?;
    if pace.sure {
        return Some(pace.rate);
    }
    // Whatever it waited for: who paces himself leaves pauses in which the line still sends.
    let went = acknowledged(finished.ledger.intervals.iter()).bytes_per_second();
    let is_kept = |rate: &Rate| (went / rate.bytes_per_second() - 1.0).abs() <= SAME;
    [pace.rate, pace.slowest].into_iter().find(is_kept)
}

/// Whether what was acknowledged took all of this time at the pace of bursts: then the
/// narrowest place behind the sender always had data, even where the sender keeps only a
/// few segments there, and those for less time than hosts take.
fn is_served_at(pace: Option<Rate>, interval: &Interval) -> bool {
    let acked = Bytes::new(interval.activity.acked);
    pace.is_some_and(|pace| pace.time_for(acked).share_of(interval.charged) >= BUSY)
}

/// Whether a queue stood on the path: ACKs came as an even train, and took
/// longer than the path does.
fn has_queue(finished: &Finished, pace: Option<Rate>, interval: &Interval) -> bool {
    let activity = &interval.activity;
    let (Some(path), Some(cycle)) = (quiet_rtt(finished), cycle(finished, interval)) else {
        return false;
    };
    let own = cycle - path;
    if own.as_seconds() < path.as_seconds() * (QUEUE - 1.0) {
        return false;
    }
    // A train of ACKs, each for a few segments of the flight. One late ACK for
    // the whole flight is the receiver's doing.
    let usual = activity.usual_gap();
    let even = usual.is_some_and(|gap| gap <= cycle / 2);
    // Of two ACKs for a flight one is somewhat later than the other.
    let in_halves = usual.is_some_and(|gap| gap <= cycle.scaled(HALF));
    let flight = activity.flight_high;
    let per_ack = activity.acked / u64::from(activity.acks.max(1));
    let train = flight >= 4 * finished.segment_size && per_ack > 0 && flight / per_ack >= 3;
    even && own >= MIN_QUEUE && train || in_halves && is_served_at(pace, interval)
}
