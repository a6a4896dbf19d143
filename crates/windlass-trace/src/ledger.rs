//! Where the time of a transfer goes: a ledger of gaps between its events.
//!
//! Each gap between two events of a sender is charged once. What it is charged
//! to is often clear only later (an ACK that was not followed by data shows
//! that the sender had none), so gaps wait in [`Ledger::pending`] until an
//! event settles them. Settled gaps become intervals; like neighbours merge,
//! and a long transfer is thinned so that memory stays bounded.

use windlass_base::{Span, Timestamp};

use crate::packed::packed;

/// The most gaps that wait to be settled. ACKs without data, each sent three
/// times, would pile them up.
const MOST_PENDING: usize = 128;

/// The most intervals that one direction keeps, where there is room.
pub(crate) const MOST: usize = 256;

/// What a settled gap was spent on, as far as a sender's own events tell. Some
/// kinds are split further when the whole transfer is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Less than a segment of room at the right edge of the window.
    Window,
    /// Room in the window, data to send, and yet a wait for an ACK.
    Open,
    /// A small segment held back until an ACK that came late.
    Nagle,
    /// Repair after duplicate ACKs.
    Recovery,
    /// Silence until the retransmission timer ran out, and the repair after.
    Timeout,
    /// The timer ran out, and nothing proves that anything was lost. The gap
    /// before was spent with the window full, or not.
    Blind { window_full: bool },
    /// A closed window that the receiver's program kept closed.
    NotReading,
    /// A closed window that only a probe found open again.
    NoUpdate,
    /// A closed window that opened again a moment later.
    OpensLate,
    /// Nothing to send.
    Idle,
    /// Nothing to send until the other side's data came.
    AwaitPeer,
    /// Time that segments stood in queues on their way to the capture.
    Queued,
    /// Silence at the capture over which the sender sent packets, by its count.
    Skipped,
    /// Time over which the capture misses packets.
    Missing,
}

packed!(Kind [
    Self::Window,
    Self::Open,
    Self::Nagle,
    Self::Recovery,
    Self::Timeout,
    Self::Blind { window_full: false },
    Self::Blind { window_full: true },
    Self::NotReading,
    Self::NoUpdate,
    Self::OpensLate,
    Self::Idle,
    Self::AwaitPeer,
    Self::Queued,
    Self::Skipped,
    Self::Missing,
]);

/// How the congestion window moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// It doubles with each round trip.
    #[default]
    SlowStart,
    /// It has not yet regained what loss took.
    AfterLoss,
    /// Neither.
    Level,
}

packed!(Phase [Self::SlowStart, Self::AfterLoss, Self::Level]);

/// A window that is as large as the largest, in parts.
const WHOLE_WINDOW: u64 = 1 << 16;

/// What happened while time passed, for telling an open window's limits apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Activity {
    /// The least and the greatest flight at which the sender waited.
    pub(crate) flight_low: u64,
    pub(crate) flight_high: u64,
    pub(crate) acked: u64,
    pub(crate) sent: u64,
    pub(crate) acks: u32,
    pub(crate) segments: u32,
    pub(crate) small_segments: u32,
    /// Segments that are not full.
    pub(crate) partial_segments: u32,
    /// Waits that ended as soon as an ACK made a little room.
    pub(crate) prompt: u32,
    /// Waits that went on over several ACKs until half the flight was gone.
    pub(crate) deep: u32,
    pub(crate) latency_sum: Span,
    pub(crate) latency_count: u32,
    /// The same for the way from the capture to the sender and back.
    pub(crate) turn_sum: Span,
    pub(crate) turn_count: u32,
    /// The windows of ACKs as shares of the largest so far, in parts of 65,536,
    /// and their number.
    pub(crate) window_shares: u64,
    pub(crate) windows: u32,
    /// The time between ACKs of new data, and its squares in seconds.
    pub(crate) gaps: Span,
    pub(crate) gaps_squared: f64,
    /// Round trips that began in this time.
    pub(crate) rounds: u32,
}

packed!(sparse Activity {
    flight_low,
    flight_high,
    acked,
    sent,
    acks,
    segments,
    small_segments,
    partial_segments,
    prompt,
    deep,
    latency_sum,
    latency_count,
    turn_sum,
    turn_count,
    window_shares,
    windows,
    gaps,
    gaps_squared,
    rounds
});

impl Activity {
    fn absorb(&mut self, other: &Self) {
        self.flight_low = match (self.flight_low, other.flight_low) {
            (0, low) | (low, 0) => low,
            (one, two) => one.min(two),
        };
        self.flight_high = self.flight_high.max(other.flight_high);
        self.acked += other.acked;
        self.sent += other.sent;
        self.acks = self.acks.saturating_add(other.acks);
        self.segments = self.segments.saturating_add(other.segments);
        self.small_segments = self.small_segments.saturating_add(other.small_segments);
        self.partial_segments = self.partial_segments.saturating_add(other.partial_segments);
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.deep = self.deep.saturating_add(other.deep);
        self.latency_sum += other.latency_sum;
        self.latency_count = self.latency_count.saturating_add(other.latency_count);
        self.window_shares += other.window_shares;
        self.windows = self.windows.saturating_add(other.windows);
        self.gaps += other.gaps;
        self.gaps_squared += other.gaps_squared;
        self.turn_sum += other.turn_sum;
        self.turn_count = self.turn_count.saturating_add(other.turn_count);
        self.rounds = self.rounds.saturating_add(other.rounds);
    }

    /// Takes away what was counted before: the least and the greatest flight stay
    /// those of the whole.
    fn take_away(&mut self, before: &Self) {
        self.acked = self.acked.saturating_sub(before.acked);
        self.sent = self.sent.saturating_sub(before.sent);
        self.acks = self.acks.saturating_sub(before.acks);
        self.segments = self.segments.saturating_sub(before.segments);
        self.small_segments = self.small_segments.saturating_sub(before.small_segments);
        self.partial_segments = self.partial_segments.saturating_sub(before.partial_segments);
        self.prompt = self.prompt.saturating_sub(before.prompt);
        self.deep = self.deep.saturating_sub(before.deep);
        self.latency_sum -= before.latency_sum;
        self.latency_count = self.latency_count.saturating_sub(before.latency_count);
        self.window_shares = self.window_shares.saturating_sub(before.window_shares);
        self.windows = self.windows.saturating_sub(before.windows);
        self.gaps -= before.gaps;
        self.gaps_squared = (self.gaps_squared - before.gaps_squared).max(0.0);
        self.turn_sum -= before.turn_sum;
        self.turn_count = self.turn_count.saturating_sub(before.turn_count);
        self.rounds = self.rounds.saturating_sub(before.rounds);
    }

    /// Takes a window that was offered, and the largest so far.
    pub(crate) fn window(&mut self, window: u64, most: u64) {
        self.window_shares += window * WHOLE_WINDOW / most.max(1);
        self.windows = self.windows.saturating_add(1);
    }

    /// Takes the time between two ACKs of new data.
    pub(crate) fn gap(&mut self, gap: Span) {
        self.gaps += gap;
        self.gaps_squared += gap.as_seconds() * gap.as_seconds();
    }

    /// The mean of the samples from data to its ACK.
    pub(crate) fn latency(&self) -> Option<Span> {
        (self.latency_count > 0).then(|| self.latency_sum / i64::from(self.latency_count))
    }

    /// The mean share of the largest window that was offered: what a receiver's
    /// program leaves unread takes from it.
    pub(crate) fn window_share(&self) -> Option<f64> {
        (self.windows > 0)
            .then(|| self.window_shares as f64 / WHOLE_WINDOW as f64 / f64::from(self.windows))
    }

    /// The gap between ACKs at a random moment: short where they come as an
    /// even train, nearly a round trip where they come in bursts.
    pub(crate) fn usual_gap(&self) -> Option<Span> {
        (self.gaps > Span::ZERO)
            .then(|| Span::from_seconds(self.gaps_squared / self.gaps.as_seconds()))
    }

    /// The mean of the samples from an ACK to the data that echoes it.
    pub(crate) fn turn(&self) -> Option<Span> {
        (self.turn_count > 0).then(|| self.turn_sum / i64::from(self.turn_count))
    }
}

/// A stretch of time that went to one kind of wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) kind: Kind,
    pub(crate) phase: Phase,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// The time charged to `kind`; less than the whole where short neighbours
    /// of another kind were merged into this interval.
    pub(crate) charged: Span,
    /// The packets at which it began and ended.
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) activity: Activity,
    /// How many waits it holds.
    pub(crate) waits: u32,
}

packed!(Interval { kind, phase, start, end, charged, first, last, activity, waits });

/// A gap that is not settled yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Between two segments of one burst: goes with the wait that follows.
    Sending,
    /// Waiting for an ACK with room in the window.
    Open,
    /// The same, after a duplicate ACK.
    OpenDuplicate,
    /// Waiting for an ACK with the window full.
    Window,
    /// Nothing in flight until the peer's data came.
    AwaitPeer,
}

packed!(Doubt [Self::Sending, Self::Open, Self::OpenDuplicate, Self::Window, Self::AwaitPeer]);

impl Doubt {
    /// What a doubt comes to when the waits with room in the window, and the
    /// bursts with them, were of the kind `open`.
    pub(crate) fn settled(self, open: Kind) -> Kind {
        match self {
            Self::Window => Kind::Window,
            Self::AwaitPeer => Kind::AwaitPeer,
            Self::Sending | Self::Open | Self::OpenDuplicate => open,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    doubt: Doubt,
    start: Timestamp,
    end: Timestamp,
    first: u64,
    last: u64,
}

packed!(Gap { doubt, start, end, first, last });

/// The ledger of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    /// Up to where time has been entered, and the packet there.
    mark: Option<(Timestamp, u64)>,
    pending: Vec<Gap>,
    intervals: Vec<Interval>,
    /// How many of them it keeps.
    most: usize,
    activity: Activity,
    phase: Phase,
    new_round: bool,
    /// Time whose interval was merged away, by kind.
    absorbed: Vec<Absorbed>,
    /// The longest gaps of each kind.
    longest: Vec<(Kind, Vec<Wait>)>,
}

packed!(Ledger { most, mark, pending, intervals, activity, phase, new_round, absorbed, longest });

/// One gap, as an example of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) span: Span,
}

packed!(Wait { first, last, span });

/// How many of the longest gaps of each kind are kept.
const LONGEST: usize = 4;

/// Intervals of one kind that were merged away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Absorbed {
    pub(crate) kind: Kind,
    pub(crate) charged: Span,
    pub(crate) activity: Activity,
}

packed!(Absorbed { kind, charged, activity });

/// A ledger that is closed.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) intervals: Vec<Interval>,
    pub(crate) absorbed: Vec<Absorbed>,
    pub(crate) longest: Vec<(Kind, Vec<Wait>)>,
}

impl Ledger {
    /// An empty one that keeps so many intervals.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            mark: None,
            pending: Vec::new(),
            intervals: Vec::new(),
            most,
            activity: Activity::default(),
            phase: Phase::default(),
            new_round: false,
            absorbed: Vec::new(),
            longest: Vec::new(),
        }
    }

    /// Sets how many intervals it keeps.
    pub(crate) fn keep(&mut self, most: usize) {
        self.most = most;
    }

    /// Starts the clock, once.
    pub(crate) fn start(&mut self, time: Timestamp, number: u64) {
        if self.mark.is_none() {
            self.mark = Some((time, number));
        }
    }

    pub(crate) fn started(&self) -> bool {
        self.mark.is_some()
    }

    /// Since the last event; never negative, whatever the capture's clock did.
    pub(crate) fn since_mark(&self, time: Timestamp) -> Span {
        self.mark.map_or(Span::ZERO, |(mark, _)| time.since(mark).or_zero())
    }

    pub(crate) fn activity(&mut self) -> &mut Activity {
        &mut self.activity
    }

    pub(crate) fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// A round trip ended: the next wait with room starts an interval.
    pub(crate) fn new_round(&mut self) {
        self.new_round = true;
        self.activity.rounds += 1;
    }

    pub(crate) fn flight_at_wait(&mut self, flight: u64) {
        let activity = &mut self.activity;
        activity.flight_high = activity.flight_high.max(flight);
        if activity.flight_low == 0 || flight < activity.flight_low {
            activity.flight_low = flight;
        }
    }

    /// Enters the gap up to `time` as doubtful.
    pub(crate) fn doubt(&mut self, doubt: Doubt, time: Timestamp, number: u64) {
        let Some((start, first)) = self.mark else {
            self.mark = Some((time, number));
            return;
        };
        let end = time.max(start);
        self.mark = Some((end, number));
        match self.pending.last_mut() {
            Some(gap) if gap.doubt == doubt => {
                gap.end = end;
                gap.last = number;
            }
            _ => {
                if self.pending.len() >= MOST_PENDING {
                    self.settle_early(MOST_PENDING / 2);
                }
                self.pending.push(Gap { doubt, start, end, first, last: number });
            }
        }
    }

    /// Enters the gap up to `time` as `kind`, after everything pending was
    /// settled.
    pub(crate) fn charge(&mut self, kind: Kind, time: Timestamp, number: u64) {
        if let Some((start, first)) = self.mark {
            let end = time.max(start);
            self.enter(kind, start, end, first, number);
        }
        self.mark = Some((self.mark.map_or(time, |(mark, _)| mark.max(time)), number));
    }

    /// Whether a doubt of this sort is pending.
    pub(crate) fn doubts(&self, doubt: Doubt) -> bool {
        self.pending.iter().any(|gap| gap.doubt == doubt)
    }

    /// The length of the pending waits, bursts left out.
    pub(crate) fn pending_wait(&self) -> Span {
        let waits = self.pending.iter().filter(|gap| gap.doubt != Doubt::Sending);
        waits.map(|gap| gap.end.since(gap.start)).sum()
    }

    /// Settles what is pending. A burst goes with the wait behind it; one with
    /// no wait behind it stays pending.
    pub(crate) fn settle(&mut self, decide: impl Fn(Doubt) -> Kind) {
        let Some(last) = self.pending.iter().rposition(|gap| gap.doubt != Doubt::Sending) else {
            return;
        };
        self.settle_first(last + 1, decide);
    }

    /// Settles everything; bursts with no wait behind them become `rest`.
    pub(crate) fn settle_all(&mut self, rest: Kind, decide: impl Fn(Doubt) -> Kind) {
        self.settle(decide);
        self.settle_first(self.pending.len(), |_| rest);
    }

    fn settle_first(&mut self, count: usize, decide: impl Fn(Doubt) -> Kind) {
        let mut gaps: Vec<Gap> = std::mem::take(&mut self.pending);
        for place in 0..count {
            let gap = gaps[place];
            let follower = gaps[place..count].iter().find(|gap| gap.doubt != Doubt::Sending);
            let kind = decide(follower.map_or(Doubt::Sending, |gap| gap.doubt));
            self.enter(kind, gap.start, gap.end, gap.first, gap.last);
        }
        gaps.drain(..count);
        self.pending = gaps;
    }

    /// Settles the first gaps without knowing what follows.
    fn settle_early(&mut self, count: usize) {
        self.settle_first(count, |doubt| doubt.settled(Kind::Open));
    }

    /// Gives up detail until there are at most so many intervals, as many pending
    /// gaps, and half as many examples of a kind.
    pub(crate) fn shrink(&mut self, most: usize) {
        if self.pending.len() > most {
            self.settle_early(self.pending.len() - most);
        }
        while self.intervals.len() > most {
            self.thin(most);
        }
        for (_, waits) in &mut self.longest {
            waits.truncate((most / 2).max(1));
        }
    }

    /// Forgets pending gaps of this sort at the end: they were no part of the
    /// transfer.
    pub(crate) fn drop_trailing(&mut self, doubt: Doubt) {
        while self.pending.last().is_some_and(|gap| gap.doubt == doubt) {
            self.pending.pop();
        }
    }

    /// Forgets what is pending behind this time.
    pub(crate) fn cut(&mut self, time: Timestamp) {
        while self.pending.last().is_some_and(|gap| gap.start >= time) {
            self.pending.pop();
        }
        if let Some(last) = self.pending.last_mut() {
            last.end = last.end.min(time);
        }
    }

    /// Whether it holds any time.
    pub(crate) fn is_empty(&self) -> bool {
        self.intervals.iter().all(|interval| interval.charged == Span::ZERO)
    }

    fn enter(&mut self, kind: Kind, start: Timestamp, end: Timestamp, first: u64, last: u64) {
        self.remember(kind, Wait { first, last, span: end.since(start) });
        let activity = std::mem::take(&mut self.activity);
        let fresh = std::mem::take(&mut self.new_round) && kind == Kind::Open;
        let phase = if kind == Kind::Open { self.phase } else { Phase::Level };
        if let Some(interval) = self.intervals.last_mut()
            && interval.kind == kind
            && interval.phase == phase
            && !fresh
        {
            interval.charged += end.since(start);
            interval.end = end;
            interval.last = last;
            interval.waits = interval.waits.saturating_add(1);
            interval.activity.absorb(&activity);
            return;
        }
        while self.intervals.len() >= self.most {
            self.thin(self.most);
        }
        let charged = end.since(start);
        self.intervals.push(Interval {
            kind,
            phase,
            start,
            end,
            charged,
            first,
            last,
            activity,
            waits: 1,
        });
    }

    /// Keeps the longest gaps of each kind, the earlier of equals.
    fn remember(&mut self, kind: Kind, wait: Wait) {
        let Some((_, waits)) = self.longest.iter_mut().find(|(known, _)| *known == kind) else {
            self.longest.push((kind, vec![wait]));
            return;
        };
        if waits.len() == LONGEST {
            if waits[LONGEST - 1].span >= wait.span {
                return;
            }
            waits.pop();
        }
        let place = waits.partition_point(|known| known.span >= wait.span);
        waits.insert(place, wait);
    }

    /// Halves the number of intervals: first rounds of one kind are joined,
    /// then the shortest intervals go into their neighbours.
    fn thin(&mut self, most: usize) {
        let mut joined: Vec<Interval> = Vec::with_capacity(most);
        let mut pair = false;
        for interval in self.intervals.drain(..) {
            match joined.last_mut() {
                // In pairs, so that a plateau of many rounds keeps its shape.
                Some(before)
                    if !pair && before.kind == interval.kind && before.phase == interval.phase =>
                {
                    join(before, &interval);
                    pair = true;
                }
                _ => {
                    joined.push(interval);
                    pair = false;
                }
            }
        }
        if joined.len() > most * 3 / 4 {
            let mut lengths: Vec<Span> = joined.iter().map(|interval| interval.charged).collect();
            lengths.sort_unstable();
            let least = lengths[lengths.len() / 2];
            let mut kept: Vec<Interval> = Vec::with_capacity(most);
            for interval in joined {
                match kept.last_mut() {
                    Some(before)
                        if before.kind == interval.kind && before.phase == interval.phase =>
                    {
                        join(before, &interval);
                    }
                    Some(before) if interval.charged <= least => {
                        before.end = interval.end;
                        before.last = interval.last;
                        absorb(&mut self.absorbed, &interval);
                    }
                    _ => kept.push(interval),
                }
            }
            joined = kept;
        }
        self.intervals = joined;
    }

    /// When its first gap began.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        let settled = self.intervals.first().map(|interval| interval.start);
        settled.or(self.pending.first().map(|gap| gap.start)).or(self.mark.map(|(time, _)| time))
    }

    /// The time in which a sender with data to send was held back.
    pub(crate) fn busy(&self) -> Span {
        self.time_of(|kind| !matches!(kind, Kind::Idle | Kind::AwaitPeer))
    }

    /// The time in which nothing but its own program held the sender back.
    pub(crate) fn idle(&self) -> Span {
        self.time_of(|kind| kind == Kind::Idle)
    }

    fn time_of(&self, counts: impl Fn(Kind) -> bool) -> Span {
        let kept = self.intervals.iter().map(|interval| (interval.kind, interval.charged));
        let absorbed = self.absorbed.iter().map(|absorbed| (absorbed.kind, absorbed.charged));
        kept.chain(absorbed).filter(|(kind, _)| counts(*kind)).map(|(_, span)| span).sum()
    }

    /// What it holds in the end.
    pub(crate) fn close(self) -> Closed {
        Closed { intervals: self.intervals, absorbed: self.absorbed, longest: self.longest }
    }

    /// The last settled interval.
    pub(crate) fn last(&self) -> Option<Interval> {
        self.intervals.last().copied()
    }

    /// The kind of the last settled interval.
    pub(crate) fn last_kind(&self) -> Option<Kind> {
        self.intervals.last().map(|interval| interval.kind)
    }
}

impl Closed {
    /// Parts an interval at the point up to which it was known as `before`, where
    /// it has only grown since.
    pub(crate) fn split(&mut self, before: &Interval) {
        let grown = |interval: &Interval| {
            (interval.kind, interval.phase) == (before.kind, before.phase)
                && (interval.start, interval.first) == (before.start, before.first)
                && interval.end > before.end
                && interval.charged > before.charged
        };
        let Some(place) = self.intervals.iter().rposition(grown) else { return };
        let interval = &mut self.intervals[place];
        interval.start = before.end;
        interval.first = before.last;
        interval.charged -= before.charged;
        interval.waits = interval.waits.saturating_sub(before.waits).max(1);
        interval.activity.take_away(&before.activity);
        self.intervals.insert(place, *before);
    }
}

fn join(before: &mut Interval, interval: &Interval) {
    before.end = interval.end;
    before.last = interval.last;
    before.charged += interval.charged;
    before.waits = before.waits.saturating_add(interval.waits);
    before.activity.absorb(&interval.activity);
}

fn absorb(absorbed: &mut Vec<Absorbed>, interval: &Interval) {
    let Interval { kind, charged, activity, .. } = *interval;
    match absorbed.iter_mut().find(|known| known.kind == kind) {
        Some(known) => {
            known.charged += charged;
            known.activity.absorb(&activity);
        }
        None => absorbed.push(Absorbed { kind, charged, activity }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    fn total(ledger: Ledger) -> Span {
        let Closed { intervals, absorbed, .. } = ledger.close();
        let kept: Span = intervals.iter().map(|interval| interval.charged).sum();
        kept + absorbed.iter().map(|absorbed| absorbed.charged).sum()
    }

    #[test]
    fn a_burst_goes_with_the_wait_behind_it() {
        let mut ledger = Ledger::new(MOST);
        ledger.start(at(0), 1);
        ledger.doubt(Doubt::Sending, at(7), 2);
        ledger.doubt(Doubt::Window, at(117_000), 3);
        ledger.settle(|_| Kind::Window);
        ledger.doubt(Doubt::Sending, at(117_020), 4);
        let intervals = ledger.close().intervals;
        assert_eq!(intervals.len(), 1);
        assert_eq!(intervals[0].charged, Span::from_micros(117_000));
        assert_eq!((intervals[0].first, intervals[0].last), (1, 3));
    }

    #[test]
    fn gaps_do_not_pile_up() {
        let mut ledger = Ledger::new(MOST);
        ledger.start(at(0), 0);
        for step in 1..=10_000_u64 {
            let doubt = if step % 3 == 0 { Doubt::Open } else { Doubt::OpenDuplicate };
            ledger.doubt(doubt, at(i64::try_from(step).unwrap()), step);
        }
        assert!(ledger.pending.len() <= MOST_PENDING);
        ledger.settle(|_| Kind::Open);
        assert_eq!(total(ledger), Span::from_micros(10_000));
    }

    #[test]
    fn thinning_loses_no_time() {
        let mut ledger = Ledger::new(MOST);
        ledger.start(at(0), 0);
        for step in 1..=10_000_u64 {
            let kind = if step % 3 == 0 { Kind::Idle } else { Kind::Open };
            ledger.new_round();
            ledger.charge(kind, at(i64::try_from(step * step).unwrap()), step);
        }
        assert!(ledger.intervals.len() <= MOST);
        assert_eq!(total(ledger), Span::from_micros(100_000_000));
    }

    #[test]
    fn a_clock_that_steps_back_costs_no_time() {
        let mut ledger = Ledger::new(MOST);
        ledger.start(at(1_000), 1);
        ledger.charge(Kind::Idle, at(400), 2);
        ledger.charge(Kind::Idle, at(1_500), 3);
        assert_eq!(total(ledger), Span::from_micros(500));
    }
}
