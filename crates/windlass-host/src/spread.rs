//! Mean, median and 95th percentile of a figure, in bounded memory.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::whole_part;

/// Number of figures that are kept as they are: up to here quantiles are exact.
const EXACT: usize = 1_024;

/// Bits of a float that a bucket leaves out: each doubling has 128 buckets, as those of
/// [`windlass_base::Histogram`] are made. A quantile is off by at most 0.4 %.
const LEFT_OUT: u32 = f64::MANTISSA_DIGITS - 1 - 7;

/// A collection of figures. From the 1,025th on they are counted in buckets, some 7,000 between the
/// smallest and the largest figure of a machine.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    exact: Vec<f64>,
    buckets: BTreeMap<u64, u64>,
    count: u64,
    weight: f64,
    sum: f64,
    max: f64,
}

/// Distribution of a figure over the intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The mean over the time.
    pub mean: f64,
    /// The median of the intervals.
    pub median: f64,
    /// The 95th percentile of the intervals.
    pub p95: f64,
    /// The maximum of an interval.
    pub max: f64,
}

impl Figures {
    /// Adds the figure of an interval of this many seconds. Negative figures and NaN count as zero.
    pub fn add(&mut self, figure: f64, seconds: f64) {
        // Minus zero has the bits of a large number.
        let figure = if figure.is_finite() { figure.max(0.0) + 0.0 } else { 0.0 };
        let seconds = if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
        self.count += 1;
        self.weight += seconds;
        self.sum += figure * seconds;
        self.max = self.max.max(figure);
        if self.exact.len() < EXACT {
            self.exact.push(figure);
            return;
        }
        // The first figure beyond the limit moves all others into buckets.
        if self.buckets.is_empty() {
            let kept = self.exact.clone();
            kept.into_iter().for_each(|figure| self.drop_in(figure));
        }
        self.drop_in(figure);
    }

    fn drop_in(&mut self, figure: f64) {
        *self.buckets.entry(bucket(figure)).or_default() += 1;
    }

    /// Returns how many figures were added.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the distribution; `None` without figures.
    pub fn spread(&self) -> Option<Spread> {
        (self.count > 0).then(|| Spread {
            mean: if self.weight > 0.0 { self.sum / self.weight } else { 0.0 },
            median: self.within(0.5),
            p95: self.within(0.95),
            max: self.max,
        })
    }

    /// Returns the quantile: this share of the figures is no larger.
    fn within(&self, share: f64) -> f64 {
        let wanted = whole_part((self.count as f64 * share).ceil()).max(1);
        if self.buckets.is_empty() {
            let mut sorted = self.exact.clone();
            sorted.sort_by(f64::total_cmp);
            let place = usize::try_from(wanted - 1).unwrap_or(usize::MAX);
            return sorted.get(place).copied().unwrap_or(self.max);
        }
        let mut passed = 0;
        for (at, count) in &self.buckets {
            passed += count;
            if passed >= wanted {
                return figure(*at).min(self.max);
            }
        }
        self.max
    }
}

/// Returns the bucket of a figure of at least zero. The order of floats is that of their bits.
const fn bucket(figure: f64) -> u64 {
    figure.to_bits() >> LEFT_OUT
}

/// Returns the middle of a bucket; zero for the first.
const fn figure(bucket: u64) -> f64 {
    if bucket == 0 { 0.0 } else { f64::from_bits(bucket << LEFT_OUT | 1 << (LEFT_OUT - 1)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spread(figures: impl IntoIterator<Item = f64>) -> Spread {
        let mut all = Figures::default();
        figures.into_iter().for_each(|figure| all.add(figure, 1.0));
        all.spread().unwrap()
    }

    #[test]
    fn few_figures_are_exact() {
        assert_eq!(Figures::default().spread(), None);
        let one = spread([0.25]);
        assert_eq!(one, Spread { mean: 0.25, median: 0.25, p95: 0.25, max: 0.25 });
        let hundred = spread((1..=100).map(f64::from));
        assert_eq!(hundred, Spread { mean: 50.5, median: 50.0, p95: 95.0, max: 100.0 });
    }

    #[test]
    fn the_mean_is_over_time() {
        let mut all = Figures::default();
        all.add(1.0, 9.0);
        all.add(0.0, 1.0);
        assert_eq!(all.spread().unwrap().mean, 0.9);
        assert_eq!(all.spread().unwrap().median, 0.0);
    }

    #[test]
    fn many_figures_take_bounded_memory() {
        let mut all = Figures::default();
        for count in 0..200_000_u32 {
            all.add(f64::from(count % 20_000), 1.0);
        }
        let spread = all.spread().unwrap();
        assert!((spread.median / 10_000.0 - 1.0).abs() < 0.004, "{spread:?}");
        assert!((spread.p95 / 19_000.0 - 1.0).abs() < 0.004, "{spread:?}");
        assert_eq!((spread.max, all.count()), (19_999.0, 200_000));
        assert_eq!(all.exact.len(), EXACT);
        assert!(all.buckets.len() < 2_000, "{}", all.buckets.len());
    }

    proptest! {
        // Each case has many figures, so there are fewer cases.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_figure_does_harm(figures in prop::collection::vec(any::<f64>(), 1..3_000)) {
            let mut all = Figures::default();
            figures.iter().for_each(|figure| all.add(*figure, figure.abs()));
            let spread = all.spread().unwrap();
            prop_assert!(spread.median <= spread.p95 && spread.p95 <= spread.max);
        }

        #[test]
        fn buckets_are_near(figures in prop::collection::vec(1e-6..1e12_f64, 1_500..1_600)) {
            let counted = spread(figures.iter().copied());
            let mut sorted = figures;
            sorted.sort_by(f64::total_cmp);
            let exact = sorted[sorted.len().div_ceil(2) - 1];
            prop_assert!((counted.median / exact - 1.0).abs() < 0.004);
        }
    }
}
