//! Evenness of arriving data: a link sends at a constant rate.

use windlass_base::thresholds::{
    ALIKE, AS_GOOD_AS_EQUAL, CLOCK_STEPS, HABIT, LONGEST_SILENCE, PUSHED_PART, TRAIN_BREAK,
    TRAIN_GAP, TRAIN_SEGMENTS,
};
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::distribution::Distribution;

/// Times that trains of new data took, by the bytes of a full train.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct Trains {
    /// The time when the train began, and its last segment came.
    running: Option<(Timestamp, Timestamp)>,
    bytes: u64,
    segments: u32,
    longest_gap: Span,
    /// The time of each even train, weighted by itself.
    even: Distribution,
    /// The time of the others, and how many they are.
    uneven: Span,
    breaks: u32,
    /// Bytes for which the times hold.
    full: u64,
    /// Number of trains that each show a line.
    exact: u32,
    all: u32,
    pushed: u32,
}

impl Trains {
    /// Takes a new segment, behind the last one; a full one carries `full`. Returns the train that
    /// it ends, if that was even.
    #[inline]
    pub(crate) fn segment(
        &mut self,
        time: Timestamp,
        length: u64,
        full: u64,
        pushed: bool,
    ) -> Option<Train> {
        self.all = self.all.saturating_add(1);
        self.pushed = self.pushed.saturating_add(u32::from(pushed));
        let Some((began, last)) = self.running else {
            self.restart(time);
            return None;
        };
        self.running = Some((began, time));
        self.longest_gap = self.longest_gap.max(time.since(last));
        self.bytes += length;
        self.segments += 1;
        if self.segments < TRAIN_SEGMENTS.get() {
            return None;
        }
        let train = Train { began, end: time, bytes: self.bytes };
        self.train(time, time.since(began), full).then_some(train)
    }

    /// Takes a train that is complete at this time. Returns whether it is even.
    fn train(&mut self, time: Timestamp, took: Span, full: u64) -> bool {
        let (bytes, whole) = (self.bytes, full * u64::from(TRAIN_SEGMENTS.get()));
        let uneven = self.longest_gap > took.scaled(TRAIN_GAP.get());
        let longest = self.longest_gap * i64::from(TRAIN_SEGMENTS.get());
        let exact = bytes == whole
            && longest > took
            && longest <= took.scaled(1.0 + AS_GOOD_AS_EQUAL.get());
        self.restart(time);
        if uneven || bytes * 2 < whole || took <= Span::ZERO || took > LONGEST_SILENCE.get() {
            self.uneven += took.or_zero();
            self.breaks = self.breaks.saturating_add(1);
            return false;
        }
        if self.full != whole {
            // The size of a full segment was not known before.
            (self.full, self.even, self.exact) = (whole, Distribution::default(), 0);
        }
        self.exact = self.exact.saturating_add(u32::from(exact));
        let weight = u32::try_from(took.as_nanos() / 1_000).unwrap_or(u32::MAX);
        self.even.record_weighted(took.scaled(whole as f64 / bytes as f64), weight.max(1));
        true
    }

    /// Returns the train that is not complete yet.
    pub(crate) fn running(&self) -> Option<Train> {
        let (began, end) = self.running.filter(|(began, end)| end > began)?;
        Some(Train { began, end, bytes: self.bytes })
    }

    /// Returns whether the last segment came at this time.
    pub(crate) fn is_last(&self, time: Timestamp) -> bool {
        self.running.is_some_and(|(_, last)| last == time)
    }

    /// Begins a new train, after something else came between.
    pub(crate) fn restart(&mut self, time: Timestamp) {
        (self.running, self.longest_gap) = (Some((time, time)), Span::ZERO);
        (self.bytes, self.segments) = (0, 0);
    }

    /// Returns the line that spaced the data, if the sender had more to send at most times.
    pub(crate) fn line(&self, step: Span) -> Option<LineSpacing> {
        let drained = (self.all - self.pushed) * PUSHED_PART.get() < self.all;
        self.spacing(step).filter(|_| !drained)
    }

    /// Returns the spacing that trains have in common, by a clock of such steps. At least half of
    /// the time of all trains went to even ones, and half of those took the same time to within a
    /// step. A long pause in a train says no more than a short one.
    pub(crate) fn spacing(&self, step: Span) -> Option<LineSpacing> {
        let quartile = |quantile| self.even.quantile(quantile);
        let (low, middle, high) = (quartile(0.25)?, quartile(0.5)?, quartile(0.75)?);
        let step = if step * CLOCK_STEPS.get() <= middle { step } else { Span::ZERO };
        let alike = high - low <= middle.scaled(ALIKE.get()) + step;
        let broken = self.uneven.min(middle * TRAIN_BREAK.get() * i64::from(self.breaks));
        let mostly = self.even.total() >= broken;
        let trains = self.even.count;
        let few = trains < HABIT.get();
        let told = !few || self.exact > 0 && u64::from(self.exact) * 2 >= trains;
        (told && alike && mostly).then(|| LineSpacing {
            rate: Bytes::new(self.full).per(middle),
            gap: middle / (i64::from(TRAIN_SEGMENTS.get()) / 2),
            few,
        })
    }
}

/// Train of evenly spaced data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train {
    pub(crate) began: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) bytes: u64,
}

/// Spacing of data by a line on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineSpacing {
    /// Delivered rate.
    pub(crate) rate: Rate,
    /// The time that it takes for two full segments.
    pub(crate) gap: Span,
    /// True if it shows by a few trains alone.
    pub(crate) few: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1_460;

    fn trains(gaps: impl IntoIterator<Item = i64>, pushed: bool) -> Trains {
        let (mut trains, mut time) = (Trains::default(), Timestamp::ZERO);
        for micros in gaps {
            time = time + Span::from_micros(micros);
            trains.segment(time, FULL, FULL, pushed);
        }
        trains
    }

    #[test]
    fn a_line_sends_evenly() {
        // 10 Mbit/s: a segment each 1.23 ms, or two at once.
        let gaps = (0..100).flat_map(|n| if n < 50 { [2_455, 5] } else { [1_230, 1_230] });
        let rate = trains(gaps, false).line(Span::ZERO).unwrap().rate.bytes_per_second();
        assert!((rate / 1.187e6 - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn a_line_shows_by_a_coarse_clock() {
        // A segment each 0.7 ms, by a clock of 1 ms: 5 to 6 ms for a train.
        let at = |n: i64| n * 700 / 1_000 * 1_000;
        let gaps = || (1..200).map(|n| at(n) - at(n - 1));
        assert!(trains(gaps(), false).line(Span::ZERO).is_none());
        let line = trains(gaps(), false).line(Span::from_millis(1)).unwrap();
        let rate = line.rate.bytes_per_second();
        assert!((rate / 2.086e6 - 1.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn one_train_tells_where_it_is_exact() {
        // 53 kbit/s: 576 bytes each 86.4 ms, as a modem has them.
        let modem = || (0..9).map(|n| 86_400 + [120, -80, 40][n % 3]);
        let line = trains(modem(), false).line(Span::ZERO).unwrap();
        assert!(line.few);
        assert!((line.gap.as_seconds() / 0.1728 - 1.0).abs() < 0.01, "{}", line.gap);
        // A program is not so even, and what somebody made up has no deviation at all.
        assert!(trains(modem().map(|gap| gap + gap % 7 * 2_000), false).line(Span::ZERO).is_none());
        assert!(trains((0..9).map(|_| 50_000), false).line(Span::ZERO).is_none());
        let many = trains((0..60).flat_map(|_| modem()), false).line(Span::ZERO).unwrap();
        assert!(!many.few);
    }

    #[test]
    fn bursts_and_single_writes_are_no_line() {
        let bursts = (0..400).map(|n| if n % 25 == 0 { 20_000 } else { 12 });
        assert!(trains(bursts, false).line(Span::ZERO).is_none());
        assert!(trains((0..100).map(|_| 2_500), true).line(Span::ZERO).is_none());
    }
}
