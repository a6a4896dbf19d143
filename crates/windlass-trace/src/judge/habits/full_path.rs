//! Intervals in which the path is full.

use windlass_base::thresholds::{
    A_QUARTER, A_TENTH, ACKS_IN_HALVES, AS_GOOD_AS_ALL, BEYOND_JITTER, DELIVERS_MORE, EVER_FULL,
    HALF_AGAIN, HALF_OF_IT, HOST_TIME, MOST_OF_IT, SEVERAL, SEVERAL_ROUNDS, SEVERAL_SEGMENTS,
    SMALLER_FLIGHT, Threshold,
};
use windlass_base::{Bytes, Rate, Span};

use super::receiver::cycle;
use crate::follow::ledger::{Activity, Interval, WaitKind};
use crate::judge::checks::{Checks, by};
use crate::judge::facts::Facts;

/// Intervals in which the path was full, and its rate.
#[derive(Debug)]
pub(crate) struct FullPath {
    marks: Vec<bool>,
    /// The pace of bursts at which the narrowest place behind the sender serves it.
    pace: Option<Rate>,
    /// Share of the time with a full path, and the path's rate then.
    rate: Option<(f64, Rate)>,
}

impl FullPath {
    /// Finds the intervals with a full path; `grows` marks the intervals in which the flight grows.
    pub(crate) fn of(facts: &Facts, grows: &[bool]) -> Self {
        let intervals = &facts.waits;
        let pace = service_pace(facts);
        let mut marks: Vec<bool> = intervals
            .iter()
            .enumerate()
            .map(|(place, interval)| {
                interval.kind.may_queue()
                    && has_queue(facts, pace, interval, &mut Checks::silent())
                    && !(grows[place] && delivers_more(facts, &intervals[..place], interval))
            })
            .collect();
        let full = intervals.iter().zip(&marks).filter(|(_, full)| **full);
        let rounds: u32 = full.map(|(interval, _)| interval.activity.rounds.max(1)).sum();
        if rounds < SEVERAL_ROUNDS.to::<u32>()
            && !intervals.iter().any(|one| one.kind == WaitKind::Queued)
        {
            marks.fill(false);
        }
        let rate = full_rate(facts, &marks);
        Self { marks, pace, rate }
    }

    /// The pace of bursts at which the narrowest place behind the sender serves it.
    pub(crate) fn pace(&self) -> Option<Rate> {
        self.pace
    }

    /// Returns whether the path was full in the interval of this index.
    pub(crate) fn holds(&self, place: usize) -> bool {
        self.marks[place]
    }

    /// Returns whether a transfer under repair went on at the path's rate: then loss cost it
    /// nothing, for the queue that lost the data was full.
    pub(crate) fn keeps_up(&self, facts: &Facts, wait: &Interval, checks: &mut Checks) -> bool {
        self.reaches(MOST_OF_IT, facts, wait, checks)
    }

    /// Returns whether data went on at the path's own rate: then no window held it back, though no
    /// queue was seen. Far from the sender a short one does not show where segments come joined, or
    /// the sender's timestamps step too coarsely.
    pub(crate) fn is_as_fast(&self, facts: &Facts, wait: &Interval, checks: &mut Checks) -> bool {
        let share = self.rate.map_or(0.0, |(share, _)| share);
        checks.is("the capture is far from the sender", facts.capture.is_far)
            && checks.at_least("time in which the path was full", share, A_QUARTER)
            && self.reaches(AS_GOOD_AS_ALL, facts, wait, checks)
    }

    /// Returns whether data passed at this share of the path's rate, or faster.
    fn reaches(
        &self,
        share: Threshold<f64>,
        facts: &Facts,
        wait: &Interval,
        checks: &mut Checks,
    ) -> bool {
        let Some((_, full)) = self.rate else { return checks.is("the path was full", false) };
        let least = Rate::from_bytes_per_second(share.get() * full.bytes_per_second());
        checks.at_least("rate meanwhile", rate(facts, wait), by(share, least))
    }
}

fn rate(facts: &Facts, interval: &Interval) -> Rate {
    Bytes::new(passed(facts, &interval.activity)).per(interval.charged)
}

/// Returns whether the path delivered more than before, when less was in flight: then it was not
/// full before, and need not be now.
fn delivers_more(facts: &Facts, before: &[Interval], interval: &Interval) -> bool {
    let flight = interval.activity.flight_high as f64;
    let smaller = before.iter().filter(|one| {
        one.kind == interval.kind
            && one.activity.flight_high > 0
            && (one.activity.flight_high as f64) <= flight * SMALLER_FLIGHT.get()
    });
    let fastest = smaller.map(|one| rate(facts, one).bytes_per_second()).reduce(f64::max);
    let now = rate(facts, interval).bytes_per_second();
    fastest.is_some_and(|fastest| now >= fastest * DELIVERS_MORE.get())
}

/// Returns the bytes that passed the path in this time: near the receiver the arrived data, else
/// the acknowledged data.
pub(crate) fn passed(facts: &Facts, activity: &Activity) -> u64 {
    if facts.capture.distance > Span::ZERO { activity.sent } else { activity.acked }
}

/// Returns the path's rate, if the path was full for a good part of the transfer.
fn full_rate(facts: &Facts, marks: &[bool]) -> Option<(f64, Rate)> {
    let intervals = facts.waits.iter();
    let full =
        intervals.clone().zip(marks).filter(|(one, full)| one.kind == WaitKind::Queued || **full);
    let (mut time, mut bytes) = (Span::ZERO, 0);
    for (interval, _) in full {
        time += interval.charged;
        bytes += passed(facts, &interval.activity);
    }
    let all: Span = intervals.map(|interval| interval.charged).sum();
    // Not less than the fastest that it delivered over a few round trips.
    let fastest = facts.line.capacity.unwrap_or_default();
    let share = time.share_of(all);
    (share >= EVER_FULL.get()).then(|| (share, Bytes::new(bytes).per(time).max(fastest)))
}

/// Returns the time that the line takes for a full segment before the capture, if it shows.
pub(crate) fn segment_time(facts: &Facts) -> Option<Span> {
    // The least gap is too short by as much as a step of the clock.
    let is_coarse = facts.capture.clock_step > Span::ZERO;
    let spacing = if is_coarse { facts.spacing() } else { None };
    let each = spacing.map(|line| line.gap / 2).or(facts.packet_time());
    each.filter(|each| *each > Span::ZERO)
}

/// Returns whether segments came to the capture back to back, as from a line that is never idle.
/// Behind the bottleneck link, a full queue before it shows in this way, if the sender's timestamps
/// do not tell. A segment takes the line the time `each`.
pub(crate) fn is_line_busy(
    facts: &Facts,
    each: Option<Span>,
    wait: &Interval,
    checks: &mut Checks,
) -> bool {
    let Some(each) = each else { return checks.is("a line spaces the segments", false) };
    let segments = wait.activity.sent / facts.window.segment;
    let sending = each * i64::try_from(segments).unwrap_or(i64::MAX);
    checks.at_least("time that the line sent", sending.share_of(wait.charged), MOST_OF_IT)
}

/// Returns whether a transfer continues, between losses of a queue that is full each time, nearly
/// as fast as the line behind the queue allows. The queue's share of a round trip is too short to
/// show between the losses, and other traffic in the queue does not show at all.
pub(crate) fn fills_queue(facts: &Facts) -> bool {
    let Some(queue) = facts.full_queue() else { return false };
    let line = match facts.queue_of_others() {
        Some(_) => queue.rate,
        // The queue is the line's own, which is full for a moment only before each loss.
        None => facts.line_rate().map_or(queue.rate, |line| line.max(queue.rate)),
    };
    let tries = |one: &&Interval| {
        matches!(one.kind, WaitKind::Open | WaitKind::Queued | WaitKind::Recovery)
    };
    let went = acknowledged(facts.waits.iter().filter(tries));
    went > Rate::ZERO && went.bytes_per_second() >= MOST_OF_IT.get() * line.bytes_per_second()
}

/// The rate at which data was acknowledged in some intervals.
fn acknowledged<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Rate {
    let (bytes, time) = intervals
        .fold((0, Span::ZERO), |sum, one| (sum.0 + one.activity.acked, sum.1 + one.charged));
    Bytes::new(bytes).per(time)
}

/// The path's round trip without a queue: the handshake's, or the least sample
/// where the handshake took longer than jitter explains.
fn quiet_rtt(facts: &Facts) -> Option<Span> {
    let least = facts.path.rtt?;
    Some(facts.opening.handshake.rtt().map_or(least, |rtt| rtt.min(HALF_AGAIN * least).max(least)))
}

/// The pace of bursts at which the narrowest place behind the sender serves it.
///
/// If the window is acknowledged in two halves, only its first half is sent at once, and one or two
/// pairs of ACKs tell a pace. The pace is that of a line if the whole transfer goes on at it to a
/// few hundredths. A receiver that is only late does not part two ACKs by exactly the time that its
/// lateness needs.
fn service_pace(facts: &Facts) -> Option<Rate> {
    let pace = facts.service()?;
    if pace.sure {
        return Some(pace.rate);
    }
    // This holds for any wait: a sender that paces itself leaves pauses in which the line still
    // sends.
    let went = acknowledged(facts.waits.iter()).bytes_per_second();
    let is_kept = |rate: &Rate| (went / rate.bytes_per_second() - 1.0).abs() <= A_TENTH.get();
    [pace.rate, pace.slowest].into_iter().find(is_kept)
}

/// Returns whether the acknowledged data needed all of this time at the pace of bursts. Then the
/// narrowest link behind the sender always had data. This holds even if the sender keeps only a few
/// segments there, for less time than hosts take.
fn is_served_at(pace: Option<Rate>, wait: &Interval, checks: &mut Checks) -> bool {
    let acked = Bytes::new(wait.activity.acked);
    let busy = pace.map_or(0.0, |pace| pace.time_for(acked).share_of(wait.charged));
    checks.at_least("time that the line took for it", busy, MOST_OF_IT)
}

/// Returns whether a queue stood on the path: ACKs came as an even train, and took longer than the
/// path does.
pub(crate) fn has_queue(
    facts: &Facts,
    pace: Option<Rate>,
    wait: &Interval,
    checks: &mut Checks,
) -> bool {
    let activity = &wait.activity;
    let (Some(path), Some(cycle)) = (quiet_rtt(facts), cycle(facts, wait)) else {
        return checks.is("round trip and path are known", false);
    };
    let (own, least) = (cycle - path, path.scaled(BEYOND_JITTER.get() - 1.0));
    if !checks.at_least("round trip beyond the path", own, by(BEYOND_JITTER, least)) {
        return false;
    }
    // A train of ACKs, each for a few segments of the flight. One late ACK for the whole flight is
    // the receiver's doing.
    let gap = activity.usual_gap().unwrap_or(Span::MAX);
    let flight = activity.flight_high;
    let per_ack = activity.acked / u64::from(activity.acks.max(1));
    let acks = flight.checked_div(per_ack).unwrap_or_default();
    let segments = flight / facts.window.segment.max(1);
    // Of two ACKs for a flight one is somewhat later than the other.
    let is_train =
        checks.at_most("usual gap between ACKs", gap, by(HALF_OF_IT, HALF_OF_IT * cycle))
            && checks.at_least("round trip beyond the path", own, HOST_TIME)
            && checks.at_least("segments in flight", segments, SEVERAL_SEGMENTS)
            && checks.at_least("ACKs for a flight", acks, SEVERAL);
    is_train
        || checks.at_most("usual gap between ACKs", gap, by(ACKS_IN_HALVES, ACKS_IN_HALVES * cycle))
            && is_served_at(pace, wait, checks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::packet_pairs::Pace;
    use crate::judge::fixture::{
        OrdinaryTransfer, RTT, SEGMENT, SEGMENTS, STEP, TIME, full_queue, line, pace, share_of,
    };

    /// Returns an ordinary transfer whose round trips a queue doubles, with an even train of ACKs.
    fn queued() -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_latency(RTT * 2);
        transfer.set_gap(RTT / 10);
        transfer
    }

    /// Returns whether a queue stood during the wait.
    fn is_queued(transfer: &OrdinaryTransfer) -> bool {
        let facts = &transfer.facts;
        has_queue(facts, service_pace(facts), &facts.waits[0], &mut Checks::silent())
    }

    #[test]
    fn a_queue_makes_round_trips_longer() {
        let mut transfer = queued();
        transfer.set_latency(RTT.scaled(BEYOND_JITTER.get()));
        assert!(is_queued(&transfer));
        transfer.set_latency(RTT.scaled(BEYOND_JITTER.get()) - STEP);
        assert!(!is_queued(&transfer));
        transfer.facts.path.rtt = None;
        assert!(!is_queued(&transfer));
    }

    #[test]
    fn a_queue_makes_round_trips_longer_than_hosts_do() {
        let mut transfer = queued();
        transfer.set_path(STEP);
        transfer.set_gap(STEP);
        transfer.forget_handshake();
        transfer.set_latency(STEP + HOST_TIME.get());
        assert!(is_queued(&transfer));
        transfer.set_latency(HOST_TIME.get());
        assert!(!is_queued(&transfer));
    }

    #[test]
    fn a_slow_handshake_is_not_the_path() {
        let mut transfer = queued();
        let path = RTT / 2;
        transfer.set_path(path);
        let quiet = path.scaled(HALF_AGAIN.get()).min(RTT);
        transfer.set_latency(quiet.scaled(BEYOND_JITTER.get()));
        assert!(is_queued(&transfer));
        transfer.set_latency(quiet.scaled(BEYOND_JITTER.get()) - STEP);
        assert!(!is_queued(&transfer));
    }

    #[test]
    fn acks_come_as_an_even_train() {
        let mut transfer = queued();
        let gap = (RTT * 2).scaled(HALF_OF_IT.get());
        transfer.set_gap(gap);
        assert!(is_queued(&transfer));
        transfer.set_gap(gap + STEP);
        assert!(!is_queued(&transfer));
    }

    #[test]
    fn a_train_has_several_segments_in_flight() {
        let mut transfer = queued();
        transfer.activity().flight_high = SEVERAL_SEGMENTS.get() * SEGMENT;
        transfer.activity().acks = u32::try_from(SEGMENTS).unwrap();
        assert!(is_queued(&transfer));
        transfer.activity().flight_high -= 1;
        assert!(!is_queued(&transfer));
    }

    #[test]
    fn a_train_has_several_acks_for_a_flight() {
        let mut transfer = queued();
        let per_ack = transfer.activity().acked / u64::from(transfer.activity().acks);
        transfer.activity().flight_high = SEVERAL.get() * per_ack;
        assert!(is_queued(&transfer));
        transfer.activity().flight_high -= 1;
        assert!(!is_queued(&transfer));
    }

    /// Returns a transfer with a queue that only its pace shows, for just enough of the time.
    fn served() -> OrdinaryTransfer {
        let mut transfer = queued();
        transfer.set_gap((RTT * 2).scaled(ACKS_IN_HALVES.get()));
        let acked = Bytes::new(transfer.activity().acked);
        transfer.facts.line.service = Some(pace(acked.per(TIME.scaled(MOST_OF_IT.get()))));
        transfer
    }

    #[test]
    fn two_acks_for_a_flight_come_at_the_lines_pace() {
        let mut transfer = served();
        assert!(is_queued(&transfer));
        transfer.set_gap((RTT * 2).scaled(ACKS_IN_HALVES.get()) + STEP);
        assert!(!is_queued(&transfer));
    }

    #[test]
    fn a_line_takes_most_of_the_time_for_what_is_acknowledged() {
        let mut transfer = served();
        let acked = Bytes::new(transfer.activity().acked);
        let rate = acked.per(TIME.scaled(MOST_OF_IT.get()) - STEP);
        transfer.facts.line.service = Some(pace(rate));
        assert!(!is_queued(&transfer));
    }

    #[test]
    fn a_pace_of_few_pairs_is_kept_by_the_whole() {
        let mut transfer = served();
        let went = Bytes::new(transfer.activity().acked).per(TIME).bytes_per_second();
        let mut is_kept = |off: f64, slowest: f64| {
            let of = |factor| Rate::from_bytes_per_second(went / factor);
            let unsure = Pace { rate: of(1.0 + off), slowest: of(1.0 + slowest), sure: false };
            transfer.facts.line.service = Some(unsure);
            service_pace(&transfer.facts).is_some()
        };
        let (same, other) = (A_TENTH.get() - 1e-9, A_TENTH.get() + 1e-9);
        assert!(is_kept(same, other) && is_kept(-same, other) && is_kept(other, same));
        assert!(!is_kept(other, other) && !is_kept(-other, -other));
    }

    /// Returns whether the path was full during the first wait, where the flight grows.
    fn is_full(transfer: &OrdinaryTransfer, grows: bool) -> bool {
        let waits = transfer.facts.waits.len();
        let marks: Vec<bool> = (1..=waits).map(|wait| grows && wait == waits).collect();
        FullPath::of(&transfer.facts, &marks).holds(waits - 1)
    }

    #[test]
    fn a_queue_lasts_for_several_round_trips() {
        let mut transfer = queued();
        transfer.activity().rounds = SEVERAL_ROUNDS.to::<u32>();
        assert!(is_full(&transfer, false));
        transfer.activity().rounds -= 1;
        assert!(!is_full(&transfer, false));
        transfer.add_wait(WaitKind::Queued, STEP);
        assert!(FullPath::of(&transfer.facts, &[false; 2]).holds(0));
    }

    /// Returns a transfer that delivers more by just the factor, less by some bytes, where more was
    /// in flight by just the factor, and some bytes.
    fn growing(less: u64, more_before: u64) -> OrdinaryTransfer {
        let mut transfer = queued();
        let mut before = transfer.facts.waits[0];
        let (high, acked) = (1_000_000, 1_000_000);
        before.activity.flight_high = share_of(SMALLER_FLIGHT.get(), high) + more_before;
        before.activity.acked = acked;
        transfer.activity().flight_high = high;
        transfer.activity().acked = share_of(DELIVERS_MORE.get(), acked) - less;
        transfer.facts.waits.insert(0, before);
        transfer
    }

    #[test]
    fn a_path_that_delivers_more_with_more_in_flight_is_not_full() {
        assert!(!is_full(&growing(0, 0), true));
        assert!(is_full(&growing(1, 0), true));
        assert!(is_full(&growing(0, 1), true));
        assert!(is_full(&growing(0, 0), false));
    }

    #[test]
    fn a_full_queue_is_told_by_how_long_data_waits() {
        let mut transfer = OrdinaryTransfer::new();
        let rate = Rate::from_bytes_per_second(1e5);
        let mut queue = full_queue(rate);
        queue.wait = RTT.scaled(windlass_base::thresholds::A_TENTH_MORE.get() - 1.0);
        transfer.facts.line.full_queue = Some(queue);
        assert!(fills_queue(&transfer.facts));
        queue.wait -= STEP;
        transfer.facts.line.full_queue = Some(queue);
        assert!(!fills_queue(&transfer.facts));
    }

    #[test]
    fn a_coarse_clock_takes_the_spacing_for_a_segments_time() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.line.spacing = Some(line(Rate::from_bytes_per_second(1e6)));
        assert_eq!(segment_time(&transfer.facts), None);
        transfer.facts.capture.clock_step = STEP;
        assert_eq!(segment_time(&transfer.facts), Some(Span::from_micros(1_460)));
    }

    #[test]
    fn what_passes_near_the_receiver_arrives() {
        let mut transfer = OrdinaryTransfer::new();
        (transfer.activity().acked, transfer.activity().sent) = (1, 2);
        assert_eq!(passed(&transfer.facts, &transfer.facts.waits[0].activity), 1);
        transfer.facts.capture.distance = STEP;
        assert_eq!(passed(&transfer.facts, &transfer.facts.waits[0].activity), 2);
    }
}
