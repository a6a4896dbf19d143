//! Samples of a time, and their statistics.

use windlass_base::figures::ItemCount;
use windlass_base::{Span, whole_part};

/// Times of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(Vec<Span>);

impl FromIterator<Span> for Samples {
    fn from_iter<I: IntoIterator<Item = Span>>(times: I) -> Self {
        let mut times: Vec<Span> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }
}

impl Samples {
    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the smallest value that a share `quantile` of the samples does not exceed.
    pub(super) fn quantile(&self, quantile: f64) -> Option<Span> {
        let last = self.0.len().checked_sub(1)?;
        let place = whole_part((last as f64 * quantile).round()) as usize;
        self.0.get(place.min(last)).copied()
    }

    pub(super) fn median(&self) -> Option<Span> {
        self.quantile(0.5)
    }

    /// Returns half the width of a uniform distribution, estimated from the middle half. Outliers
    /// have no effect.
    pub(super) fn spread(&self) -> Span {
        match (self.quantile(0.25), self.quantile(0.75)) {
            (Some(low), Some(high)) => high - low,
            _ => Span::ZERO,
        }
    }

    /// Returns the mean distance from the median. A distance above `most` counts as `most`.
    pub(super) fn strays(&self, most: Span) -> Span {
        let Some(median) = self.median() else { return Span::ZERO };
        let far = |time: &Span| if *time > median { *time - median } else { median - *time };
        let sum: Span = self.0.iter().map(|time| far(time).min(most)).sum();
        sum / i64::try_from(self.0.len()).unwrap_or(i64::MAX)
    }

    /// Describes the samples: `Median of 7,611 ACKs; p10 116.9 ms, p90 118.1 ms.`
    pub(super) fn told(&self, what: &str) -> String {
        let counted = ItemCount(self.count(), what);
        match (self.quantile(0.1), self.quantile(0.9)) {
            (Some(low), Some(high)) if self.count() > 1 => {
                format!("Median of {counted}; p10 {low}, p90 {high}.")
            }
            _ => format!("From {counted}."),
        }
    }
}
