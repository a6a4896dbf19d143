//! Quantiles of spans, in fixed memory.

use crate::Span;

/// Steps within each doubling: a figure is off by 1/32 at most.
const STEPS: u32 = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Places for all nanoseconds of 64 bits.
const PLACES: usize = ((64 - STEP_BITS + 1) * STEPS) as usize;

/// A histogram of spans: as many as come, in 15 kB. Figures are at most 1/32 too
/// large; the least, the most and the mean are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64; PLACES]>,
    count: u64,
    least: u64,
    most: u64,
    sum: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; PLACES]), count: 0, least: u64::MAX, most: 0, sum: 0 }
    }
}

impl Histogram {
    /// Adds a span; a negative one counts as zero.
    pub fn add(&mut self, span: Span) {
        let nanos = span.as_nanos().max(0).unsigned_abs();
        self.counts[place(nanos)] += 1;
        self.count += 1;
        self.least = self.least.min(nanos);
        self.most = self.most.max(nanos);
        self.sum += u128::from(nanos);
    }

    /// Adds all that another one holds.
    pub fn merge(&mut self, other: &Self) {
        for (own, others) in self.counts.iter_mut().zip(other.counts.iter()) {
            *own += others;
        }
        self.count += other.count;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.sum += other.sum;
    }

    /// How many were added.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The quantile: so large is this share of the spans at most. Zero where
    /// there are none.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is not negative and fits"
    )]
    pub fn within(&self, share: f64) -> Span {
        let wanted = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut passed = 0;
        for (place, count) in self.counts.iter().enumerate() {
            passed += count;
            if passed >= wanted {
                return span(upper(place).clamp(self.least, self.most));
            }
        }
        self.most()
    }

    /// The least span; zero where there are none.
    #[must_use]
    pub fn least(&self) -> Span {
        span(if self.count == 0 { 0 } else { self.least })
    }

    /// The largest span; zero where there are none.
    #[must_use]
    pub fn most(&self) -> Span {
        span(self.most)
    }

    /// The mean; zero where there are none.
    #[must_use]
    pub fn mean(&self) -> Span {
        let mean = self.sum.checked_div(u128::from(self.count)).unwrap_or(0);
        span(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// Below [`STEPS`] each number has its place; from there on, each doubling has
/// as many.
fn place(nanos: u64) -> usize {
    let doubling = (u64::BITS - nanos.leading_zeros()).saturating_sub(STEP_BITS + 1);
    let step = nanos >> doubling;
    (u64::from(doubling) * u64::from(STEPS) + step) as usize
}

/// The largest number of a place.
fn upper(place: usize) -> u64 {
    let (place, steps) = (place as u64, u64::from(STEPS));
    if place < 2 * steps {
        return place;
    }
    let doubling = place / steps - 1;
    let step = place - doubling * steps;
    ((step + 1) << doubling).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_figure_is_near(nanos in 0..=i64::MAX.unsigned_abs()) {
            let upper = upper(place(nanos));
            prop_assert!(upper >= nanos);
            prop_assert!((upper - nanos) as f64 <= nanos as f64 / f64::from(STEPS), "{}", upper);
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
        let mut both = Histogram::default();
        both.add(Span::from_micros(200));
        assert_eq!(both.within(0.01), Span::from_micros(200));
        both.merge(&late);
        assert_eq!((both.count(), both.most()), (101, Span::from_micros(200)));
        assert_eq!(both.within(1.0), Span::from_micros(200));
    }
}
