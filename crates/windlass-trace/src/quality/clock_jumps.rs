//! Detection of a capture's clock that was set ahead.
//!
//! Time servers and suspended machines set a clock ahead by seconds to hours, and a transfer seems
//! to pause for as long. Timestamps (RFC 7323) reveal this: the clocks of both hosts count on as
//! though that time had not passed, and never make up for it. If a host slept, only its own clock
//! does so. If something on the way held packets, the clock of the packets behind them is ahead.

use windlass_base::thresholds::{CATCH_UP_SILENCES, HALF_OF_IT, LEAST_TIMER, LONGER_THAN_PATHS};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::queueing_delay::{ClockReading, QueueingDelay};

const MAX_LEAPS: usize = 16;

/// Time of the capture's clock that did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Packed)]
pub(crate) struct ClockJump {
    /// Times of the two packets around the jump.
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// Number of the later packet.
    pub(crate) number: u64,
    pub(crate) by: Span,
    /// Measurements over the jump, by the direction of the data.
    pub(crate) spanned: [SilenceMeasurements; 2],
}

/// Numbers of measurements over a silence: from data to its ACK, and from an ACK to data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed)]
pub(crate) struct SilenceMeasurements {
    pub(crate) latencies: u32,
    pub(crate) turns: u32,
}

impl ClockJump {
    /// Returns this time by a clock without the jump.
    pub(crate) fn leave_out(&self, time: Timestamp) -> Timestamp {
        let begin = self.end - self.by;
        time - time.min(self.end).since(begin).or_zero()
    }
}

/// Returns this time by a clock without these jumps.
pub(crate) fn leave_out(leaps: &[ClockJump], time: Timestamp) -> Timestamp {
    // From the last one on, as each is told by the capture's clock.
    leaps.iter().rev().fold(time, |time, leap| leap.leave_out(time))
}

/// A silence, and the time over it that the hosts' clocks did not count.
#[derive(Clone, Copy, Debug, Packed)]
struct Silence {
    start: Timestamp,
    end: Timestamp,
    number: u64,
    /// Previous readings of the clocks.
    before: [Option<ClockReading>; 2],
    uncounted: [Option<Span>; 2],
    spanned: [SilenceMeasurements; 2],
    /// True if both clocks showed the jump, so that it was reported.
    told: bool,
}

/// Jumps of the capture's clock, as one connection shows them.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct ClockJumps {
    /// Last silence, as long as packets that were held back over it may still come.
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

    /// Takes a packet of this side, which came this long after the one before. Returns the jump
    /// once both clocks show it.
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
                spanned: [SilenceMeasurements::default(); 2],
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

    /// Records that the measurement of data in this direction, up to now, began so long ago.
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

    /// Ends the last silence: no packet held back over it can come any more.
    fn close(&mut self) {
        let Some(silence) = self.open.take() else { return };
        if let Some(leap) = silence.leap()
            && self.found.len() < MAX_LEAPS
        {
            self.found.push(leap);
        }
    }

    /// Returns all jumps in order, by a clock with this step: the clock jumps at each step.
    pub(crate) fn all(mut self, step: Span) -> Vec<ClockJump> {
        self.close();
        self.found.retain(|leap| leap.by > step * 2);
        self.found
    }
}

impl Silence {
    /// Returns the time by which both clocks count the silence shorter, if that is a jump.
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
