//! A transfer with its facts and its tally: the numbers that several causes need.

use windlass_base::figures::Counted;
use windlass_base::thresholds::{
    BEYOND_JITTER, FASTEST_LINE, HALF_AGAIN, LARGE_PART, PAUSES_SHARE, QUEUE_FOR_TWICE, SEVERAL,
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

/// A transfer, its facts and where its time went.
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

    /// The rate of the whole transfer; zero where its time is none, or too short for any line: then
    /// the capture's clock stood.
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

    /// The path, where it may take longer than its handshake did, and what cost most rests on it.
    pub(crate) fn longer_path(&self) -> Option<LongerPath> {
        let rests_on_path = !matches!(
            self.tally.cause().limit(),
            Limit::PathCapacity | Limit::CongestionWindow | Limit::Loss | Limit::ZeroWindow
        );
        self.facts.path.longer.filter(|_| rests_on_path)
    }

    /// Returns whether a cause has most of its time from waits for ACKs between bursts, of which
    /// the whole transfer shows who sets the pace.
    pub(crate) fn is_between_bursts(&self, cause: Cause) -> bool {
        self.is_part_of(cause, self.tally.between_bursts, 2)
    }

    /// Returns whether it is something at the sender that spaces the data, for most of the time of a
    /// full path.
    pub(crate) fn is_spaced(&self) -> bool {
        self.is_between_bursts(Cause::PathQueue)
    }

    /// By all of its causes.
    pub(crate) fn time_of_limit(&self, limit: Limit) -> Span {
        self.tally.time_of_limit(limit)
    }

    /// Returns whether the sender's SYN was captured.
    pub(crate) fn has_start(&self) -> bool {
        let opening = &self.facts.opening;
        opening.handshake.offers[opening.direction].is_some()
    }

    /// The window of most ACKs.
    pub(crate) fn window(&self) -> Option<Bytes> {
        self.facts.window.usual
    }

    /// From the first segment of a flight to the effect of its ACK.
    pub(crate) fn cycle(&self) -> Option<Span> {
        self.facts.cycle()
    }

    /// How long so much in flight takes once around. Some ACKs cover the rest of one flight and
    /// the first of the next: then the first segment of each does not tell, as what is in flight
    /// is no more than the rate times the mean time of a byte (Little's law, 1961).
    pub(crate) fn cycle_of(&self, flight: Bytes) -> Option<Span> {
        let cycle = self.cycle()?;
        let most = laws::window_rate(flight, cycle).bytes_per_second() * BEYOND_JITTER.get();
        let mean = self.facts.acks.mean_stay.map(|mean| mean + self.facts.capture.distance);
        let beaten = self.measured().bytes_per_second() > most;
        Some(mean.filter(|mean| beaten && *mean < cycle).unwrap_or(cycle))
    }

    /// How much longer round trips are than the path's.
    pub(crate) fn beyond_path(&self) -> Option<Span> {
        Some((self.cycle()? - self.facts.path.told_rtt?).or_zero())
    }

    /// Returns whether the sender's program pauses again and again: what else is seen may be what
    /// its writes leave between two pauses.
    pub(crate) fn pauses(&self) -> bool {
        let (pauses, counts) = (self.time_of_limit(Limit::Application), &self.facts.counts);
        let unused =
            if counts.unused_rooms >= SEVERAL.get() { counts.unused_room } else { Span::ZERO };
        pauses.max(unused).share_of(self.total()) >= PAUSES_SHARE.get()
    }

    /// The flight that the sender keeps where it stays the same: the middle of the time in which
    /// it waits for ACKs and neither grows nor regains what a loss took.
    pub(crate) fn level_flight(&self) -> Bytes {
        self.usual_flight(|phase| phase == Phase::Level)
    }

    /// The same wherever its congestion window does not grow as in slow start.
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

    /// What a send buffer holds: the flight where it stayed level, or else the most.
    pub(crate) fn plateau(&self) -> Bytes {
        let most = self.facts.counts.flight_most;
        Bytes::new(self.tally.plateau.unwrap_or(most))
    }

    /// Returns whether a line may hold the transfer as well as the window does, or the buffer,
    /// which `held` is of: by the few bursts there are, or where there are none, as no data had two
    /// ACKs, by what a round trip takes beyond the path's.
    /// A doubt asks for less than a rule does.
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

    /// The line that would take for what was `held` in flight as much as round trips take
    /// beyond the path's, and the share that this is of them.
    pub(crate) fn line_of_round_trips(&self, held: Option<Bytes>) -> Option<(Rate, f64)> {
        let (cycle, beyond) = (self.cycle()?, self.beyond_path()?);
        (beyond > Span::ZERO).then_some((held?.per(beyond), beyond.share_of(cycle)))
    }

    /// The fastest that the capture shows of the path: how close two full segments came
    /// to each other, or the best rate of the ACKs; and no more than the line that
    /// spaces its data carries. `None` where it shows no such thing.
    pub(crate) fn shown(&self) -> Option<Rate> {
        let facts = self.facts;
        // What came to several connections is the line's rate only where it was full.
        let full = self.time_of(Cause::PathQueue) > Span::ZERO;
        let line = facts.shared_line().filter(|_| full).map(|(rate, _)| rate);
        let line = line.or_else(|| facts.data_line().map(|line| line.rate));
        let line = line.or_else(|| facts.service().map(|pace| pace.rate));
        // A card that cuts or joins segments hides how close they were. And where the
        // start is missing, so may be the only two segments that followed each other.
        let whole = facts.counts.super_packets == 0 && self.has_start();
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

    /// The largest window, where the receiver does not make it larger as more comes: the window is
    /// the limit, or it stayed as it was in the handshake.
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

    /// The line of the path where the capture shows it for certain, full or not: behind the sender
    /// by the ACKs of enough bursts, and far from it by the data of bursts that pass evenly.
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
        // What comes evenly and no faster than the transfer may be a program's pace.
        let pace = self.measured().bytes_per_second() * HALF_AGAIN.get();
        facts.line_pace().filter(|rate| rate.bytes_per_second() >= pace)
    }

    /// Returns whether the path is known to carry as much: by its line, or as it did for a few
    /// round trips.
    pub(crate) fn is_carried(&self, rate: Rate) -> bool {
        self.known_line().is_some() || self.demonstrated().is_some_and(|best| rate <= best)
    }

    /// The fastest that the path was seen to carry: for a few round trips, or the largest flight
    /// and a full segment in the time until their ACKs.
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

    /// The most that the path carries, by what the capture shows of it. Few bursts whose ACKs come
    /// together bound nothing.
    pub(crate) fn path_bound(&self) -> Option<Rate> {
        let facts = self.facts;
        // Far from the sender, what comes no faster may be its program's pace.
        if facts.capture.is_far && self.tally.cause().limit() == Limit::Application {
            return self.known_line();
        }
        let few = facts.service().is_some_and(|pace| !pace.sure);
        let alone = facts.line.aggregate.is_none() && facts.queue_of_others().is_none();
        if few && alone { None } else { self.shown() }
    }

    /// What to say where a queue drops what is lost that others fill, or may fill.
    pub(crate) fn queue_of_others(&self) -> Option<Sentence> {
        let facts = self.facts;
        let queue = facts.queue_of_others()?;
        let full = sentence!(
            "data is lost when a queue of the path is full, in which it waits for {}",
            queue.wait
        );
        Some(match facts.line_pace() {
            Some(pace) => sentence!(
                "{full}. This connection has {} then of the {} at which its bursts pass: others \
                 fill the rest, and a capture where all of them pass tells which; windlass send \
                 while they rest tells what the path carries",
                queue.rate,
                pace,
            ),
            None => sentence!(
                "{full}. Whether this connection alone fills it does not show: windlass send, by \
                 itself, tells what the path carries"
            ),
        })
    }

    /// What to say where it is the ACKs that stand in a queue, on their way back to the sender, by
    /// the receiver's timestamps: for a third of the time, and more, that they are late.
    pub(crate) fn queue_of_acks(&self) -> Option<Sentence> {
        let counts = &self.facts.counts;
        let is_near = self.facts.capture.distance == Span::ZERO;
        let mostly = counts.acks_queued > Span::ZERO && counts.acks_queued * 3 >= counts.acks_late;
        (is_near && mostly).then(|| {
            sentence!(
                "by {self.receiver}'s timestamps the ACKs come late, and not the data alone: the \
                 way back is slow or full, or became longer; a capture there tells"
            )
        })
    }

    /// What to say where data is older, by its echoes, than the ACKs that its sender should have.
    pub(crate) fn stale_echoes(&self) -> Option<Sentence> {
        let (sender, facts) = (self.sender, self.facts);
        facts.path.has_stale_echoes.then(|| {
            if facts.capture.is_far {
                sentence!(
                    "by its echoes, data of {sender} is older than ACKs that should be there for \
                     long: ACKs stand in a queue on their way, or what it sends does before the \
                     capture; capture at {sender} to tell"
                )
            } else {
                sentence!(
                    "by its echoes, data of {sender} is older than ACKs that came long before it: \
                     something between its TCP and the capture holds data back, as a traffic \
                     shaper does (tc -s qdisc shows it)"
                )
            }
        })
    }

    /// Returns whether the receiver may be one whose program reads all the time, though that is not
    /// known: a closed window opened again by a part only, for half of the time that it
    /// cost and more, or hardly ever whole.
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

    /// Offers of small pieces of a nearly closed window: how many, how large on average,
    /// and in which packets.
    pub(crate) fn silly(&self) -> Option<(u64, Bytes, &[u64])> {
        let reader = self.facts.window.reader.as_ref()?;
        let (count, size) = reader.silly?;
        (count >= SEVERAL.get()).then_some((count, size, reader.silly_packets.as_slice()))
    }

    pub(crate) fn segment(&self) -> Bytes {
        Bytes::new(self.facts.window.segment)
    }
}

/// So many of a noun, with the verb of what they are.
pub(crate) fn are(count: u64, noun: &str) -> Sentence {
    if count == 1 { sentence!("1 {noun} is") } else { sentence!("{count} {noun}s are") }
}

/// So many segments, with the verb of what was done to them.
pub(crate) fn were(segments: u64) -> Sentence {
    let verb = if segments == 1 { "was" } else { "were" };
    sentence!("{} {verb}", Counted(segments, "segment"))
}

/// So many repairs after duplicate ACKs, with the verb of what they were.
pub(crate) fn repairs(count: u64) -> Sentence {
    let verb = if count == 1 { "was" } else { "were" };
    sentence!("{} after duplicate ACKs {verb}", Counted(count, "repair"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::confidence::{LINE_OR_BUFFER, LINE_OR_WINDOW};
    use crate::judge::fixture::{Ordinary, RTT, SEGMENT, STEP, TIME, pace};

    #[test]
    fn the_line_of_bursts_may_hold_a_window_or_a_buffer() {
        let mut transfer = Ordinary::new();
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
        let mut transfer = Ordinary::new();
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
        let mut transfer = Ordinary::new();
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
        let mut transfer = Ordinary::new();
        // 100 bytes in each nanosecond.
        transfer.facts.sent.bytes = TIME.as_nanos().unsigned_abs() * FASTEST_LINE.get();
        assert_eq!(transfer.case().measured(), Rate::from_bytes_per_second(100e9));
        transfer.facts.sent.bytes += 1_000_000;
        assert_eq!(transfer.case().measured(), Rate::ZERO);
    }
}
