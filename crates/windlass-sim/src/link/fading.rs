//! A line whose rate changes: a radio that adapts to its signal.

use serde::{Deserialize, Serialize};
use windlass_base::{Rate, Span, Timestamp};

use crate::random::Random;
use crate::written;

/// Changes of a line's rate. Each interval has a random rate between the lowest rate and that of
/// the line, uniform in the logarithm: a radio steps by shares of its rate, not by megabits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct Fading {
    /// The lowest rate.
    #[serde(rename(serialize = "least_bytes_per_second"), deserialize_with = "written::read")]
    pub least: Rate,
    /// Length of an interval.
    #[serde(rename(serialize = "every_seconds"), deserialize_with = "written::read")]
    pub every: Span,
}

impl Fading {
    /// Returns the mean over time of `at` for the rates of a line whose full rate is `rate`.
    pub fn mean_of(self, rate: Rate, at: impl Fn(Rate) -> Rate) -> Rate {
        let parts = 64_u16;
        // The middle of each part.
        let shares = (0..parts).map(|part| part * 1_024 + 512);
        let sum: f64 = shares.map(|share| at(self.between(rate, share)).bytes_per_second()).sum();
        Rate::from_bytes_per_second(sum / f64::from(parts))
    }

    /// Returns the rate of the interval at a time: always the same for the same seed.
    pub(super) fn rate(self, rate: Rate, seed: u64, at: Timestamp) -> Rate {
        let every = self.every.as_nanos().max(1);
        let stretch = at.since(Timestamp::ZERO).as_nanos().div_euclid(every).cast_unsigned();
        let [high, low, ..] = Random::new(seed, stretch).bits().to_be_bytes();
        self.between(rate, u16::from_be_bytes([high, low]))
    }

    /// Returns the rate that is not exceeded in `share` of 65,536 parts of the time: least · (rate
    /// / least) ^ share.
    fn between(self, rate: Rate, share: u16) -> Rate {
        let least = self.least.bytes_per_second();
        // Only square roots are used, which are the same on all platforms: each further digit of
        // the share is a further root.
        let mut root = rate.bytes_per_second() / least;
        let mut product = least;
        for digit in (0..16).rev() {
            root = root.sqrt();
            if share >> digit & 1 == 1 {
                product *= root;
            }
        }
        Rate::from_bytes_per_second(product)
    }
}
