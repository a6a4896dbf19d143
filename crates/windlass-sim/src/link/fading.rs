//! A line whose rate changes: a radio that adapts to its signal.

use serde::{Deserialize, Serialize};
use windlass_base::{Rate, Span, Timestamp};

use crate::random::Random;
use crate::written;

/// How the rate of a line changes. Each stretch of time has a rate of its own between the
/// least and that of the line, by their logarithms as likely: a radio steps by shares of its
/// rate, not by megabits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct Fading {
    /// The least rate.
    #[serde(rename(serialize = "least_bytes_per_second"), deserialize_with = "written::read")]
    pub least: Rate,
    /// How long a stretch lasts.
    #[serde(rename(serialize = "every_seconds"), deserialize_with = "written::read")]
    pub every: Span,
}

impl Fading {
    /// The mean over time of what a line of this rate does at each rate that it has.
    pub fn mean_of(self, rate: Rate, at: impl Fn(Rate) -> Rate) -> Rate {
        let parts = 64_u16;
        // In the middle of each part.
        let shares = (0..parts).map(|part| part * 1_024 + 512);
        let sum: f64 = shares.map(|share| at(self.between(rate, share)).bytes_per_second()).sum();
        Rate::from_bytes_per_second(sum / f64::from(parts))
    }

    /// The rate of a stretch: the same for the same seed, whenever it is asked.
    pub(super) fn rate(self, rate: Rate, seed: u64, at: Timestamp) -> Rate {
        let every = self.every.as_nanos().max(1);
        let stretch = at.since(Timestamp::ZERO).as_nanos().div_euclid(every).cast_unsigned();
        let [high, low, ..] = Random::new(seed, stretch).bits().to_be_bytes();
        self.between(rate, u16::from_be_bytes([high, low]))
    }

    /// The rate that so many of 65,536 parts of the time are not above:
    /// least · (rate / least) ^ share.
    fn between(self, rate: Rate, share: u16) -> Rate {
        let least = self.least.bytes_per_second();
        // Of square roots alone, which are the same on all platforms: each digit of the share
        // is a root further on.
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
