//! Quantiles of spans, in fixed memory.

use serde::{Deserialize, Serialize};

use crate::{Span, whole_part};

/// Steps within each doubling, as a power of two: a figure is off by at most 1/32.
const COARSE: u32 = 5;
/// Steps of a fine histogram: a figure is off by at most 1/4,096.
const FINE: u32 = 12;

/// A histogram of any number of spans, in 15 kB. Figures are at most 1/32 too large, and 1/4,096 in
/// a [`Histogram::fine`] one. Minimum, maximum and mean are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    step_bits: u32,
    counts: Box<[u64]>,
    count: u64,
    least: u64,
    most: u64,
    sum: u128,
    /// The running mean, and the sum of squared deviations from it (Welford 1962).
    centre: f64,
    squares: f64,
}

/// Quantiles of many spans. In records each is in seconds, as its key says: `latency_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Number of spans.
    pub count: u64,
    /// The minimum.
    pub min: Span,
    /// The mean.
    pub mean: Span,
    /// The median.
    pub p50: Span,
    /// The 90th percentile; `None` below 10 spans.
    pub p90: Option<Span>,
    /// The 99th percentile; `None` below 100 spans.
    pub p99: Option<Span>,
    /// The 99.9th percentile; `None` below 1,000 spans.
    pub p99_9: Option<Span>,
    /// The maximum.
    pub max: Span,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::with_steps(COARSE)
    }
}

impl Histogram {
    /// Makes a histogram whose figures are at most 1/4,096 too large. It has 1.7 MB, of which only
    /// the counters in use are ever touched.
    pub fn fine() -> Self {
        Self::with_steps(FINE)
    }

    fn with_steps(step_bits: u32) -> Self {
        // Counters for all nanoseconds of 64 bits.
        let places = ((u64::BITS - step_bits + 1) as usize) << step_bits;
        let counts = vec![0; places].into_boxed_slice();
        Self {
            step_bits,
            counts,
            count: 0,
            least: u64::MAX,
            most: 0,
            sum: 0,
            centre: 0.0,
            squares: 0.0,
        }
    }

    /// Adds a span; a negative one counts as zero.
    pub fn add(&mut self, span: Span) {
        let nanos = span.as_nanos().max(0).unsigned_abs();
        self.counts[place(self.step_bits, nanos)] += 1;
        self.count += 1;
        self.least = self.least.min(nanos);
        self.most = self.most.max(nanos);
        self.sum += u128::from(nanos);
        let off = nanos as f64 - self.centre;
        self.centre += off / self.count as f64;
        self.squares += off * (nanos as f64 - self.centre);
    }

    /// Returns how many spans were added.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the quantile: this share of the spans is no longer. Zero for an empty histogram.
    pub fn within(&self, share: f64) -> Span {
        let wanted = whole_part((self.count as f64 * share).ceil()).max(1);
        let mut passed = 0;
        for (at, count) in self.counts.iter().enumerate() {
            passed += count;
            if passed >= wanted {
                return span(self.figure(at));
            }
        }
        self.most()
    }

    /// Returns the quantiles; `None` for an empty histogram.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let of_many = |many: u64, share| (self.count >= many).then(|| self.within(share));
        (self.count > 0).then(|| Quantiles {
            count: self.count,
            min: self.least(),
            mean: self.mean(),
            p50: self.within(0.5),
            p90: of_many(10, 0.9),
            p99: of_many(100, 0.99),
            p99_9: of_many(1_000, 0.999),
            max: self.most(),
        })
    }

    /// Returns how many spans are no longer than `edge`. A span that is shorter by less than the
    /// error of a figure may be missing.
    pub fn up_to(&self, edge: Span) -> u64 {
        let edge = edge.as_nanos().max(0).unsigned_abs();
        if self.count == 0 || edge < self.least {
            return 0;
        }
        let (first, last) = (place(self.step_bits, self.least), place(self.step_bits, edge));
        let whole: u64 = self.counts[first..last].iter().sum();
        // The counter of the edge counts only if its figure is no longer than the edge.
        if self.figure(last) <= edge { whole + self.counts[last] } else { whole }
    }

    /// Returns the figure of a counter's spans.
    fn figure(&self, at: usize) -> u64 {
        // In an empty histogram the minimum is above the maximum.
        upper(self.step_bits, at).max(self.least).min(self.most)
    }

    /// Returns the minimum; zero for an empty histogram.
    pub fn least(&self) -> Span {
        span(if self.count == 0 { 0 } else { self.least })
    }

    /// Returns the maximum; zero for an empty histogram.
    pub fn most(&self) -> Span {
        span(self.most)
    }

    /// Returns the standard deviation of the sample, with one less than their number as divisor;
    /// `None` below two spans. It is as exact as a float.
    pub fn deviation(&self) -> Option<Span> {
        let variance = self.squares / (self.count.checked_sub(1)? as f64);
        (self.count > 1).then(|| Span::from_seconds(variance.max(0.0).sqrt() / 1e9))
    }

    /// Returns the mean; zero for an empty histogram.
    pub fn mean(&self) -> Span {
        let mean = self.sum.checked_div(u128::from(self.count)).unwrap_or(0);
        span(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// Returns the index of a number's counter. Each number below two to the power of `step_bits` has
/// one; from there on, each doubling has as many.
pub const fn place(step_bits: u32, nanos: u64) -> usize {
    let doubling = (u64::BITS - nanos.leading_zeros()).saturating_sub(step_bits + 1);
    let step = nanos >> doubling;
    (((doubling as u64) << step_bits) + step) as usize
}

/// Returns the largest number of a counter.
pub const fn upper(step_bits: u32, place: usize) -> u64 {
    let (place, steps) = (place as u64, 1_u64 << step_bits);
    if place < 2 * steps {
        return place;
    }
    let doubling = place / steps - 1;
    let step = place - doubling * steps;
    ((step + 1) << doubling).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_figure_is_near(nanos in 0..=i64::MAX.unsigned_abs()) {
            for bits in [COARSE, FINE] {
                let upper = upper(bits, place(bits, nanos));
                prop_assert!(upper >= nanos);
                prop_assert!((upper - nanos) as f64 <= nanos as f64 / f64::from(1 << bits));
            }
        }
    }

    #[test]
    fn shares_of_many() {
        let mut late = Histogram::default();
        assert_eq!((late.within(0.5), late.most()), (Span::ZERO, Span::ZERO));
        late.add(Span::from_nanos(-5));
        for micros in 1..=99 {
            late.add(Span::from_micros(micros));
        }
        let near = |span: Span, micros: f64| (span.as_seconds() * 1e6 / micros - 1.0).abs() < 0.04;
        assert!(near(late.within(0.5), 49.0), "{}", late.within(0.5));
        assert!(near(late.within(0.99), 98.0), "{}", late.within(0.99));
        assert_eq!(late.within(1.0), late.most());
        assert_eq!(late.most(), Span::from_micros(99));
        assert_eq!((late.least(), late.within(0.01)), (Span::ZERO, Span::ZERO));
        assert_eq!((late.count(), late.mean()), (100, Span::from_nanos(49_500)));
        late.add(Span::from_micros(200));
        assert_eq!((late.count(), late.most()), (101, Span::from_micros(200)));
        assert_eq!(late.within(1.0), Span::from_micros(200));
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let mut times = Histogram::default();
        assert_eq!(times.deviation(), None);
        times.add(Span::from_millis(2));
        assert_eq!(times.deviation(), None);
        // Of 2, 4, 4, 4, 5, 5, 7 and 9 it is the root of 32/7.
        for millis in [4, 4, 4, 5, 5, 7, 9] {
            times.add(Span::from_millis(millis));
        }
        let deviation = times.deviation().unwrap().as_seconds() * 1e3;
        assert!((deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-5, "{deviation}");
        // Equal spans have a deviation of zero, however long they are.
        let mut alike = Histogram::fine();
        (0..1_000).for_each(|_| alike.add(Span::from_nanos(3_600_000_000_001)));
        assert_eq!(alike.deviation(), Some(Span::ZERO));
    }

    #[test]
    fn a_fine_one_tells_more_apart() {
        let (mut fine, mut coarse) = (Histogram::fine(), Histogram::default());
        for nanos in [53_700, 53_800, 54_900] {
            fine.add(Span::from_nanos(nanos));
            coarse.add(Span::from_nanos(nanos));
        }
        assert!((53_700..53_720).contains(&fine.within(0.1).as_nanos()));
        assert!((53_800..53_820).contains(&fine.within(0.5).as_nanos()));
        assert!(coarse.within(0.1) == coarse.within(0.5));
        assert_eq!((coarse.count(), coarse.most()), (3, Span::from_nanos(54_900)));
        assert_eq!(coarse.mean(), fine.mean());
    }

    #[test]
    fn spans_are_counted_up_to_an_edge() {
        let mut all = Histogram::fine();
        assert_eq!((all.up_to(Span::ZERO), all.up_to(Span::MAX)), (0, 0));
        for micros in 1..=100 {
            all.add(Span::from_micros(micros));
        }
        assert_eq!(all.up_to(Span::from_nanos(999)), 0);
        assert_eq!(all.up_to(Span::from_nanos(10_500)), 10);
        assert_eq!(all.up_to(Span::from_nanos(99_999)), 99);
        assert_eq!(all.up_to(Span::from_micros(100)), 100, "the most is known exactly");
        assert_eq!(all.up_to(Span::MAX), 100);
        assert_eq!(all.up_to(Span::from_nanos(-1)), 0);
    }
}
