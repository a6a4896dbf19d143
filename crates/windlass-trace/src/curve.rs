//! Curves of bounded size that lose no extreme.
//!
//! A [`Curve`] takes samples as they come. While there are few it keeps each; beyond that
//! it joins neighbours into stretches, each with the least and the most of its samples, as
//! a plot with a column of pixels for each stretch shows them (the M4 aggregation of Jugel
//! and others, "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014). A
//! stretch gets no longer than the whole divided by how many are kept.

use windlass_base::{Span, Timestamp, whole_part};

/// Samples next to each other in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRange {
    /// The time when the first was taken.
    pub from: Timestamp,
    /// The time when the last was taken.
    pub to: Timestamp,
    /// The least of their values.
    pub least: i64,
    /// The greatest.
    pub most: i64,
    /// The last: the level that holds until the next stretch.
    pub last: i64,
    /// Number of samples.
    pub samples: u64,
}

impl SampleRange {
    /// Merges the following stretch into this one.
    fn join(&mut self, next: &Self) {
        self.from = self.from.min(next.from);
        self.to = self.to.max(next.to);
        self.least = self.least.min(next.least);
        self.most = self.most.max(next.most);
        self.last = next.last;
        self.samples = self.samples.saturating_add(next.samples);
    }
}

/// A curve in the making.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Number of stretches to which the curve is reduced, once it has twice as many.
    kept: usize,
    began: Timestamp,
    /// Maximum duration of a stretch; zero while each sample has its own.
    width: Span,
    /// Time span of the last stretch: from its first time to just before its last.
    open: (Timestamp, Timestamp),
    stretches: Vec<SampleRange>,
}

impl Curve {
    /// Returns a curve that never has more than twice `kept` stretches; `kept` is 1 at least.
    pub fn new(kept: usize) -> Self {
        let kept = kept.max(1);
        let (zero, width) = (Timestamp::ZERO, Span::ZERO);
        Self { kept, began: zero, width, open: (zero, zero), stretches: Vec::new() }
    }

    /// Takes a sample.
    pub fn add(&mut self, time: Timestamp, value: i64) {
        self.add_range(time, value, value);
    }

    /// Takes a sample that reaches from one value to another.
    pub fn add_range(&mut self, time: Timestamp, low: i64, high: i64) {
        let (least, most) = (low.min(high), low.max(high));
        let next = SampleRange { from: time, to: time, least, most, last: most, samples: 1 };
        if self.stretches.is_empty() {
            self.began = time;
        }
        match self.stretches.last_mut() {
            Some(last) if (self.open.0..self.open.1).contains(&time) => last.join(&next),
            _ => {
                self.stretches.push(next);
                self.open = self.cell(time);
            }
        }
        if self.stretches.len() > 2 * self.kept {
            self.reduce();
        }
    }

    /// Returns the stretches, in the order in which they came.
    pub fn stretches(&self) -> &[SampleRange] {
        &self.stretches
    }

    /// Returns whether each sample has a stretch of its own, so that nothing is lost.
    pub fn is_exact(&self) -> bool {
        self.width == Span::ZERO && self.stretches.iter().all(|stretch| stretch.samples == 1)
    }

    /// Returns the greatest value.
    pub fn most(&self) -> Option<i64> {
        self.stretches.iter().map(|stretch| stretch.most).max()
    }

    /// Returns the least value.
    pub fn least(&self) -> Option<i64> {
        self.stretches.iter().map(|stretch| stretch.least).min()
    }

    /// Returns the number of samples in the curve.
    pub fn samples(&self) -> u64 {
        self.stretches.iter().map(|stretch| stretch.samples).sum()
    }

    fn reduce(&mut self) {
        let ends = self.stretches.iter().map(|stretch| stretch.to).max();
        let whole = ends.map_or(Span::ZERO, |end| end.since(self.began)).or_zero();
        let parts = u64::try_from(self.kept).unwrap_or(u64::MAX);
        self.width = (self.width * 2).max(whole.part_of(parts)).max(Span::from_nanos(1));
        let cells: Vec<_> = self.stretches.iter().map(|one| self.cell(one.from)).collect();
        let mut pairs = cells.windows(2).map(|pair| pair[0] == pair[1]);
        self.join_where(|_, _| pairs.next().unwrap_or(false));
        // A clock that is set back again and again leaves no neighbours in one cell.
        while self.stretches.len() > self.kept + 1 {
            let mut place = 0;
            self.join_where(|_, _| {
                place += 1;
                place % 2 == 1
            });
        }
        self.open = self.stretches.last().map_or(self.open, |last| self.cell(last.from));
    }

    /// Returns the time span that shares a stretch with this time: empty while each sample has its
    /// own.
    fn cell(&self, time: Timestamp) -> (Timestamp, Timestamp) {
        if self.width == Span::ZERO {
            return (time, time);
        }
        let width = self.width.as_nanos();
        let from = self.began + self.width * time.since(self.began).as_nanos().div_euclid(width);
        (from, from + self.width)
    }

    fn join_where(&mut self, mut joins: impl FnMut(&SampleRange, &SampleRange) -> bool) {
        let mut joined: Vec<SampleRange> = Vec::with_capacity(self.stretches.len());
        for next in self.stretches.drain(..) {
            match joined.last_mut() {
                Some(last) if joins(last, &next) => last.join(&next),
                _ => joined.push(next),
            }
        }
        self.stretches = joined;
    }
}

/// Amounts by time, in equal bins.
#[derive(Clone, Debug)]
pub struct Bins {
    most: usize,
    began: Option<Timestamp>,
    width: Span,
    amounts: Vec<u64>,
}

impl Bins {
    /// Initial width of a bin.
    const FINEST: Span = Span::from_micros(100);

    /// Returns bins of which there are at most `most`, and at least 2. When these are too few, the
    /// bins get twice as wide.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(2), began: None, width: Self::FINEST, amounts: Vec::new() }
    }

    /// Takes an amount. An amount from before the first bin counts in the first bin.
    pub fn add(&mut self, time: Timestamp, amount: u64) {
        let began = *self.began.get_or_insert(time);
        let after = time.since(began).or_zero().as_nanos();
        let mut place = usize::try_from(after / self.width.as_nanos()).unwrap_or(usize::MAX);
        while place >= self.most {
            self.widen();
            place = usize::try_from(after / self.width.as_nanos()).unwrap_or(usize::MAX);
        }
        if self.amounts.len() <= place {
            self.amounts.resize(place + 1, 0);
        }
        self.amounts[place] = self.amounts[place].saturating_add(amount);
    }

    /// Returns the steps with bins that are wider by this factor.
    #[must_use]
    pub fn joined(&self, times: usize) -> Self {
        let times = times.max(1);
        let joined = self.amounts.chunks(times);
        let sum = |part: &[u64]| part.iter().fold(0, |sum, one| u64::saturating_add(sum, *one));
        let width = self.width * i64::try_from(times).unwrap_or(i64::MAX);
        Self { width, amounts: joined.map(sum).collect(), ..self.clone() }
    }

    fn widen(&mut self) {
        *self = self.joined(2);
    }

    /// Returns the start of the first bin; `None` without amounts.
    pub fn began(&self) -> Option<Timestamp> {
        self.began
    }

    /// Returns the width of a bin.
    pub fn width(&self) -> Span {
        self.width
    }

    /// Returns the amount in each bin.
    pub fn amounts(&self) -> &[u64] {
        &self.amounts
    }

    /// Returns the amounts in steps of this width, which need not be a multiple of a bin's: the
    /// amount of a bin is spread evenly over it. A short rest belongs to the last step. The last
    /// step may end after the last bin, at most `until` after the first: the pause behind the
    /// last bytes is a part of it.
    pub fn steps(&self, width: Span, until: Span) -> Steps {
        let own = self.width.as_seconds();
        let end = own * self.amounts.len() as f64;
        let wide = width.max(self.width).as_seconds();
        let count = whole_part((end / wide).round()).max(1);
        let mut steps = Steps { width: width.max(self.width), ends: Vec::new() };
        let (mut sum, mut bin, mut given) = (0_u64, 0_usize, 0_u64);
        for step in 1..=count {
            let to = wide * step as f64;
            let to = if step == count { to.min(until.as_seconds()).max(end) } else { to };
            let full = usize::try_from(whole_part(to / own)).unwrap_or(usize::MAX);
            let full =
                if step == count { self.amounts.len() } else { full.min(self.amounts.len()) };
            for amount in self.amounts.iter().take(full).skip(bin) {
                sum = sum.saturating_add(*amount);
            }
            bin = bin.max(full);
            let part = self.amounts.get(full).map_or(0.0, |next| *next as f64 * (to / own).fract());
            let until = sum.saturating_add(whole_part(part.round()));
            steps.ends.push((Span::from_seconds(to), until.saturating_sub(given)));
            given = until;
        }
        steps
    }
}

/// Amounts in steps, one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The length of a step; the last may be half as long or one and a half times.
    pub width: Span,
    /// End of each step, from the beginning of the first, and its amount.
    pub ends: Vec<(Span, u64)>,
}

impl Steps {
    /// Returns the end of each step and its rate in units per second.
    pub fn rates(&self) -> impl Iterator<Item = (Span, f64)> + '_ {
        let mut from = Span::ZERO;
        self.ends.iter().map(move |(to, amount)| {
            let lasted = (*to - from).as_seconds();
            from = *to;
            (*to, *amount as f64 / lasted.max(1e-9))
        })
    }

    /// Returns the mean difference between neighbours, in units per second.
    pub fn variation(&self) -> f64 {
        let rates: Vec<f64> = self.rates().map(|(_, rate)| rate).collect();
        let sum: f64 = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        sum / rates.len().saturating_sub(1).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn few_samples_stay_as_they_are() {
        let mut curve = Curve::new(4);
        for time in 0..8 {
            curve.add(at(time), -time);
        }
        assert!(curve.is_exact());
        assert_eq!((curve.stretches().len(), curve.most()), (8, Some(0)));
        curve.add_range(at(9), 50, 20);
        assert!(!curve.is_exact() && curve.stretches().len() <= 5, "{curve:?}");
        assert_eq!((curve.most(), curve.samples()), (Some(50), 9));
        assert_eq!(curve.stretches().last().map(|last| (last.most, last.last)), Some((50, 50)));
    }

    #[test]
    fn bins_get_wider_and_keep_their_sum() {
        let mut bins = Bins::new(4);
        for after in [0, 150, 350, 390, 1_000] {
            bins.add(at(5_000_000) + Span::from_micros(after), 10);
        }
        assert_eq!((bins.width(), bins.amounts()), (Span::from_micros(400), &[40, 0, 10][..]));
        bins.add(at(0), 1);
        assert_eq!(bins.amounts()[0], 41);
        let joined = bins.joined(2);
        assert_eq!((joined.width(), joined.amounts()), (Span::from_micros(800), &[41, 10][..]));
    }

    /// Bursts at even distances are a level rate in steps of their own distance, and a square
    /// wave in others.
    #[test]
    fn steps_as_long_as_the_rounds_are_level() {
        let mut bins = Bins::new(4_000);
        for round in 0..32 {
            for segment in 0..10 {
                bins.add(at((round * 123 + segment) * 1_000_000), 1_448);
            }
        }
        let until = Span::from_millis(32 * 123);
        let width = |millis| bins.steps(Span::from_millis(millis), until);
        let level = width(246);
        assert!(level.rates().all(|(_, rate)| (rate - 117_724.0).abs() < 6_000.0), "{level:?}");
        assert!(width(166).variation() > 10.0 * level.variation(), "{level:?}");
        assert_eq!(Bins::new(9).steps(Span::from_millis(1), until).ends.len(), 1);
    }

    proptest! {
        /// For any samples, no extreme is lost, no sample lies outside its stretch, and the size is
        /// bounded. Clocks may be set back.
        #[test]
        fn no_extreme_is_lost(
            samples in prop::collection::vec((0_i64..1_000_000, any::<i64>()), 1..400),
            sorted in any::<bool>(),
            kept in 0_usize..20,
        ) {
            let mut samples = samples;
            if sorted {
                samples.sort_unstable();
            }
            let mut curve = Curve::new(kept);
            for (time, value) in &samples {
                curve.add(at(*time), *value);
            }
            let stretches = curve.stretches();
            prop_assert!(stretches.len() <= 2 * kept.max(1));
            prop_assert_eq!(curve.samples(), samples.len() as u64);
            let mut left = samples.iter();
            for stretch in stretches {
                let own: Vec<_> = left.by_ref().take(stretch.samples as usize).collect();
                let values = || own.iter().map(|(_, value)| *value);
                let times = || own.iter().map(|(time, _)| at(*time));
                prop_assert_eq!(values().min(), Some(stretch.least));
                prop_assert_eq!(values().max(), Some(stretch.most));
                prop_assert_eq!(values().next_back(), Some(stretch.last));
                prop_assert_eq!(times().min(), Some(stretch.from));
                prop_assert_eq!(times().max(), Some(stretch.to));
            }
        }

        #[test]
        fn steps_hold_all_that_came(
            amounts in prop::collection::vec((0_i64..1_000_000_000, 0_u64..1_000), 1..60),
            width in 1_i64..2_000_000_000,
            until in 0_i64..2_000_000_000,
        ) {
            let mut bins = Bins::new(50);
            for (time, amount) in &amounts {
                bins.add(at(*time), *amount);
            }
            let steps = bins.steps(Span::from_nanos(width), Span::from_nanos(until));
            let sum: u64 = amounts.iter().map(|(_, amount)| amount).sum();
            prop_assert_eq!(steps.ends.iter().map(|(_, amount)| amount).sum::<u64>(), sum);
            prop_assert!(steps.ends.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }

        #[test]
        fn bins_hold_all_that_came(
            amounts in prop::collection::vec((0_i64..i64::MAX, 0_u64..1_000), 1..60),
            most in 0_usize..30,
        ) {
            let mut bins = Bins::new(most);
            for (time, amount) in &amounts {
                bins.add(at(*time), *amount);
            }
            prop_assert!(bins.amounts().len() <= most.max(2));
            let sum: u64 = amounts.iter().map(|(_, amount)| amount).sum();
            prop_assert_eq!(bins.amounts().iter().sum::<u64>(), sum);
        }
    }
}
