//! Quantiles of a stream of values, in bounded memory.

use hdrhistogram::Histogram;
use windlass_base::Span;

/// How many values are kept exactly before they go into a histogram.
const EXACT: usize = 64;

/// Values of one measure. Up to 64 are kept exactly; beyond that a histogram
/// with two significant figures holds them in at most about 16 kB.
#[derive(Debug, Default)]
pub(crate) struct Distribution {
    /// Values with their weights.
    exact: Vec<(i64, u32)>,
    histogram: Option<Box<Histogram<u32>>>,
    count: u64,
    least: i64,
    most: i64,
    sum: i64,
}

impl Distribution {
    /// Takes a value; negative ones count as zero.
    pub(crate) fn record(&mut self, span: Span) {
        self.record_weighted(span, 1);
    }

    /// Takes a value that counts `weight` times.
    pub(crate) fn record_weighted(&mut self, span: Span, weight: u32) {
        let value = span.or_zero().as_nanos();
        if self.count == 0 || value < self.least {
            self.least = value;
        }
        self.most = self.most.max(value);
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        if let Some(histogram) = &mut self.histogram {
            put(histogram, value, weight);
        } else if self.exact.len() < EXACT {
            self.exact.push((value, weight));
        } else {
            // Two figures always make a valid histogram.
            let Ok(mut histogram) = Histogram::new(2) else { return };
            histogram.auto(true);
            for (value, weight) in self.exact.drain(..).chain([(value, weight)]) {
                put(&mut histogram, value, weight);
            }
            self.histogram = Some(Box::new(histogram));
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn total(&self) -> Span {
        Span::from_nanos(self.sum)
    }

    pub(crate) fn most(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_nanos(self.most))
    }

    /// The least value that at least the share `quantile` of all values do not
    /// exceed.
    pub(crate) fn quantile(&self, quantile: f64) -> Option<Span> {
        if self.count == 0 {
            return None;
        }
        if let Some(histogram) = &self.histogram {
            let value = histogram.value_at_quantile(quantile);
            let value = i64::try_from(value).unwrap_or(i64::MAX).clamp(self.least, self.most);
            return Some(Span::from_nanos(value));
        }
        let mut sorted = self.exact.clone();
        sorted.sort_unstable();
        let all: f64 = sorted.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let mut so_far = 0.0;
        let reached = sorted.iter().find(|(_, weight)| {
            so_far += f64::from(*weight);
            so_far >= quantile * all
        });
        reached.or(sorted.last()).map(|(value, _)| Span::from_nanos(*value))
    }

    pub(crate) fn median(&self) -> Option<Span> {
        self.quantile(0.5)
    }
}

fn put(histogram: &mut Histogram<u32>, value: i64, weight: u32) {
    // It grows with the value, and every span fits.
    let _ = histogram.record_n(value.unsigned_abs(), weight);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_counts_a_value_so_often() {
        let mut latencies = Distribution::default();
        for (millis, weight) in [(7, 1), (10, 1), (118, 2), (5, 1), (117, 2)] {
            latencies.record_weighted(Span::from_millis(millis), weight);
        }
        assert_eq!(latencies.median(), Some(Span::from_millis(117)));
        assert_eq!(latencies.count(), 5);
    }

    #[test]
    fn few_values_are_exact_and_many_are_close() {
        let mut few = Distribution::default();
        assert_eq!(few.median(), None);
        for micros in [3, 1, 2] {
            few.record(Span::from_micros(micros));
        }
        assert_eq!(few.median(), Some(Span::from_micros(2)));
        assert_eq!(few.quantile(0.9), Some(Span::from_micros(3)));

        let mut many = Distribution::default();
        for micros in 1..=10_000 {
            many.record(Span::from_micros(micros));
        }
        let median = many.median().unwrap().as_seconds();
        assert!((median - 0.005).abs() < 0.005 * 0.01, "{median}");
        let late = many.quantile(0.9).unwrap().as_seconds();
        assert!((late - 0.009).abs() < 0.009 * 0.01, "{late}");
        assert_eq!(many.most(), Some(Span::from_millis(10)));
    }
}
