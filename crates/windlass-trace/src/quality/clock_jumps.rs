//! A capture's clock that was set ahead.
//!
//! Time servers and suspended machines set a clock ahead by seconds to hours, and a transfer seems
//! to pause for as long. Timestamps (RFC 7323) tell: the clocks of both hosts count on as though
//! that time had not passed, and never make up for it. Of a host that slept, its own clock alone
//! does so; of packets that something on the way held, the clock of those behind them is ahead.

use windlass_base::thresholds::{CATCH_UP_SILENCES, HALF_OF_IT, LEAST_TIMER, LONGER_THAN_PATHS};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::queueing_delay::{QueueingDelay, Reading};

const MAX_LEAPS: usize = 16;

/// Time of the capture's clock that did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Packed)]
pub(crate) struct ClockJump {
    /// Between these two packets.
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// The number of the later one.
    pub(crate) number: u64,
    pub(crate) by: Span,
    /// By the direction of the data.
    pub(crate) spanned: [Spanned; 2],
}

/// The times that were measured over a silence: from data to its ACK, and from an ACK to data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed)]
pub(crate) struct Spanned {
    pub(crate) latencies: u32,
    pub(crate) turns: u32,
}

impl ClockJump {
    /// That time, by a clock that was not set ahead here.
    pub(crate) fn leave_out(&self, time: Timestamp) -> Timestamp {
        let begin = self.end - self.by;
        time - time.min(self.end).since(begin).or_zero()
    }
}

/// That time, by a clock that was not set ahead by these.
pub(crate) fn leave_out(leaps: &[ClockJump], time: Timestamp) -> Timestamp {
    // From the last one on, as each is told by the capture's clock.
    leaps.iter().rev().fold(time, |time, leap| leap.leave_out(time))
}

/// A silence, and what the clocks of both hosts counted less than the capture's over it.
#[derive(Clone, Copy, Debug, Packed)]
struct Silence {
    start: Timestamp,
    end: Timestamp,
    number: u64,
    /// What each clock read before.
    before: [Option<Reading>; 2],
    uncounted: [Option<Span>; 2],
    spanned: [Spanned; 2],
    /// True if both clocks showed it, so that it was told.
    told: bool,
}

/// The leaps of the capture's clock, as one connection shows them.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct ClockJumps {
    /// The last silence, as long as something may still come that was held back over it.
    open: Option<Silence>,
    found: Vec<ClockJump>,
}

impl ClockJumps {
    /// Returns whether a packet at this time can show a leap: it ends a silence, or follows one.
    /// Few do.
    #[inline]
    pub(crate) fn may_tell(&self, last: Timestamp, time: Timestamp) -> bool {
        self.open.is_some() || time.since(last) >= LEAST_TIMER.get()
    }

    /// A packet of this side came, this long after the one before: gives the leap once both clocks
    /// show it.
    pub(crate) fn saw(
        &mut self,
        (last, time, number): (Timestamp, Timestamp, u64),
        (side, value): (usize, Option<u32>),
        clocks: [&QueueingDelay; 2],
    ) -> Option<Span> {
        if time.since(last) >= LEAST_TIMER.get() {
            self.close();
            let before = clocks.map(QueueingDelay::reading);
            self.open = before.iter().all(Option::is_some).then_some(Silence {
                start: last,
                end: time,
                number,
                before,
                uncounted: [None; 2],
                spanned: [Spanned::default(); 2],
                told: false,
            });
        }
        self.open.is_some().then(|| self.compare(time, side, value, clocks))?
    }

    fn compare(
        &mut self,
        time: Timestamp,
        side: usize,
        value: Option<u32>,
        clocks: [&QueueingDelay; 2],
    ) -> Option<Span> {
        let open = self.open.as_mut()?;
        let silence = open.end.since(open.start);
        if time.since(open.end) > silence * CATCH_UP_SILENCES.get() + LONGER_THAN_PATHS.get() {
            self.close();
            return None;
        }
        let uncounted = clocks[side].uncounted(open.before[side]?, time, value?)?;
        let least = open.uncounted[side].map_or(uncounted, |known| known.min(uncounted));
        open.uncounted[side] = Some(least);
        if open.by().is_none() || std::mem::replace(&mut open.told, true) {
            return None;
        }
        open.by()
    }

    /// Of data in this direction, what was measured up to now began so long ago.
    pub(crate) fn measured(
        &mut self,
        direction: usize,
        time: Timestamp,
        latency: Option<Span>,
        turn: Option<Span>,
    ) {
        let Some(open) = &mut self.open else { return };
        let spans = |span: Option<Span>| span.is_some_and(|span| time - span <= open.start);
        let spanned = &mut open.spanned[direction];
        spanned.latencies = spanned.latencies.saturating_add(u32::from(spans(latency)));
        spanned.turns = spanned.turns.saturating_add(u32::from(spans(turn)));
    }

    /// Nothing comes any more that was held back.
    fn close(&mut self) {
        let Some(silence) = self.open.take() else { return };
        if let Some(leap) = silence.leap()
            && self.found.len() < MAX_LEAPS
        {
            self.found.push(leap);
        }
    }

    /// All of them, in their order, by a clock that moves in such steps: it leaps at each.
    pub(crate) fn all(mut self, step: Span) -> Vec<ClockJump> {
        self.close();
        self.found.retain(|leap| leap.by > step * 2);
        self.found
    }
}

impl Silence {
    /// By how much both clocks say that it was shorter, where that is a leap.
    fn by(&self) -> Option<Span> {
        let [one, two] = self.uncounted;
        let (by, silence) = (one?.min(two?), self.end.since(self.start));
        (by >= silence.scaled(HALF_OF_IT.get())).then_some(by.min(silence))
    }

    fn leap(&self) -> Option<ClockJump> {
        let Self { start, end, number, spanned, .. } = *self;
        self.by().map(|by| ClockJump { start, end, number, by, spanned })
    }
}
