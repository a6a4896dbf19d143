//! Queues between the sender and the capture, as the sender's timestamps show
//! them.

use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

/// Latencies shorter than this say nothing of a queue or of a delayed ACK:
/// hosts are that slow by themselves.
pub(crate) const MIN_QUEUE: Span = Span::from_micros(500);

/// The ticks that TCP timestamp clocks have, in nanoseconds: 1 ms on today's systems;
/// the others where they come from a kernel's timer (HZ 300, 250, 100, 10), and 500 ms
/// on old BSD (RFC 7323 section 5.4 allows 1 ms to 1 s). A path that delivers at less
/// than a third of the pace from its first packets on reads as a slow clock.
const TICKS: [i64; 6] = [1_000_000, 3_333_333, 4_000_000, 10_000_000, 100_000_000, 500_000_000];

/// Clocks are compared over at least this long.
const MIN: Span = Span::from_millis(50);

/// How late the first packet may have been: its host woke, or the path did.
const FIRST_LATE: Span = Span::from_millis(50);

/// How far two clocks drift apart: crystals are off by 100 ppm each at most, and the
/// clocks of virtual machines were seen 224 ppm apart; twice that, as a divisor.
const DRIFT: i64 = 2_000;

/// Changes of the clock's value after which its step is known.
const ENOUGH: u8 = 4;

/// A clock that was proven wrong so often is not believed any more.
const MAX_DOUBTS: u8 = 3;

/// How far a value lies back that is not a packet out of order, but a clock that was
/// set: a second or more.
const SET_BACK: i64 = 1_000_000_000;

/// A silence that is long enough to compare clocks over.
pub(crate) const SILENCE: Span = Span::from_millis(200);

/// How late a packet came, by its sender's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Late {
    /// How much later than the quickest: the time that it stood in queues, and up to one grain
    /// of the clock. `None` where that is not to be told.
    pub(crate) by: Option<Span>,
    /// How coarse the clock is.
    pub(crate) grain: Span,
}

impl Late {
    /// The time that it stood in queues, at least.
    pub(crate) fn queued(&self) -> Span {
        self.by.map_or(Span::ZERO, |by| (by - self.grain).or_zero())
    }
}

/// What a clock read when a packet came.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct Reading {
    time: Timestamp,
    value: u32,
}

/// Compares when segments were sent, by their timestamp option, with when they
/// were captured. What a segment takes longer than the quickest one did, it
/// spent in a queue on its way to the capture, as far as clocks that tick in steps
/// and drift apart can tell.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct QueueingDelay {
    first: Option<(Timestamp, u32)>,
    last: u32,
    last_at: Timestamp,
    /// The least of capture time minus sending time, in nanoseconds, for the
    /// tick at hand, and when it was seen.
    least: i64,
    least_at: Timestamp,
    tick: i64,
    /// The least step between two values, and how many steps were seen.
    step: u32,
    steps: u8,
    /// How often it was proven wrong.
    doubts: u8,
}

impl QueueingDelay {
    /// Takes a packet of the sender, and tells how late it came.
    pub(crate) fn saw(&mut self, time: Timestamp, value: u32) -> Late {
        let by = self.behind_quickest(time, value);
        Late { by, ..self.untold() }
    }

    /// Of a packet that says nothing of it.
    pub(crate) fn untold(&self) -> Late {
        Late { by: None, grain: self.grain() }
    }

    fn behind_quickest(&mut self, time: Timestamp, value: u32) -> Option<Span> {
        let Some((first, base)) = self.first else {
            self.start(time, value);
            return None;
        };
        let step = value.wrapping_sub(self.last);
        if step >= 1 << 31 {
            // A packet out of order, or another clock.
            let back = i64::from(self.last.wrapping_sub(value)) * self.tick.max(TICKS[0]);
            if back >= SET_BACK {
                self.start(time, value);
            }
            return None;
        }
        (self.last, self.last_at) = (value, time);
        if step > 0 && (self.steps == 0 || step < self.step) {
            self.step = step;
        }
        self.steps = self.steps.saturating_add(u8::from(step > 0));
        let passed = time.since(first);
        let ticks = i64::from(value.wrapping_sub(base));
        if ticks >= 1 << 31 || passed < Span::ZERO {
            return None;
        }
        if passed >= MIN && ticks >= 5 {
            // A queue only stretches arrivals, so the true tick is the largest
            // that does not exceed what was seen, but for what the first packet was late. The
            // first one came with the last moment of its value, as it may be.
            let (passed, whole) = (passed.as_nanos(), ticks - 1);
            let most = passed.saturating_add((passed / 20).max(FIRST_LATE.as_nanos()));
            if self.tick == 0 || most < whole.saturating_mul(self.tick) {
                let seen = most / whole;
                let Some(tick) = TICKS.iter().rev().copied().find(|tick| *tick <= seen) else {
                    // Windows has a zero in its SYN, and its clock from then on.
                    self.start(time, value);
                    return None;
                };
                (self.tick, self.least, self.least_at) = (tick, 0, first);
            }
        }
        if self.tick == 0 {
            return None;
        }
        let behind = passed.as_nanos().saturating_sub(ticks.saturating_mul(self.tick));
        let drift = time.since(self.least_at).or_zero().as_nanos() / DRIFT;
        let quickest = self.least.saturating_add(drift);
        if behind <= quickest {
            (self.least, self.least_at) = (behind, time);
            return Some(Span::ZERO);
        }
        (self.steps >= ENOUGH && self.doubts < MAX_DOUBTS)
            .then(|| Span::from_nanos(behind.saturating_sub(quickest)))
    }

    /// How much less the sender's clock counted than the capture's, over a silence before this
    /// packet of which it counted less than half: the host slept, the capture's clock was set
    /// ahead, or something on the way held the packet back.
    pub(crate) fn stood(&self, time: Timestamp, value: u32) -> Span {
        let silence = time.since(self.last_at);
        if silence < SILENCE {
            return Span::ZERO;
        }
        let uncounted = self.reading().and_then(|last| self.uncounted(last, time, value));
        uncounted.filter(|uncounted| *uncounted * 2 > silence).unwrap_or_default()
    }

    /// The last value.
    pub(crate) fn last(&self) -> Option<u32> {
        self.first.map(|_| self.last)
    }

    /// What the clock read last, where its tick is known.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let is_known = self.tick > 0 && self.steps >= ENOUGH && self.doubts < MAX_DOUBTS;
        let reading = Reading { time: self.last_at, value: self.last };
        (is_known && self.first.is_some()).then_some(reading)
    }

    /// How much less the clock counted than the capture's from there to this packet, at least;
    /// less than nothing where it counted more. `None` of a packet that was sent before.
    pub(crate) fn uncounted(&self, since: Reading, time: Timestamp, value: u32) -> Option<Span> {
        let step = value.wrapping_sub(since.value);
        let counted = Span::from_nanos(i64::from(step).saturating_mul(self.tick)) + self.grain();
        (step < 1 << 31).then(|| time.since(since.time) - counted)
    }

    /// The capture's clock was set ahead by so much: that was no way.
    pub(crate) fn set_ahead(&mut self, by: Span) {
        if let Some((first, _)) = &mut self.first {
            *first = *first + by;
        }
        self.least_at = self.least_at + by;
    }

    /// A packet that seems to have been under way for so long answers one that came
    /// here later than that: the clock ticks more slowly than thought, or not evenly.
    pub(crate) fn pend(&mut self, queued: Span, turn: Span) {
        if queued > turn + self.grain() {
            self.doubts = self.doubts.saturating_add(1);
        }
    }

    /// How coarse the clock is: it stands still for so long.
    pub(crate) fn grain(&self) -> Span {
        Span::from_nanos(self.tick.saturating_mul(i64::from(self.step)))
    }

    /// Nothing stood in a queue when this packet came, for nothing had been sent for
    /// long: a clock that seems late now stood still meanwhile.
    pub(crate) fn rested(&mut self, time: Timestamp, value: u32) {
        if let Some((first, base)) = self.first
            && self.tick > 0
        {
            let ticks = i64::from(value.wrapping_sub(base));
            self.least = time.since(first).as_nanos().saturating_sub(ticks * self.tick);
            self.least_at = time;
        }
    }

    fn start(&mut self, time: Timestamp, value: u32) {
        let Self { tick, step, steps, doubts, .. } = *self;
        *self = Self {
            first: Some((time, value)),
            last: value,
            last_at: time,
            least_at: time,
            ..Self::default()
        };
        (self.tick, self.step, self.steps, self.doubts) = (tick, step, steps, doubts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    /// The longest queue that packets show, each by its time in microseconds and its
    /// value.
    fn longest(packets: impl IntoIterator<Item = (i64, i64)>) -> Span {
        let mut queueing_delay = QueueingDelay::default();
        let queued = packets.into_iter().map(|(time, value)| {
            let value = u32::try_from(value).expect("a value of 32 bits");
            queueing_delay.saw(at(time), value).queued()
        });
        queued.max().unwrap_or_default()
    }

    #[test]
    fn an_idle_sender_is_no_queue() {
        assert!(longest((0..100).map(|n| (n * 37_000, n * 37))) <= Span::from_millis(1));
    }

    #[test]
    fn a_slow_link_shows_as_a_growing_queue() {
        // Sent four in a millisecond, delivered one, after a moment of as many both ways.
        let fast = (0..100).map(|n| (n * 1_000, n));
        let slow = (0..400).map(|n| (100_000 + n * 1_000, 100 + n / 4));
        let queued = longest(fast.chain(slow));
        assert!(queued > Span::from_millis(250), "{queued}");
    }

    #[test]
    fn slow_and_odd_clocks_are_no_queues() {
        for tick in [1_000, 3_333, 4_000, 10_000, 100_000] {
            let queued = longest((0..1_000).map(|n| (n * 700, n * 700 / tick)));
            assert!(queued <= Span::from_micros(2 * tick), "{tick}: {queued}");
        }
    }

    #[test]
    fn a_first_packet_that_was_late_makes_no_faster_clock() {
        // The second packet was sent 200 ms after the first, and comes 30 ms sooner.
        let rest = (2..100).map(|n| (20_000 * n - 30_000, 2 * n));
        let queued = longest([(0, 0), (170_000, 20)].into_iter().chain(rest.skip(9)));
        assert!(queued <= Span::from_millis(1), "{queued}");
    }

    #[test]
    fn a_zero_of_a_syn_is_no_time_of_the_clock() {
        let mut queueing_delay = QueueingDelay::default();
        queueing_delay.saw(at(0), 0);
        // Its first value is about to end.
        for n in 0..400_u32 {
            queueing_delay.saw(at(85_000 + i64::from(n) * 45_000), 17_301 + (n * 45 + 95) / 100);
        }
        assert_eq!(queueing_delay.grain(), Span::from_millis(100));
    }

    #[test]
    fn a_clock_that_steps_by_a_hundred_is_no_queue() {
        let queued = longest((0..1_000).map(|n| (n * 7_000, n * 7 / 100 * 100)));
        assert!(queued <= Span::from_millis(1), "{queued}");
    }

    #[test]
    fn a_clock_that_drifts_is_no_queue() {
        // 224 ppm, over a quarter of an hour.
        let queued = longest((0..90_000).map(|n| (n * 10_000, n * 10 - n * 10 * 224 / 1_000_000)));
        assert!(queued <= Span::from_millis(2), "{queued}");
    }

    #[test]
    fn a_clock_that_is_set_is_no_queue() {
        let early = (0..100).map(|n| (n * 5_000, 1_000_000 + n * 5));
        let late = (100..200).map(|n| (n * 5_000, 7_000 + n * 5));
        assert!(longest(early.chain(late)) <= Span::from_millis(1));
    }

    #[test]
    fn a_clock_that_counts_less_than_a_silence_stood_still() {
        let mut queueing_delay = QueueingDelay::default();
        for n in 0..100_u32 {
            queueing_delay.saw(at(i64::from(n) * 5_000), n * 5);
        }
        assert_eq!(queueing_delay.stood(at(3_495_000), 3_495), Span::ZERO);
        assert_eq!(queueing_delay.stood(at(3_495_000), 500), Span::from_millis(2_990));
        assert_eq!(queueing_delay.stood(at(550_000), 495), Span::ZERO);
    }

    #[test]
    fn a_clock_that_stood_still_at_rest_is_no_queue() {
        let mut queueing_delay = QueueingDelay::default();
        for n in 0..100_u32 {
            queueing_delay.saw(at(i64::from(n) * 5_000), n * 5);
        }
        // A minute without a packet, of which the clock counted half.
        queueing_delay.rested(at(60_500_000), 30_500);
        for n in 0..100_u32 {
            let late = queueing_delay.saw(at(60_500_000 + i64::from(n) * 5_000), 30_500 + n * 5);
            let queued = late.queued();
            assert!(queued <= Span::from_millis(1), "{queued:?}");
        }
    }
}
