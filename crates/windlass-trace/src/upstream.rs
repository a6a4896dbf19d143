//! Queues between the sender and the capture, as the sender's timestamps show
//! them.

use crate::packed::packed;
use windlass_base::{Span, Timestamp};

/// The ticks that TCP timestamp clocks have: 1 ms on today's systems; 4, 10 and
/// 100 ms where they came from a kernel's timer, 500 ms on old BSD (RFC 7323
/// section 5.4 allows 1 ms to 1 s). A path that delivers at less than a quarter
/// of the pace from its first packets on reads as a slow clock.
const TICKS: [i64; 5] = [1, 4, 10, 100, 500];

/// Clocks are compared over at least this long.
const LEAST: Span = Span::from_millis(50);

/// Compares when segments were sent, by their timestamp option, with when they
/// were captured. What a segment takes longer than the quickest one did, it
/// spent in a queue on its way to the capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Upstream {
    first: Option<(Timestamp, u32)>,
    /// The least of capture time minus sending time, in nanoseconds, for the
    /// tick at hand.
    least: i64,
    tick: i64,
}

packed!(Upstream { first, least, tick });

impl Upstream {
    /// The time that this segment stood in queues; `None` while it is not to
    /// be told.
    pub(crate) fn queued(&mut self, time: Timestamp, value: u32) -> Option<Span> {
        let Some((first, base)) = self.first else {
            self.first = Some((time, value));
            return None;
        };
        let passed = time.since(first);
        let ticks = i64::from(value.wrapping_sub(base));
        if ticks >= 1 << 31 || passed < Span::ZERO {
            return None;
        }
        if passed >= LEAST && ticks >= 5 {
            // A queue only stretches arrivals, so the true tick is the largest
            // that does not exceed what was seen.
            let seen = (passed.as_nanos() / ticks).saturating_mul(21) / 20;
            let tick =
                TICKS.iter().rev().map(|tick| tick * 1_000_000).find(|tick| *tick <= seen)?;
            if self.tick == 0 || tick < self.tick {
                self.tick = tick;
                self.least = 0;
            }
        }
        if self.tick == 0 {
            return None;
        }
        let behind = passed.as_nanos() - ticks * self.tick;
        self.least = self.least.min(behind);
        Some(Span::from_nanos(behind.saturating_sub(self.least) - self.tick).or_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn an_idle_sender_is_no_queue() {
        let mut upstream = Upstream::default();
        for step in 0..100 {
            let queued = upstream.queued(at(step * 37), u32::try_from(step * 37).unwrap());
            assert!(queued.unwrap_or_default() <= Span::from_millis(1), "{queued:?}");
        }
    }

    #[test]
    fn a_slow_link_shows_as_a_growing_queue() {
        let mut upstream = Upstream::default();
        let mut last = Span::ZERO;
        for step in 0..100 {
            // Sent every millisecond, delivered every second one.
            last = upstream.queued(at(step * 2), u32::try_from(step).unwrap()).unwrap_or_default();
        }
        assert!(last > Span::from_millis(40), "{last}");
    }

    #[test]
    fn a_slow_clock_is_no_queue() {
        let mut upstream = Upstream::default();
        for step in 0..100 {
            let queued = upstream.queued(at(step * 10), u32::try_from(step).unwrap());
            assert!(queued.unwrap_or_default() <= Span::from_millis(1), "{queued:?}");
        }
    }
}
