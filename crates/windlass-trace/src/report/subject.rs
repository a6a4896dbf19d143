//! A transfer as its words see it: the numbers that more than one of them needs.

use windlass_base::figures::Counted;
use windlass_base::{Bytes, Cause, Limit, Rate, Sentence, Span, laws, sentence};

use crate::classify::Classified;
use crate::distribution::middle;
use crate::finished::Finished;
use crate::ledger::{Kind, Phase};
use crate::pipeline::LongerPath;
use crate::report::audit::BEATEN;

/// Small offers that make a habit: one or two may come of how a buffer is counted.
const HABIT: u64 = 4;

/// Ports below are the servers'.
const SYSTEM_PORTS: u16 = 1_024;

/// The share of the time that a line takes for the data, from which on it may be the line
/// that holds the transfer.
const BUSY: f64 = 0.75;

/// The share of the time that a program's pauses take where they may make the pace.
const PAUSES: f64 = 0.04;

/// A transfer with everything that its words are made of.
pub(super) struct Subject<'a> {
    pub(super) finished: &'a Finished,
    pub(super) classified: &'a Classified,
    pub(super) sender: &'a str,
    pub(super) receiver: &'a str,
    /// Packets that the capture's writer says it lost.
    pub(super) drops: Option<u64>,
}

impl Subject<'_> {
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::new(self.finished.bytes())
    }

    pub(super) fn total(&self) -> Span {
        self.classified.total
    }

    /// The rate of the whole transfer.
    pub(super) fn measured(&self) -> Rate {
        self.bytes().per(self.total())
    }

    pub(super) fn time_of(&self, cause: Cause) -> Span {
        self.classified.times.get(&cause).copied().unwrap_or_default()
    }

    /// Whether a time is one of so many parts of what a cause cost, or more.
    pub(super) fn is_part_of(&self, cause: Cause, time: Span, parts: i64) -> bool {
        let whole = self.time_of(cause);
        whole > Span::ZERO && time * parts >= whole
    }

    /// The path, where it may take longer than its handshake did, and what cost most rests on it.
    pub(super) fn longer_path(&self) -> Option<LongerPath> {
        let rests_on_path = !matches!(
            super::verdict::cause(self.classified).limit(),
            Limit::PathCapacity | Limit::CongestionWindow | Limit::Loss | Limit::ZeroWindow
        );
        self.finished.longer_path.filter(|_| rests_on_path)
    }

    /// By all of its causes.
    pub(super) fn time_of_limit(&self, limit: Limit) -> Span {
        let same = self.classified.times.iter().filter(|(cause, _)| cause.limit() == limit);
        same.map(|(_, time)| *time).sum()
    }

    /// The window of most ACKs.
    pub(super) fn window(&self) -> Option<Bytes> {
        self.finished.windows.usual()
    }

    /// From the first segment of a flight to the effect of its ACK.
    pub(super) fn cycle(&self) -> Option<Span> {
        Some(self.finished.cycles.median()? + self.finished.ack_delay)
    }

    /// How long so much in flight takes once around. Some ACKs cover the rest of one flight and
    /// the first of the next: then the first segment of each does not tell, as what is in flight
    /// is no more than the rate times the mean time of a byte (Little's law, 1961).
    pub(super) fn cycle_of(&self, flight: Bytes) -> Option<Span> {
        let cycle = self.cycle()?;
        let most = laws::window_rate(flight, cycle).bytes_per_second() * BEATEN;
        let mean = self.finished.stays.mean().map(|mean| mean + self.finished.ack_delay);
        let beaten = self.measured().bytes_per_second() > most;
        Some(mean.filter(|mean| beaten && *mean < cycle).unwrap_or(cycle))
    }

    /// How much longer round trips are than the path's.
    pub(super) fn beyond_path(&self) -> Option<Span> {
        Some((self.cycle()? - self.finished.told_rtt()?).or_zero())
    }

    /// Whether the sender's program pauses again and again: what else is seen may be what its
    /// writes leave between two pauses.
    pub(super) fn pauses(&self) -> bool {
        let (pauses, counts) = (self.time_of_limit(Limit::Application), &self.finished.counts);
        let unused = if counts.unused_rooms >= HABIT { counts.unused_room } else { Span::ZERO };
        pauses.max(unused).share_of(self.total()) >= PAUSES
    }

    /// What the sender keeps in flight where that stays the same: the middle of the time in which it
    /// waits for ACKs and neither grows nor regains what a loss took.
    pub(super) fn level_flight(&self) -> Bytes {
        self.usual_flight(|phase| phase == Phase::Level)
    }

    /// The same wherever its congestion window does not grow as in slow start.
    pub(super) fn cut_flight(&self) -> Bytes {
        self.usual_flight(|phase| phase != Phase::SlowStart)
    }

    fn usual_flight(&self, of: fn(Phase) -> bool) -> Bytes {
        let intervals = self.finished.ledger.intervals.iter();
        let level = intervals.filter(|one| {
            one.kind == Kind::Open
                && of(one.phase)
                && one.activity.flight_high > 0
                && one.charged > Span::ZERO
        });
        let mut flights: Vec<(u64, f64)> =
            level.map(|one| (one.activity.flight_high, one.charged.as_nanos() as f64)).collect();
        flights.sort_unstable_by_key(|(flight, _)| *flight);
        Bytes::new(middle(&flights).unwrap_or(self.finished.counts.flight_most))
    }

    /// What a send buffer holds: the flight where it stayed level, or else the most.
    pub(super) fn plateau(&self) -> Bytes {
        let most = self.finished.counts.flight_most;
        Bytes::new(self.classified.plateau.unwrap_or(most))
    }

    /// Whether a line may hold the transfer as well as the window does, or the buffer, which
    /// `held` is of: by the few bursts there are, or where there are none, as no data had
    /// two ACKs, by what a round trip takes beyond the path's.
    pub(super) fn may_be_line(&self, held: Option<Bytes>) -> bool {
        if let Some(pace) = self.finished.service() {
            return pace.rate.time_for(self.bytes()).share_of(self.total()) >= BUSY;
        }
        let Some((line, share)) = self.line_of_round_trips(held) else { return false };
        share >= BUSY && line.bytes_per_second() >= laws::SLOW_LINE
    }

    /// The line that would take for what was `held` in flight as much as round trips take
    /// beyond the path's, and the share that this is of them.
    pub(super) fn line_of_round_trips(&self, held: Option<Bytes>) -> Option<(Rate, f64)> {
        let (cycle, beyond) = (self.cycle()?, self.beyond_path()?);
        (beyond > Span::ZERO).then_some((held?.per(beyond), beyond.share_of(cycle)))
    }

    /// The fastest that the capture shows of the path: how close two full segments came
    /// to each other, or the best rate of the ACKs; and no more than the line that
    /// spaces its data carries. `None` where it shows no such thing.
    pub(super) fn shown(&self) -> Option<Rate> {
        let finished = self.finished;
        // What came to several connections is the line's rate only where it was full.
        let full = self.time_of(Cause::PathQueue) > Span::ZERO;
        let line = finished.shared_line().filter(|_| full).map(|(rate, _)| rate);
        let line = line.or_else(|| finished.line().map(|line| line.rate));
        let line = line.or_else(|| finished.service().map(|pace| pace.rate));
        // A card that cuts or joins segments hides how close they were. And where the
        // start is missing, so may be the only two segments that followed each other.
        let whole = finished.counts.super_packets == 0
            && finished.handshake.offers[finished.direction].is_some();
        let closest = finished.closest().filter(|_| whole);
        let bursts =
            closest.map(|time| self.segment().per(time).max(finished.capacity.unwrap_or_default()));
        let shown = match (bursts, line) {
            (Some(bursts), Some(line)) => Some(bursts.min(line)),
            (bursts, line) => bursts.or(line),
        };
        // Beside others it is what they leave, and what it has of a line whose queue is full.
        let left = finished.aggregate.filter(|all| all.is_line || shown.is_some());
        let left = left.map(|all| all.left(shown.unwrap_or_default()));
        let full = finished.queue_of_others().map(|queue| queue.rate);
        let least = [shown, left, full].into_iter().flatten().reduce(Rate::min)?;
        Some(least.max(self.measured()))
    }

    /// What to say where a queue drops what is lost that others fill, or may fill.
    pub(super) fn queue_of_others(&self) -> Option<Sentence> {
        let finished = self.finished;
        let queue = finished.queue_of_others()?;
        let full = sentence!(
            "data is lost when a queue of the path is full, in which it waits for {}",
            queue.wait
        );
        Some(match finished.line_pace() {
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
    pub(super) fn queue_of_acks(&self) -> Option<Sentence> {
        let counts = &self.finished.counts;
        let is_near = self.finished.ack_delay == Span::ZERO;
        let mostly = counts.acks_queued > Span::ZERO && counts.acks_queued * 3 >= counts.acks_late;
        (is_near && mostly).then(|| {
            sentence!(
                "by {self.receiver}'s timestamps the ACKs come late, and not the data alone: the \
                 way back is slow or full, or became longer; a capture there tells"
            )
        })
    }

    /// What to say where data is older, by its echoes, than the ACKs that its sender should have.
    pub(super) fn stale_echoes(&self) -> Option<Sentence> {
        let (sender, finished) = (self.sender, self.finished);
        finished.echoes.are_stale().then(|| {
            if finished.is_far() {
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

    /// Whether the receiver may be one whose program reads all the time, though that is not
    /// known: a closed window opened again by a part only, for half of the time that it
    /// cost and more, or hardly ever whole.
    pub(super) fn may_read_always(&self, cause: Cause) -> bool {
        let intervals = self.finished.ledger.intervals.iter();
        let parts = intervals.filter(|one| matches!(one.kind, Kind::Partly(_)));
        let parts: Span = parts.map(|one| one.charged).sum();
        let some = self.finished.reader.as_ref().is_some_and(|reader| reader.leaves_some());
        cause.limit() == Limit::ZeroWindow && (some || parts * 2 > self.time_of(cause))
    }

    /// Whether the receiver asks for the data, as the client of the dialogue: it opened
    /// the connection. Where that was not captured, the other end has a system port (RFC
    /// 6335 section 6); `None` where both have one, or none has.
    pub(super) fn asks(&self) -> Option<bool> {
        if let Some(opener) = self.finished.handshake.opener {
            return Some(opener != self.finished.direction);
        }
        let serves = [self.finished.sender, self.finished.receiver]
            .map(|end| (1..SYSTEM_PORTS).contains(&end.port));
        (serves[0] != serves[1]).then_some(serves[0])
    }

    /// Offers of small pieces of a nearly closed window: how many, how large on average,
    /// and in which packets.
    pub(super) fn silly(&self) -> Option<(u64, Bytes, &[u64])> {
        let reader = self.finished.reader.as_ref()?;
        let (count, size) = reader.silly()?;
        (count >= HABIT).then_some((count, size, reader.silly_packets()))
    }

    pub(super) fn segment(&self) -> Bytes {
        Bytes::new(self.finished.segment_size)
    }
}

/// So many of a noun, with the verb of what they are.
pub(super) fn are(count: u64, noun: &str) -> Sentence {
    if count == 1 { sentence!("1 {noun} is") } else { sentence!("{count} {noun}s are") }
}

/// So many segments, with the verb of what was done to them.
pub(super) fn were(segments: u64) -> Sentence {
    let verb = if segments == 1 { "was" } else { "were" };
    sentence!("{} {verb}", Counted(segments, "segment"))
}

/// So many repairs after duplicate ACKs, with the verb of what they were.
pub(super) fn repairs(count: u64) -> Sentence {
    let verb = if count == 1 { "was" } else { "were" };
    sentence!("{} after duplicate ACKs {verb}", Counted(count, "repair"))
}
