//! How late packets left, in a histogram of fixed size.

use windlass_base::Span;

/// Steps within each doubling: a figure is off by 1/32 at most.
const STEPS: u32 = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Places for all nanoseconds of 64 bits.
const PLACES: usize = ((64 - STEP_BITS + 1) * STEPS) as usize;

/// How late packets were against the time at which they were due.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    counts: Box<[u64; PLACES]>,
    total: u64,
    most: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: Box::new([0; PLACES]), total: 0, most: 0 }
    }
}

impl Lateness {
    /// Adds a packet; one that was not late counts as on time.
    pub(super) fn add(&mut self, late: Span) {
        let nanos = late.as_nanos().max(0).unsigned_abs();
        self.counts[place(nanos)] += 1;
        self.total += 1;
        self.most = self.most.max(nanos);
    }

    /// The most that this share of packets was late.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is not negative and fits"
    )]
    pub(super) fn within(&self, share: f64) -> Span {
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut passed = 0;
        for (place, count) in self.counts.iter().enumerate() {
            passed += count;
            if passed >= wanted {
                return span(upper(place).min(self.most));
            }
        }
        self.most()
    }

    /// How late the latest packet was.
    pub(super) fn most(&self) -> Span {
        span(self.most)
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
        let mut late = Lateness::default();
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
        assert_eq!(late.within(0.01), Span::ZERO);
    }
}
