//! Random numbers from a seed.
//!
//! The generator is PCG XSL 128/64 (MCG) from `rand_pcg`, at one 128-bit multiplication a draw. It
//! is a fixed algorithm under a name of its own, which its authors keep value-stable (the Rust Rand
//! book, "Reproducibility"). The general `SmallRng` and `StdRng` may change with a release. Shares
//! and spans are made here from the raw words, with operations that are exact on every platform.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use windlass_base::{Span, whole_part};

/// Odd, with its bits spread evenly: the golden ratio times 2⁶⁴.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of random numbers.
///
/// Each use has its own stream of the same seed, so that a change of one setting leaves the draws
/// of the others as they are.
#[derive(Clone, Debug)]
pub(crate) struct Random(Pcg64Mcg);

impl Random {
    /// Returns stream number `stream` of `seed`.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed ^ stream.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// Returns a new stream whose seed is drawn from this one.
    pub(crate) fn fork(&mut self) -> Self {
        Self(Pcg64Mcg::seed_from_u64(self.0.next_u64()))
    }

    /// Draws 32 bits.
    pub(crate) fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Draws a whole number from 0 to `most`, all equally likely.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        // The high word of a product. Its bias is below most / 2⁶⁴.
        let wide = u128::from(self.0.next_u64()) * (u128::from(most) + 1);
        u64::try_from(wide >> 64).unwrap_or(most)
    }

    /// Draws a span from zero to `most`, all equally likely.
    pub(crate) fn span(&mut self, most: Span) -> Span {
        match u64::try_from(most.as_nanos()) {
            Ok(nanos @ 1..) => {
                Span::from_nanos(i64::try_from(self.up_to(nanos)).unwrap_or(i64::MAX))
            }
            _ => Span::ZERO,
        }
    }

    /// Draws a span within `spread` on either side of `middle`, never negative.
    pub(crate) fn around(&mut self, middle: Span, spread: Span) -> Span {
        if spread <= Span::ZERO {
            return middle.or_zero();
        }
        (middle - spread + self.span(spread * 2)).or_zero()
    }
}

/// A probability, ready to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share(u64);

impl Share {
    /// Makes a probability from 0 to 1; NaN is 0.
    pub(crate) fn new(share: f64) -> Self {
        Self(whole_part(share.clamp(0.0, 1.0) * (1_u64 << 53) as f64))
    }

    /// Draws, and returns whether the event happens. A probability of zero draws nothing.
    pub(crate) fn happens(self, random: &mut Random) -> bool {
        self.0 > 0 && random.0.next_u64() >> 11 < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_promise() {
        // These words are what every later version has to give.
        let mut random = Random::new(1, 0);
        assert_eq!([random.bits(), random.bits()], [366_319_059, 316_042_318]);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        assert_ne!(Random::new(1, 0).bits(), Random::new(1, 1).bits());
        assert_ne!(Random::new(1, 0).bits(), Random::new(2, 0).bits());
    }

    #[test]
    fn shares_hold_over_many_draws() {
        let mut random = Random::new(7, 0);
        for share in [0.0, 0.001, 0.25, 1.0] {
            let odds = Share::new(share);
            let hits = (0..100_000).filter(|_| odds.happens(&mut random)).count() as f64;
            assert!((hits / 100_000.0 - share).abs() < 0.005, "{share}: {hits}");
        }
        assert_eq!(Share::new(f64::NAN), Share::new(0.0));
    }

    #[test]
    fn spans_stay_within_their_spread() {
        let mut random = Random::new(3, 0);
        let (middle, spread) = (Span::from_millis(10), Span::from_millis(2));
        let drawn: Vec<Span> = (0..10_000).map(|_| random.around(middle, spread)).collect();
        let (least, most) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
        assert!(*least >= Span::from_millis(8) && *least < Span::from_micros(8_010));
        assert!(*most <= Span::from_millis(12) && *most > Span::from_micros(11_990));
        assert_eq!(random.around(middle, Span::ZERO), middle);
    }
}
