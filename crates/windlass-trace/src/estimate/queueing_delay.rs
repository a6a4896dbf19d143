//! Queues between the sender and the capture, as the sender's timestamps show
//! them.

use windlass_base::thresholds::{
    CLOCK_DRIFT, CLOCK_NEAR, CLOCK_TICKS, LEAST_TIMER, MOMENT, SEVERAL, SLOWER_CLOCK,
    TIMESTAMP_SET_BACK,
};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

/// Ticks of TCP timestamp clocks, in nanoseconds. Today's systems have 1 ms. The others come from a
/// kernel's timer (HZ 300, 250, 100, 10), and 500 ms from old BSD (RFC 7323 section 5.4 allows 1 ms
/// to 1 s). A path that delivers at less than a third of the pace from its first packets on reads
/// as a slow clock.
const TICKS: [i64; 6] = [1_000_000, 3_333_333, 4_000_000, 10_000_000, 100_000_000, 500_000_000];

/// Delay of a packet, by its sender's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketDelay {
    /// Delay beyond the quickest packet: time in queues, and up to one grain of the clock. `None`
    /// if the delay is unknown.
    pub(crate) by: Option<Span>,
    /// Resolution of the clock.
    pub(crate) grain: Span,
}

impl PacketDelay {
    /// Returns the least time that the packet stood in queues.
    pub(crate) fn queued(&self) -> Span {
        self.by.map_or(Span::ZERO, |by| (by - self.grain).or_zero())
    }
}

/// Reading of a clock when a packet arrived.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct ClockReading {
    time: Timestamp,
    value: u32,
}

/// Comparison of the times when segments were sent, by their timestamp option, with the times of
/// their capture. A segment that takes longer than the quickest one spent the difference in a queue
/// before the capture. Clocks that tick in steps and drift apart limit the precision.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct QueueingDelay {
    first: Option<(Timestamp, u32)>,
    last: u32,
    last_at: Timestamp,
    /// Least capture time minus sending time, in nanoseconds, for the present tick, and the time
    /// when it was seen.
    least: i64,
    least_at: Timestamp,
    tick: i64,
    /// The least step between two values, and how many steps were seen.
    step: u32,
    steps: u8,
    /// Number of times that it was proven wrong.
    doubts: u8,
    /// The start of the interval over which the tick is compared with the time that passes.
    interval: (Timestamp, u32),
    /// The intervals in which the tick agreed with the time.
    agreed: u8,
    /// The last intervals in a row in which the clock counted less than half of the time, and the
    /// longest tick that fits all of them.
    slower: u8,
    slower_tick: i64,
}

impl QueueingDelay {
    /// Takes a packet of the sender, and returns its delay.
    #[inline]
    pub(crate) fn saw(&mut self, time: Timestamp, value: u32) -> PacketDelay {
        let by = self.behind_quickest(time, value);
        PacketDelay { by, ..self.untold() }
    }

    /// Compares the tick with the time that passed since the interval began.
    ///
    /// The first estimate rests on the first packet, which may come late: its host woke up, or ARP
    /// had to resolve an address. The clock then seems to tick faster than it does, until later
    /// intervals show its true tick.
    fn compare(&mut self, time: Timestamp, value: u32) {
        let (since, base) = self.interval;
        let (passed, ticks) = (time.since(since).as_nanos(), i64::from(value.wrapping_sub(base)));
        let is_first = self.is_first_interval();
        if self.tick == 0 || !self.may_end_interval(time) || !(5..1 << 31).contains(&ticks) {
            return;
        }
        self.interval = (time, value);
        let counted = ticks.saturating_mul(self.tick);
        // Either end may be off by a tick.
        if (passed - counted).abs() <= (counted / CLOCK_NEAR.get()).max(self.tick) {
            self.agreed = self.agreed.saturating_add(1);
            self.slower = 0;
        } else if passed < counted.saturating_mul(SLOWER_CLOCK.get()) {
            self.slower = 0;
        } else if !is_first && self.agreed < SEVERAL.to::<u8>() {
            let seen = passed.saturating_add(passed / CLOCK_NEAR.get()) / ticks;
            let tick = TICKS.iter().rev().copied().find(|tick| *tick <= seen).unwrap_or(self.tick);
            let known = if self.slower == 0 { tick } else { self.slower_tick };
            self.slower_tick = known.min(tick);
            self.slower = self.slower.saturating_add(1);
            if self.slower >= SEVERAL.to::<u8>()
                && self.slower_tick >= self.tick * SLOWER_CLOCK.get()
            {
                self.tick = self.slower_tick;
                (self.first, self.least, self.least_at) = (Some((time, value)), 0, time);
                (self.agreed, self.slower, self.doubts) = (SEVERAL.to::<u8>(), 0, 0);
            }
        } else {
            self.slower = self.slower.saturating_add(1);
        }
    }

    /// Returns whether the interval began with the first packet.
    fn is_first_interval(&self) -> bool {
        self.first == Some(self.interval)
    }

    /// Returns whether the interval is long enough at this time.
    #[inline]
    fn may_end_interval(&self, time: Timestamp) -> bool {
        let passed = time.since(self.interval.0);
        passed >= LEAST_TIMER.get() || passed >= MOMENT.get() && self.is_first_interval()
    }

    /// Returns the delay of a packet without a timestamp: unknown.
    pub(crate) fn untold(&self) -> PacketDelay {
        PacketDelay { by: None, grain: self.grain() }
    }

    fn behind_quickest(&mut self, time: Timestamp, value: u32) -> Option<Span> {
        let Some((first, base)) = self.first else {
            self.start(time, value);
            return None;
        };
        let step = value.wrapping_sub(self.last);
        if step >= 1 << 31 {
            self.goes_back(time, value);
            return None;
        }
        (self.last, self.last_at) = (value, time);
        if step > 0 {
            if self.steps == 0 || step < self.step {
                self.step = step;
            }
            self.steps = self.steps.saturating_add(1);
        }
        let passed = time.since(first);
        let ticks = i64::from(value.wrapping_sub(base));
        if ticks >= 1 << 31 || passed < Span::ZERO {
            return None;
        }
        // Of nearly all packets the tick is known, and they end no interval over which it is
        // compared.
        if self.tick > 0 && self.fits(passed, ticks) && !self.may_end_interval(time) {
            return self.behind(time, passed, ticks);
        }
        self.behind_revised(time, value, (first, base))
    }

    /// Returns whether the tick is short enough for so many ticks in the time that passed.
    ///
    /// A queue only stretches arrivals. So the true tick is the largest that does not exceed the
    /// measured one, apart from the first packet's delay. The first packet may have come with the
    /// last moment of its value.
    #[inline]
    fn fits(&self, passed: Span, ticks: i64) -> bool {
        let counted = (ticks - 1) * self.tick;
        passed.as_nanos() >= counted || most_passed(passed) >= counted
    }

    /// Takes a packet out of order, or of another clock.
    #[inline(never)]
    fn goes_back(&mut self, time: Timestamp, value: u32) {
        let back = i64::from(self.last.wrapping_sub(value)) * self.tick.max(TICKS[0]);
        if back >= TIMESTAMP_SET_BACK.get() {
            self.start(time, value);
        }
    }

    /// Returns the delay of a packet, by a tick that it may revise.
    #[inline(never)]
    fn behind_revised(
        &mut self,
        time: Timestamp,
        value: u32,
        (first, base): (Timestamp, u32),
    ) -> Option<Span> {
        let (passed, ticks) = (time.since(first), i64::from(value.wrapping_sub(base)));
        let is_told = passed >= MOMENT.get() && ticks >= 5;
        if is_told && (self.tick == 0 || !self.fits(passed, ticks)) {
            let seen = most_passed(passed) / (ticks - 1);
            let Some(tick) = TICKS.iter().rev().copied().find(|tick| *tick <= seen) else {
                // Windows has a zero in its SYN, and its clock from then on.
                self.start(time, value);
                return None;
            };
            (self.tick, self.least, self.least_at) = (tick, 0, first);
            (self.agreed, self.slower) = (0, 0);
            self.interval = (first, base);
        }
        self.compare(time, value);
        let (first, base) = self.first?;
        self.behind(time, time.since(first), i64::from(value.wrapping_sub(base)))
    }

    /// Returns the delay, beyond the quickest packet, of a packet that came `passed` and `ticks`
    /// after the first one.
    #[inline]
    fn behind(&mut self, time: Timestamp, passed: Span, ticks: i64) -> Option<Span> {
        if self.tick == 0 {
            return None;
        }
        // Neither overflows: there are less than 2³¹ ticks, the longest takes 500 ms, and no time
        // passed that is negative.
        let behind = passed.as_nanos() - ticks * self.tick;
        let drift = time.since(self.least_at).or_zero().as_nanos() / CLOCK_DRIFT.get();
        let quickest = self.least.saturating_add(drift);
        if behind <= quickest {
            (self.least, self.least_at) = (behind, time);
            return Some(Span::ZERO);
        }
        (self.steps >= CLOCK_TICKS.get() && self.doubts < SEVERAL.to::<u8>())
            .then(|| Span::from_nanos(behind.saturating_sub(quickest)))
    }

    /// Returns the time that the sender's clock lost against the capture's over a silence before
    /// this packet, if it counted less than half of the silence. Then the host slept, the capture's
    /// clock was set ahead, or something on the way held the packet back.
    #[inline]
    pub(crate) fn stood(&self, time: Timestamp, value: u32) -> Option<Span> {
        let silence = time.since(self.last_at);
        if silence < LEAST_TIMER.get() { None } else { self.stood_over(silence, time, value) }
    }

    /// Returns the time that the sender's clock lost over a silence of this length.
    #[inline(never)]
    fn stood_over(&self, silence: Span, time: Timestamp, value: u32) -> Option<Span> {
        let uncounted = self.reading().and_then(|last| self.uncounted(last, time, value));
        uncounted.filter(|uncounted| *uncounted * 2 > silence)
    }

    /// Returns the last value.
    pub(crate) fn last(&self) -> Option<u32> {
        self.first.map(|_| self.last)
    }

    /// Returns the clock's last reading, if its tick is known and agrees with the time.
    pub(crate) fn reading(&self) -> Option<ClockReading> {
        let is_sure = self.agreed > 0 && self.slower == 0;
        let is_known =
            is_sure && self.steps >= CLOCK_TICKS.get() && self.doubts < SEVERAL.to::<u8>();
        let reading = ClockReading { time: self.last_at, value: self.last };
        (is_known && self.first.is_some()).then_some(reading)
    }

    /// Returns the least time that the clock lost against the capture's since this reading;
    /// negative if the clock gained. `None` if the packet was sent before.
    pub(crate) fn uncounted(
        &self,
        since: ClockReading,
        time: Timestamp,
        value: u32,
    ) -> Option<Span> {
        let step = value.wrapping_sub(since.value);
        let counted = Span::from_nanos(i64::from(step).saturating_mul(self.tick)) + self.grain();
        (step < 1 << 31).then(|| time.since(since.time) - counted)
    }

    /// Takes a forward step of the capture's clock, which is no delay of the path.
    pub(crate) fn set_ahead(&mut self, by: Span) {
        if let Some((first, _)) = &mut self.first {
            *first = *first + by;
        }
        self.least_at = self.least_at + by;
        self.interval.0 = self.interval.0 + by;
    }

    /// Takes a packet that seems to have been under way for so long, and yet answers a packet that
    /// came here later than that. The clock then ticks more slowly than thought, or not evenly.
    pub(crate) fn pend(&mut self, queued: Span, turn: Span) {
        if queued > turn + self.grain() {
            self.doubts = self.doubts.saturating_add(1);
        }
    }

    /// Returns the clock's grain: the time for which its value stands still, a step of less than
    /// 2³¹ ticks.
    pub(crate) fn grain(&self) -> Span {
        Span::from_nanos(self.tick * i64::from(self.step))
    }

    /// Takes a packet that found empty queues after a long silence: a clock that seems late now
    /// stood still meanwhile.
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
            interval: (time, value),
            ..Self::default()
        };
        (self.tick, self.step, self.steps, self.doubts) = (tick, step, steps, doubts);
    }
}

/// Returns the longest time that may have passed since the first packet left, in nanoseconds.
fn most_passed(passed: Span) -> i64 {
    let passed = passed.as_nanos();
    passed.saturating_add((passed / 20).max(MOMENT.get().as_nanos()))
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
    fn a_tick_is_revised_upwards_after_a_late_first_packet() {
        // A packet each 100 ms, behind a first one that came half a second late.
        let tick = |packets: u32| {
            let mut queueing_delay = QueueingDelay::default();
            for n in 0..packets {
                let late = if n == 0 { 500_000 } else { 0 };
                queueing_delay.saw(at(i64::from(n) * 100_000 + late), n * 10);
            }
            let is_sure = queueing_delay.reading().is_some();
            (queueing_delay.tick, is_sure)
        };
        assert_eq!(tick(9), (1_000_000, false));
        assert_eq!(tick(30), (10_000_000, true));
    }

    #[test]
    fn a_tick_that_agreed_with_the_time_stays() {
        // Delivered at a tenth of the pace of before, for a second.
        let mut queueing_delay = QueueingDelay::default();
        for n in 0..1_000_u32 {
            queueing_delay.saw(at(i64::from(n) * 1_000), n);
        }
        for n in 0..100_u32 {
            queueing_delay.saw(at(1_000_000 + i64::from(n) * 10_000), 1_000 + n);
        }
        assert_eq!(queueing_delay.tick, 1_000_000);
        assert!(queueing_delay.reading().is_none());
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
        assert_eq!(queueing_delay.stood(at(3_495_000), 3_495), None);
        assert_eq!(queueing_delay.stood(at(3_495_000), 500), Some(Span::from_millis(2_990)));
        assert_eq!(queueing_delay.stood(at(550_000), 495), None);
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
