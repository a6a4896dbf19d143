//! Use of a transfer's time: a ledger of gaps between its events.
//!
//! Each gap between two events of a sender is charged once. Its kind is often clear only later: an
//! ACK that was not followed by data shows that the sender had none. So gaps wait in
//! [`Ledger::pending`] until an event settles them. Settled gaps become intervals; like neighbours
//! merge, and a long transfer is thinned so that memory stays bounded.

mod activity;
mod kind;

use std::cmp::Reverse;

use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

pub(crate) use self::activity::{Activity, Phase};
pub(crate) use self::kind::{Reopening, WaitKind};
use crate::packed::packed;
use crate::quality::clock_jumps::{ClockJump, SilenceMeasurements};

/// Maximum number of gaps that wait to be settled. ACKs without data, each sent three times, would
/// pile them up.
const MAX_PENDING: usize = 128;

/// Maximum number of intervals of one direction, if there is room.
pub(crate) const MAX: usize = 256;

/// Interval of time that went to one kind of wait.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct Interval {
    pub(crate) kind: WaitKind,
    pub(crate) phase: Phase,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// Time charged to `kind`; less than the whole if short neighbours of another kind were merged
    /// into this interval.
    pub(crate) charged: Span,
    /// The packets at which it began and ended.
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) activity: Activity,
}

/// A gap that is not settled yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingWait {
    /// Between two segments of one burst: goes with the wait that follows.
    Sending,
    /// Waiting for an ACK with room in the window.
    Open,
    /// Waiting for an ACK with room in the window, after a duplicate ACK.
    OpenDuplicate,
    /// Waiting for an ACK with the window full.
    Window,
    /// Nothing in flight until the peer's data came.
    AwaitPeer,
}

packed!(PendingWait [Self::Sending, Self::Open, Self::OpenDuplicate, Self::Window, Self::AwaitPeer]);

impl PendingWait {
    /// Returns the settled kind of a wait, if the waits with room in the window, and the bursts
    /// with them, were of the kind `open`.
    pub(crate) fn settled(self, open: WaitKind) -> WaitKind {
        match self {
            Self::Window => WaitKind::Window,
            Self::AwaitPeer => WaitKind::AwaitPeer,
            Self::Sending | Self::Open | Self::OpenDuplicate => open,
        }
    }
}

#[derive(Clone, Copy, Debug, Packed)]
struct Gap {
    wait: PendingWait,
    start: Timestamp,
    end: Timestamp,
    first: u64,
    last: u64,
}

/// The ledger of one direction.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct Ledger {
    /// Time up to which the ledger is complete, and the packet there.
    mark: Option<(Timestamp, u64)>,
    pending: Vec<Gap>,
    pub(crate) intervals: Vec<Interval>,
    /// Maximum number of intervals.
    pub(crate) most: usize,
    pub(crate) activity: Activity,
    pub(crate) phase: Phase,
    new_round: bool,
    /// Time whose interval was merged away, by kind.
    pub(crate) absorbed: Vec<AbsorbedTime>,
    /// The longest gaps of each kind.
    pub(crate) longest: Vec<(WaitKind, Vec<Wait>)>,
}

/// Gap as an example of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Packed)]
pub(crate) struct Wait {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) span: Span,
}

/// Number of longest gaps kept of each kind.
const LONGEST: usize = 4;

/// Intervals of one kind that were merged away.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct AbsorbedTime {
    pub(crate) kind: WaitKind,
    pub(crate) charged: Span,
    pub(crate) activity: Activity,
}

impl Ledger {
    /// Returns an empty ledger that keeps so many intervals.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
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

    /// Returns the time since the last event; never negative, whatever the capture's clock did.
    pub(crate) fn since_mark(&self, time: Timestamp) -> Span {
        self.mark.map_or(Span::ZERO, |(mark, _)| time.since(mark).or_zero())
    }

    /// Takes the end of a round trip: the next wait with room starts an interval.
    pub(crate) fn new_round(&mut self) {
        self.new_round = true;
        self.activity.rounds += 1;
    }

    pub(crate) fn flight_at_wait(&mut self, flight: u64) {
        self.activity.flight_high = self.activity.flight_high.max(flight);
    }

    /// Enters the gap up to `time` as pending.
    pub(crate) fn pend(&mut self, wait: PendingWait, time: Timestamp, number: u64) {
        let Some((start, first)) = self.mark else {
            self.mark = Some((time, number));
            return;
        };
        let end = time.max(start);
        self.mark = Some((end, number));
        match self.pending.last_mut() {
            Some(gap) if gap.wait == wait => {
                gap.end = end;
                gap.last = number;
            }
            _ => {
                if self.pending.len() >= MAX_PENDING {
                    self.settle_early(MAX_PENDING / 2);
                }
                self.pending.push(Gap { wait, start, end, first, last: number });
            }
        }
    }

    /// Enters the gap up to `time` as `kind`, after everything pending was
    /// settled.
    pub(crate) fn charge(&mut self, kind: WaitKind, time: Timestamp, number: u64) {
        if let Some((start, first)) = self.mark {
            let end = time.max(start);
            let span = end.since(start);
            self.remember(kind, Wait { first, last: number, span });
            self.enter(kind, span, (start, first), (end, number));
        }
        self.mark = Some((self.mark.map_or(time, |(mark, _)| mark.max(time)), number));
    }

    /// Returns whether a wait of this sort is pending.
    pub(crate) fn is_pending(&self, wait: PendingWait) -> bool {
        self.pending.iter().any(|gap| gap.wait == wait)
    }

    /// Returns the length of the pending waits, bursts left out.
    pub(crate) fn pending_wait(&self) -> Span {
        let waits = self.pending.iter().filter(|gap| gap.wait != PendingWait::Sending);
        waits.map(|gap| gap.end.since(gap.start)).sum()
    }

    /// Returns the time of the pending waits behind this time.
    pub(crate) fn waited_since(&self, time: Timestamp) -> Span {
        let waits = self.pending.iter().filter(|gap| gap.wait != PendingWait::Sending);
        waits.map(|gap| gap.end.since(gap.start.max(time)).or_zero()).sum()
    }

    /// Ends the pending waits before this time, at which the peer's data came.
    pub(crate) fn awaited_until(&mut self, time: Timestamp) {
        let parted = std::mem::take(&mut self.pending).into_iter().flat_map(|gap| {
            let wait = match gap.wait {
                PendingWait::Sending => PendingWait::Sending,
                _ => PendingWait::AwaitPeer,
            };
            let before = Gap { wait, end: gap.end.min(time), ..gap };
            let behind = Gap { start: gap.start.max(time), ..gap };
            let whole = |gap: &Gap| gap.start < gap.end;
            [before, behind].into_iter().filter(whole)
        });
        self.pending = parted.collect();
    }

    /// Settles the pending gaps. A burst goes with the wait behind it; a burst with no wait behind
    /// it stays pending.
    #[inline]
    pub(crate) fn settle(&mut self, decide: impl Fn(PendingWait) -> WaitKind) {
        let Some(last) = self.pending.iter().rposition(|gap| gap.wait != PendingWait::Sending)
        else {
            return;
        };
        self.settle_first(last + 1, decide);
    }

    /// Settles everything; bursts with no wait behind them become `rest`.
    pub(crate) fn settle_all(&mut self, rest: WaitKind, decide: impl Fn(PendingWait) -> WaitKind) {
        self.settle(decide);
        self.settle_first(self.pending.len(), |_| rest);
    }

    /// Settles everything and enters the gap up to `time`: all of it was of one kind.
    pub(crate) fn settle_as(&mut self, kind: WaitKind, time: Timestamp, number: u64) {
        self.settle_all(kind, |_| kind);
        self.charge(kind, time, number);
    }

    /// Settles the first gaps. Out of line: before most packets there is nothing to settle.
    #[inline(never)]
    fn settle_first(&mut self, count: usize, decide: impl Fn(PendingWait) -> WaitKind) {
        let mut begin = 0;
        while begin < count {
            let rest = &self.pending[begin..count];
            let wait = rest.iter().position(|gap| gap.wait != PendingWait::Sending);
            let kind = decide(wait.map_or(PendingWait::Sending, |wait| rest[wait].wait));
            let end = wait.map_or(count, |wait| begin + wait + 1);
            // A burst and the wait behind it are of one kind, and entered at once.
            let (first, last) = (self.pending[begin], self.pending[end - 1]);
            let mut charged = Span::ZERO;
            for index in begin..end {
                let Gap { start, end, first, last, .. } = self.pending[index];
                let span = end.since(start);
                charged += span;
                self.remember(kind, Wait { first, last, span });
            }
            self.enter(kind, charged, (first.start, first.first), (last.end, last.last));
            begin = end;
        }
        if count == self.pending.len() {
            self.pending.clear();
        } else {
            self.pending.drain(..count);
        }
    }

    /// Settles the first gaps without knowing what follows.
    fn settle_early(&mut self, count: usize) {
        self.settle_first(count, |wait| wait.settled(WaitKind::Open));
    }

    /// Discards detail until there are at most so many intervals, as many pending gaps, and half as
    /// many examples of a kind.
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
    pub(crate) fn drop_trailing(&mut self, wait: PendingWait) {
        while self.pending.last().is_some_and(|gap| gap.wait == wait) {
            self.pending.pop();
        }
    }

    /// Forgets the pending gaps behind this time.
    pub(crate) fn cut(&mut self, time: Timestamp) {
        while self.pending.last().is_some_and(|gap| gap.start >= time) {
            self.pending.pop();
        }
        if let Some(last) = self.pending.last_mut() {
            last.end = last.end.min(time);
        }
    }

    /// Ends the ledger with that packet: later settled time was no part of the transfer.
    pub(crate) fn end_at(&mut self, time: Timestamp, number: u64) {
        let mut left_out = Span::ZERO;
        while let Some(interval) = self.intervals.pop_if(|interval| interval.start >= time) {
            left_out += interval.end.since(interval.start) - interval.charged;
        }
        if let Some(last) = self.intervals.last_mut().filter(|last| last.end > time) {
            let part = last.end.since(time);
            let taken = part.min(last.charged);
            last.charged -= taken;
            left_out += part - taken;
            (last.end, last.last) = (time, number);
        }
        // Time of other kinds may have been merged into those.
        for absorbed in &mut self.absorbed {
            let taken = left_out.min(absorbed.charged);
            absorbed.charged -= taken;
            left_out -= taken;
        }
        for (_, waits) in &mut self.longest {
            waits.retain(|wait| wait.first < number);
        }
    }

    /// Gives the last interval another kind, if it is a pause no longer than `longest`.
    pub(crate) fn rename_pause(&mut self, longest: Span, kind: WaitKind) {
        let is_short = |last: &&mut Interval| {
            last.kind == WaitKind::Idle && last.end.since(last.start) <= longest
        };
        if let Some(last) = self.intervals.last_mut().filter(is_short) {
            last.kind = kind;
        }
    }

    /// Forgets the partial segments so far, and with `small` the small ones, too.
    pub(crate) fn forget_partial(&mut self, small: bool) {
        let kept = self.intervals.iter_mut().map(|interval| &mut interval.activity);
        let absorbed = self.absorbed.iter_mut().map(|absorbed| &mut absorbed.activity);
        for activity in kept.chain(absorbed).chain([&mut self.activity]) {
            activity.partial_segments = 0;
            if small {
                activity.small_segments = 0;
            }
        }
    }

    /// Returns whether it holds any time.
    pub(crate) fn is_empty(&self) -> bool {
        self.intervals.iter().all(|interval| interval.charged == Span::ZERO)
    }

    /// Enters time of one kind, between these two packets.
    fn enter(
        &mut self,
        kind: WaitKind,
        charged: Span,
        (start, first): (Timestamp, u64),
        (end, last): (Timestamp, u64),
    ) {
        let fresh = std::mem::take(&mut self.new_round) && kind == WaitKind::Open;
        let phase = if kind == WaitKind::Open { self.phase } else { Phase::Level };
        if let Some(interval) = self.intervals.last_mut()
            && interval.kind == kind
            && interval.phase == phase
            && !fresh
        {
            interval.charged += charged;
            interval.end = end;
            interval.last = last;
            interval.activity.absorb(&self.activity);
            self.activity = Activity::default();
            return;
        }
        let activity = std::mem::take(&mut self.activity);
        while self.intervals.len() >= self.most {
            self.thin(self.most);
        }
        self.intervals.push(Interval { kind, phase, start, end, charged, first, last, activity });
    }

    /// Keeps the longest gaps of each kind, the earlier of equals.
    fn remember(&mut self, kind: WaitKind, wait: Wait) {
        let Some((_, waits)) = self.longest.iter_mut().find(|(known, _)| *known == kind) else {
            let mut waits = Vec::with_capacity(LONGEST);
            waits.push(wait);
            self.longest.push((kind, waits));
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

    /// Returns the kind of the time up to here.
    pub(crate) fn kind_at(&self, time: Timestamp) -> Option<WaitKind> {
        let place = self.intervals.partition_point(|interval| interval.end < time);
        self.intervals.get(place).map(|interval| interval.kind)
    }

    /// Leaves out a jump of the capture's clock: that time did not pass, whatever it was charged
    /// to.
    pub(crate) fn leave_out(&mut self, leap: &ClockJump, mut spanned: SilenceMeasurements) {
        for interval in &mut self.intervals {
            if interval.end >= leap.end {
                interval.activity.leave_out(leap.by, &mut spanned);
            }
            let whole = interval.end.since(interval.start);
            interval.start = leap.leave_out(interval.start);
            interval.end = leap.leave_out(interval.end);
            let mut part = whole - interval.end.since(interval.start);
            // Time of another kind may have been merged into it.
            let absorbed = self.absorbed.iter_mut().map(|absorbed| &mut absorbed.charged);
            for charged in [&mut interval.charged].into_iter().chain(absorbed) {
                let taken = part.min(*charged);
                *charged -= taken;
                part -= taken;
            }
        }
        for (_, waits) in &mut self.longest {
            let holds = |wait: &&mut Wait| wait.first < leap.number && leap.number <= wait.last;
            for wait in waits.iter_mut().filter(holds) {
                wait.span = (wait.span - leap.by).or_zero();
            }
            waits.sort_by_key(|wait| Reverse(wait.span));
        }
    }

    /// Changes the kinds of waits by facts of the whole transfer, which a single wait does not
    /// show.
    pub(crate) fn recast(&mut self, kind: impl Fn(WaitKind, Phase) -> WaitKind) {
        for interval in &mut self.intervals {
            interval.kind = kind(interval.kind, interval.phase);
        }
        for absorbed in &mut self.absorbed {
            absorbed.kind = kind(absorbed.kind, Phase::Level);
        }
        for (known, waits) in std::mem::take(&mut self.longest) {
            for wait in waits {
                self.remember(kind(known, Phase::Level), wait);
            }
        }
    }

    /// Returns the start of its first gap.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        let settled = self.intervals.first().map(|interval| interval.start);
        settled.or(self.pending.first().map(|gap| gap.start)).or(self.mark.map(|(time, _)| time))
    }

    /// Returns the time in which a sender with data to send was held back.
    pub(crate) fn busy(&self) -> Span {
        self.time_of(|kind| !matches!(kind, WaitKind::Idle | WaitKind::AwaitPeer))
    }

    /// Returns the time in which only its own program held the sender back.
    pub(crate) fn idle(&self) -> Span {
        self.time_of(|kind| kind == WaitKind::Idle)
    }

    /// Returns the share of the time in which a host had nothing to send, or no room.
    pub(crate) fn share_of_hosts(&self) -> f64 {
        self.time_of(WaitKind::is_of_hosts).share_of(self.time_of(|_| true))
    }

    /// Returns the final ledger: no wait is pending.
    pub(crate) fn close(self) -> Self {
        Self { pending: Vec::new(), ..self }
    }

    /// Returns the time in which a window is closed here and in the other direction's ledger.
    pub(crate) fn closed_with(&self, other: &Self) -> Span {
        let closed = |ledger: &Self| {
            let all = ledger.intervals.iter().filter(|one| one.kind.is_closed());
            all.map(|one| (one.start, one.end)).collect::<Vec<_>>()
        };
        let (ours, theirs) = (closed(self), closed(other));
        let overlaps = ours.iter().flat_map(|one| theirs.iter().map(move |two| (one, two)));
        overlaps.map(|(one, two)| one.1.min(two.1).since(one.0.max(two.0)).or_zero()).sum()
    }

    /// Returns the last settled interval.
    pub(crate) fn last(&self) -> Option<Interval> {
        self.intervals.last().copied()
    }

    /// Splits an interval at the point up to which it was known as `before`, if it has only grown
    /// since.
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
        interval.activity.take_away(&before.activity);
        self.intervals.insert(place, *before);
    }

    /// Returns the time charged to the kinds and phases that count.
    pub(crate) fn time_of_waits(&self, counts: impl Fn(WaitKind, Phase) -> bool) -> Span {
        let kept = self.intervals.iter().filter(|one| counts(one.kind, one.phase));
        kept.map(|interval| interval.charged).sum()
    }

    /// Returns the time charged to the kinds that count.
    fn time_of(&self, counts: impl Fn(WaitKind) -> bool) -> Span {
        let kept = self.intervals.iter().map(|interval| (interval.kind, interval.charged));
        let absorbed = self.absorbed.iter().map(|absorbed| (absorbed.kind, absorbed.charged));
        kept.chain(absorbed).filter(|(kind, _)| counts(*kind)).map(|(_, span)| span).sum()
    }
}

fn join(before: &mut Interval, interval: &Interval) {
    before.end = interval.end;
    before.last = interval.last;
    before.charged += interval.charged;
    before.activity.absorb(&interval.activity);
}

fn absorb(absorbed: &mut Vec<AbsorbedTime>, interval: &Interval) {
    let Interval { kind, charged, activity, .. } = *interval;
    match absorbed.iter_mut().find(|known| known.kind == kind) {
        Some(known) => {
            known.charged += charged;
            known.activity.absorb(&activity);
        }
        None => absorbed.push(AbsorbedTime { kind, charged, activity }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    fn total(ledger: &Ledger) -> Span {
        ledger.time_of(|_| true)
    }

    #[test]
    fn a_burst_goes_with_the_wait_behind_it() {
        let mut ledger = Ledger::new(MAX);
        ledger.start(at(0), 1);
        ledger.pend(PendingWait::Sending, at(7), 2);
        ledger.pend(PendingWait::Window, at(117_000), 3);
        ledger.settle(|_| WaitKind::Window);
        ledger.pend(PendingWait::Sending, at(117_020), 4);
        let intervals = ledger.intervals;
        assert_eq!(intervals.len(), 1);
        assert_eq!(intervals[0].charged, Span::from_micros(117_000));
        assert_eq!((intervals[0].first, intervals[0].last), (1, 3));
    }

    #[test]
    fn gaps_do_not_pile_up() {
        let mut ledger = Ledger::new(MAX);
        ledger.start(at(0), 0);
        for step in 1..=10_000_u64 {
            let wait = if step % 3 == 0 { PendingWait::Open } else { PendingWait::OpenDuplicate };
            ledger.pend(wait, at(i64::try_from(step).unwrap()), step);
        }
        assert!(ledger.pending.len() <= MAX_PENDING);
        ledger.settle(|_| WaitKind::Open);
        assert_eq!(total(&ledger), Span::from_micros(10_000));
    }

    #[test]
    fn thinning_loses_no_time() {
        let mut ledger = Ledger::new(MAX);
        ledger.start(at(0), 0);
        for step in 1..=10_000_u64 {
            let kind = if step % 3 == 0 { WaitKind::Idle } else { WaitKind::Open };
            ledger.new_round();
            ledger.charge(kind, at(i64::try_from(step * step).unwrap()), step);
        }
        assert!(ledger.intervals.len() <= MAX);
        assert_eq!(total(&ledger), Span::from_micros(100_000_000));
    }

    #[test]
    fn a_clock_that_steps_back_costs_no_time() {
        let mut ledger = Ledger::new(MAX);
        ledger.start(at(1_000), 1);
        ledger.charge(WaitKind::Idle, at(400), 2);
        ledger.charge(WaitKind::Idle, at(1_500), 3);
        assert_eq!(total(&ledger), Span::from_micros(500));
    }
}
