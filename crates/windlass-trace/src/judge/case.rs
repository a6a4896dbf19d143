//! Transfers with their facts and tally: the numbers that several causes need.

use windlass_base::figures::ItemCount;
use windlass_base::thresholds::{
    A_TENTH_MORE, BEYOND_JITTER, FASTEST_LINE, HALF_AGAIN, LARGE_PART, PAUSES_SHARE,
    QUEUE_FOR_TWICE, SEVERAL,
};
use windlass_base::{Bytes, Cause, Limit, Rate, Sentence, Span, laws, sentence};

use super::checks::Checks;
use super::facts::Facts;
use super::tally::Tally;
use crate::estimate::distribution::middle;
use crate::estimate::longer_path::LongerPath;
use crate::follow::ledger::{Phase, WaitKind};

/// Ports below are the servers'.
const SYSTEM_PORTS: u16 = 1_024;

/// Transfer, with its facts and the use of its time.
pub(crate) struct Case<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) tally: &'a Tally,
    pub(crate) sender: &'a str,
    pub(crate) receiver: &'a str,
}

impl Case<'_> {
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::new(self.facts.sent.bytes)
    }

    pub(crate) fn total(&self) -> Span {
        self.tally.total
    }

    /// Returns the rate of the whole transfer. It is zero if the time is zero, or too short for any
    /// line: then the capture's clock stood.
    pub(crate) fn measured(&self) -> Rate {
        let rate = self.bytes().per(self.total());
        let fastest = Rate::from_bytes_per_second(FASTEST_LINE.get() as f64 * 1e9);
        if rate > fastest { Rate::ZERO } else { rate }
    }

    pub(crate) fn time_of(&self, cause: Cause) -> Span {
        self.tally.times.get(&cause).copied().unwrap_or_default()
    }

    /// Returns whether a time is one of so many parts of what a cause cost, or more.
    pub(crate) fn is_part_of(&self, cause: Cause, time: Span, parts: i64) -> bool {
        let whole = self.time_of(cause);
        whole > Span::ZERO && time * parts >= whole
    }

    /// Returns the path, if it may take longer than its handshake did, and the costliest cause
    /// rests on it.
    pub(crate) fn longer_path(&self) -> Option<LongerPath> {
        let rests_on_path = !matches!(
            self.tally.cause().limit(),
            Limit::PathCapacity | Limit::CongestionWindow | Limit::Loss | Limit::ZeroWindow
        );
        self.facts.path.longer.filter(|_| rests_on_path)
    }

    /// Returns whether a cause has most of its time from waits for ACKs between bursts, whose pace
    /// the whole transfer explains.
    pub(crate) fn is_between_bursts(&self, cause: Cause) -> bool {
        self.is_part_of(cause, self.tally.between_bursts, 2)
    }

    /// Returns whether something at the sender spaces the data, for most of the time of a full
    /// path.
    pub(crate) fn is_spaced(&self) -> bool {
        self.is_between_bursts(Cause::PathQueue)
    }

    /// Returns the time of a limit by all of its causes.
    pub(crate) fn time_of_limit(&self, limit: Limit) -> Span {
        self.tally.time_of_limit(limit)
    }

    /// Returns whether the sender's SYN was captured.
    pub(crate) fn has_start(&self) -> bool {
        let opening = &self.facts.opening;
        opening.handshake.offers[opening.direction].is_some()
    }

    /// Returns the window of most ACKs.
    pub(crate) fn window(&self) -> Option<Bytes> {
        self.facts.window.usual
    }

    /// Returns the time from the first segment of a flight to the effect of its ACK.
    pub(crate) fn cycle(&self) -> Option<Span> {
        self.facts.cycle()
    }

    /// Returns the cycle time of a flight of this size. Some ACKs cover the rest of one flight and
    /// the first of the next: then the first segment of each flight does not tell the cycle. The
    /// flight is no more than the rate times the mean time of a byte (Little's law, 1961).
    pub(crate) fn cycle_of(&self, flight: Bytes) -> Option<Span> {
        let cycle = self.cycle()?;
        let most = laws::window_rate(flight, cycle).bytes_per_second() * BEYOND_JITTER.get();
        let mean = self.facts.acks.mean_stay.map(|mean| mean + self.facts.capture.distance);
        let beaten = self.measured().bytes_per_second() > most;
        Some(mean.filter(|mean| beaten && *mean < cycle).unwrap_or(cycle))
    }

    /// Returns the time of round trips above the path's.
    pub(crate) fn beyond_path(&self) -> Option<Span> {
        Some((self.cycle()? - self.facts.path.told_rtt?).or_zero())
    }

    /// Returns whether the sender's program pauses again and again: other findings may be effects
    /// of its writes between two pauses.
    pub(crate) fn pauses(&self) -> bool {
        let (pauses, counts) = (self.time_of_limit(Limit::Application), &self.facts.counts);
        let unused =
            if counts.unused_rooms >= SEVERAL.get() { counts.unused_room } else { Span::ZERO };
        pauses.max(unused).share_of(self.total()) >= PAUSES_SHARE.get()
    }

    /// Returns the steady flight of the sender: the median over the time in which it waits for ACKs
    /// and neither grows nor regains a loss.
    pub(crate) fn level_flight(&self) -> Bytes {
        self.usual_flight(|phase| phase == Phase::Level)
    }

    /// Returns the usual flight of all phases but slow start.
    pub(crate) fn cut_flight(&self) -> Bytes {
        self.usual_flight(|phase| phase != Phase::SlowStart)
    }

    fn usual_flight(&self, of: fn(Phase) -> bool) -> Bytes {
        let intervals = self.facts.waits.iter();
        let level = intervals.filter(|one| {
            one.kind == WaitKind::Open
                && of(one.phase)
                && one.activity.flight_high > 0
                && one.charged > Span::ZERO
        });
        let mut flights: Vec<(u64, f64)> =
            level.map(|one| (one.activity.flight_high, one.charged.as_nanos() as f64)).collect();
        flights.sort_unstable_by_key(|(flight, _)| *flight);
        Bytes::new(middle(&flights).unwrap_or(self.facts.counts.flight_most))
    }

    /// Returns the contents of the send buffer: the level flight, or else the maximum.
    pub(crate) fn plateau(&self) -> Bytes {
        let most = self.facts.counts.flight_most;
        Bytes::new(self.tally.plateau.unwrap_or(most))
    }

    /// Returns whether a line may limit the transfer as well as the window or buffer of `held`
    /// bytes does. Few bursts tell, or, if no data had two ACKs, the round trips' time beyond the
    /// path's. A doubt needs less than a rule does.
    pub(crate) fn may_be_line(&self, held: Option<Bytes>, checks: &mut Checks) -> bool {
        if let Some(pace) = self.facts.service() {
            let share = pace.rate.time_for(self.bytes()).share_of(self.total());
            return checks.at_least("time that the line takes", share, LARGE_PART);
        }
        let Some((line, share)) = self.line_of_round_trips(held) else { return false };
        checks.at_least("time that the line takes", share, LARGE_PART)
            && checks.at_least(
                "the line's rate",
                line,
                Rate::from_bytes_per_second(laws::SLOW_LINE),
            )
    }

    /// Returns the line that would need the round trips' time beyond the path's for the flight
    /// `held`, and the share of this time.
    pub(crate) fn line_of_round_trips(&self, held: Option<Bytes>) -> Option<(Rate, f64)> {
        let (cycle, beyond) = (self.cycle()?, self.beyond_path()?);
        (beyond > Span::ZERO).then_some((held?.per(beyond), beyond.share_of(cycle)))
    }

    /// Returns the fastest rate of the path in the capture, limited by the line that spaces its
    /// data. It is the closest spacing of two full segments, or the best rate of ACKs. `None` if
    /// the capture shows no rate.
    pub(crate) fn shown(&self) -> Option<Rate> {
        let facts = self.facts;
        // The arrivals of several connections show the line's rate only if the line was full.
        let full = self.time_of(Cause::PathQueue) > Span::ZERO;
        let line = facts.shared_line().filter(|_| full).map(|(rate, _)| rate);
        let line = line.or_else(|| facts.data_line().map(|line| line.rate));
        let line = line.or_else(|| facts.service().map(|pace| pace.rate));
        // A card that cuts or joins segments hides how close they were. And where the
        // start is missing, so may be the only two segments that followed each other. The pace of
        // one or two pairs may be their program's.
        let several = facts.line.packet_times.count >= SEVERAL.get();
        let whole = facts.counts.super_packets == 0 && self.has_start() && several;
        let closest = facts.closest().filter(|_| whole);
        let bursts = closest
            .map(|time| self.segment().per(time).max(facts.line.capacity.unwrap_or_default()));
        let shown = match (bursts, line) {
            (Some(bursts), Some(line)) => Some(bursts.min(line)),
            (bursts, line) => bursts.or(line),
        };
        // Beside others it is what they leave, and what it has of a line whose queue is full.
        let left = facts.line.aggregate.filter(|all| all.is_line || shown.is_some());
        let left = left.map(|all| all.left(shown.unwrap_or_default()));
        let full = facts.queue_of_others().map(|queue| queue.rate);
        let least = [shown, left, full].into_iter().flatten().reduce(Rate::min)?;
        Some(least.max(self.measured()))
    }

    /// Returns the largest window, if the receiver does not enlarge it as more comes. Then the
    /// window is the limit, or it stayed as it was in the handshake.
    pub(crate) fn fixed_window(&self) -> Option<Bytes> {
        let facts = self.facts;
        let first = facts.opening.handshake.offers[1 - facts.opening.direction]?.first_window_bytes;
        let window = Bytes::new(facts.window.most);
        // A scaled window is rounded.
        let stayed = window <= first + Bytes::new(1 << facts.window.scale.shift().min(14));
        (stayed || self.tally.cause().limit() == Limit::ReceiverWindow).then_some(window)
    }

    /// Returns whether a queue that drops data may be too short for a line of twice this rate.
    pub(crate) fn has_short_queue(&self, capacity: Rate) -> bool {
        let (facts, rtt) = (self.facts, self.facts.path.told_rtt.unwrap_or_default());
        let path = capacity.bytes_per_second() * rtt.as_seconds() * QUEUE_FOR_TWICE.get();
        facts.counts.loss_events > 0 && (facts.counts.flight_most as f64) < path
    }

    /// Returns the path's line if the capture proves it, full or not. Behind the sender the ACKs of
    /// enough bursts prove it, and far from the sender the data of bursts that pass evenly.
    pub(crate) fn known_line(&self) -> Option<Rate> {
        let facts = self.facts;
        if facts.line.aggregate.is_some() || facts.queue_of_others().is_some() {
            return None;
        }
        if let Some(line) = facts.data_line() {
            return Some(line.rate);
        }
        if !facts.capture.is_far {
            return facts.service().filter(|pace| pace.sure).map(|pace| pace.rate);
        }
        // Even arrivals that are no faster than the transfer may be a program's pace.
        let pace = self.measured().bytes_per_second() * HALF_AGAIN.get();
        facts.line_pace().filter(|rate| rate.bytes_per_second() >= pace)
    }

    /// Returns whether the path is known to carry as much: by its line, or as it did for a few
    /// round trips.
    pub(crate) fn is_carried(&self, rate: Rate) -> bool {
        self.known_line().is_some() || self.demonstrated().is_some_and(|best| rate <= best)
    }

    /// Returns the fastest rate that the path was seen to carry. It is the rate over a few round
    /// trips, or the largest flight and a full segment in the time until their ACKs.
    pub(crate) fn demonstrated(&self) -> Option<Rate> {
        let facts = self.facts;
        let in_time = |bytes: u64, time: Option<Span>| {
            let time = time.filter(|time| *time > Span::ZERO)?;
            Some(Bytes::new(bytes).per(time))
        };
        let cycle = facts.acks.cycles.p90().map(|cycle| cycle + facts.capture.distance);
        // Far from the sender an ACK comes as soon as its data. The quickest may be of a short
        // segment.
        let least = facts.acks.latency.p10().filter(|_| !facts.capture.is_far);
        let rates = [
            facts.line.capacity,
            in_time(facts.counts.flight_most, cycle),
            in_time(facts.window.segment, least),
        ];
        rates.into_iter().flatten().reduce(Rate::max)
    }

    /// Returns the most that the path carries, by the capture. Few bursts whose ACKs come together
    /// bound nothing.
    pub(crate) fn path_bound(&self) -> Option<Rate> {
        let facts = self.facts;
        // Far from the sender, what comes no faster may be its program's pace.
        if facts.capture.is_far && self.tally.cause().limit() == Limit::Application {
            // A line is faster than a transfer that leaves it idle.
            let pace = self.measured().bytes_per_second() * A_TENTH_MORE.get();
            return self.known_line().filter(|line| line.bytes_per_second() > pace);
        }
        let few = facts.service().is_some_and(|pace| !pace.sure);
        let alone = facts.line.aggregate.is_none() && facts.queue_of_others().is_none();
        if few && alone { None } else { self.shown() }
    }

    /// Returns the caveat about a full queue that drops the lost data, and that others fill or may
    /// fill.
    pub(crate) fn queue_of_others(&self) -> Option<Sentence> {
        let facts = self.facts;
        let queue = facts.queue_of_others()?;
        let full = sentence!(
            "data is lost when a queue of the path is full, in which it waits for {}",
            queue.wait
        );
        Some(match facts.line_pace() {
            Some(pace) => sentence!(
                "{full}. This connection then has {} of the bottleneck rate of {}: other traffic \
                 fills the rest. Capture where all traffic passes to see it, or run windlass send \
                 without it to measure the path",
                queue.rate,
                pace,
            ),
            None => sentence!(
                "{full}. The capture does not show whether this connection alone fills it: run \
                 windlass send alone to measure the path"
            ),
        })
    }

    /// Returns the caveat about ACKs in a queue on their way back to the sender, by the receiver's
    /// timestamps. At least a third of the ACKs' delay is queueing.
    pub(crate) fn queue_of_acks(&self) -> Option<Sentence> {
        let counts = &self.facts.counts;
        let is_near = self.facts.capture.distance == Span::ZERO;
        let mostly = counts.acks_queued > Span::ZERO && counts.acks_queued * 3 >= counts.acks_late;
        (is_near && mostly).then(|| {
            sentence!(
                "by {self.receiver}'s timestamps the ACKs come late, and not only the data: the \
                 return path is slow or full, or became longer; capture there to tell"
            )
        })
    }

    /// Returns the caveat about data that is older, by its echoes, than the ACKs that its sender
    /// should have.
    pub(crate) fn stale_echoes(&self) -> Option<Sentence> {
        let (sender, facts) = (self.sender, self.facts);
        facts.path.has_stale_echoes.then(|| {
            if facts.capture.is_far {
                sentence!(
                    "by its timestamp echoes, data of {sender} is older than ACKs that should have \
                     arrived long before: ACKs wait in a queue on their way, or its data does \
                     before the capture; capture at {sender} to tell"
                )
            } else {
                sentence!(
                    "by its timestamp echoes, data of {sender} is older than ACKs that came long \
                     before it: something between its TCP and the capture delays data, such as a \
                     traffic shaper (tc -s qdisc shows it)"
                )
            }
        })
    }

    /// Returns whether the receiver's program may read all the time, though that is unknown. A
    /// closed window opened again by a part only, for at least half of the time that it cost, or
    /// hardly ever whole.
    pub(crate) fn may_read_always(&self, cause: Cause) -> bool {
        let parts = self.facts.time_of_waits(|kind| matches!(kind, WaitKind::Partly(_)));
        let some = self.facts.window.reader.as_ref().is_some_and(|reader| reader.leaves_some);
        cause.limit() == Limit::ZeroWindow && (some || parts * 2 > self.time_of(cause))
    }

    /// Returns whether the receiver asks for the data, as the client of the dialogue: it opened
    /// the connection. Where that was not captured, the other end has a system port (RFC
    /// 6335 section 6); `None` where both have one, or none has.
    pub(crate) fn asks(&self) -> Option<bool> {
        if let Some(opener) = self.facts.opening.handshake.opener {
            return Some(opener != self.facts.opening.direction);
        }
        let serves = self.facts.opening.ports.map(|port| (1..SYSTEM_PORTS).contains(&port));
        (serves[0] != serves[1]).then_some(serves[0])
    }

    /// Returns the offers of small pieces of a nearly closed window: their number, their mean size,
    /// and their packets.
    pub(crate) fn silly(&self) -> Option<(u64, Bytes, &[u64])> {
        let reader = self.facts.window.reader.as_ref()?;
        let (count, size) = reader.silly?;
        (count >= SEVERAL.get()).then_some((count, size, reader.silly_packets.as_slice()))
    }

    pub(crate) fn segment(&self) -> Bytes {
        Bytes::new(self.facts.window.segment)
    }
}

/// Returns a count with noun and verb.
pub(crate) fn are(count: u64, noun: &str) -> Sentence {
    if count == 1 { sentence!("1 {noun} is") } else { sentence!("{count} {noun}s are") }
}

/// Returns a count of segments with a verb.
pub(crate) fn were(segments: u64) -> Sentence {
    let verb = if segments == 1 { "was" } else { "were" };
    sentence!("{} {verb}", ItemCount(segments, "segment"))
}

/// Returns a count of repairs after duplicate ACKs with a verb.
pub(crate) fn repairs(count: u64) -> Sentence {
    let verb = if count == 1 { "was" } else { "were" };
    sentence!("{} after duplicate ACKs {verb}", ItemCount(count, "repair"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::confidence::{LINE_OR_BUFFER, LINE_OR_WINDOW};
    use crate::judge::fixture::{OrdinaryTransfer, RTT, SEGMENT, STEP, TIME, pace};

    #[test]
    fn the_line_of_bursts_may_hold_a_window_or_a_buffer() {
        let mut transfer = OrdinaryTransfer::new();
        let (data, busy) = (transfer.case().bytes(), TIME.scaled(LARGE_PART.get()));
        for doubt in [&LINE_OR_WINDOW, &LINE_OR_BUFFER] {
            transfer.facts.line.service = Some(pace(data.per(busy)));
            assert!(transfer.is_doubted_by(doubt));
            transfer.facts.line.service = Some(pace(data.per(busy - STEP)));
            assert!(!transfer.is_doubted_by(doubt));
        }
    }

    #[test]
    fn the_line_of_round_trips_may_hold_a_window_or_a_buffer() {
        let mut transfer = OrdinaryTransfer::new();
        let path = RTT - RTT.scaled(LARGE_PART.get());
        for doubt in [&LINE_OR_WINDOW, &LINE_OR_BUFFER] {
            transfer.set_path(path);
            assert!(transfer.is_doubted_by(doubt));
            transfer.set_path(path + STEP);
            assert!(!transfer.is_doubted_by(doubt));
        }
    }

    #[test]
    fn a_line_of_round_trips_is_none_of_the_slowest() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_path(STEP);
        let slow = Rate::from_bytes_per_second(laws::SLOW_LINE);
        transfer.facts.counts.flight_most = SEGMENT;
        transfer.set_latency(slow.time_for(Bytes::new(SEGMENT)) + STEP);
        assert!(transfer.is_doubted_by(&LINE_OR_BUFFER));
        transfer.set_latency(slow.time_for(Bytes::new(SEGMENT)) + STEP * 2);
        assert!(!transfer.is_doubted_by(&LINE_OR_BUFFER));
    }

    #[test]
    fn what_no_line_carries_is_no_rate() {
        let mut transfer = OrdinaryTransfer::new();
        // 100 bytes in each nanosecond.
        transfer.facts.sent.bytes = TIME.as_nanos().unsigned_abs() * FASTEST_LINE.get();
        assert_eq!(transfer.case().measured(), Rate::from_bytes_per_second(100e9));
        transfer.facts.sent.bytes += 1_000_000;
        assert_eq!(transfer.case().measured(), Rate::ZERO);
    }
}
