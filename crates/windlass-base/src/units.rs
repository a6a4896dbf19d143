//! Amounts of data and their rates.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use crate::Span;
use crate::digits::{grouped, significant};

/// Returns the whole part of a number. Negative numbers and NaN become zero, and numbers out of
/// range the largest one.
#[expect(clippy::cast_sign_loss, reason = "a cast from a float saturates")]
pub const fn whole_part(number: f64) -> u64 {
    number as u64
}

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// Makes this many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the rate of these bytes over `span`; zero if the span is not positive.
    pub fn per(self, span: Span) -> Rate {
        let seconds = span.as_seconds();
        if seconds > 0.0 {
            Rate::from_bytes_per_second(self.0 as f64 / seconds)
        } else {
            Rate::ZERO
        }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The exact number with thousands separated: `22,226,432 B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} B", grouped(self.0)))
    }
}

/// A rate of data, in bytes per second. Prefixes are decimal: 1 kB is 1,000
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(f64);

impl Rate {
    /// No data at all.
    pub const ZERO: Self = Self(0.0);

    /// Makes a rate in bytes per second; a negative value or NaN becomes zero.
    pub fn from_bytes_per_second(rate: f64) -> Self {
        if rate.is_finite() && rate > 0.0 { Self(rate) } else { Self(0.0) }
    }

    /// Makes a rate in bits per second.
    pub fn from_bits_per_second(rate: f64) -> Self {
        Self::from_bytes_per_second(rate / 8.0)
    }

    /// Returns bytes per second.
    pub const fn bytes_per_second(self) -> f64 {
        self.0
    }

    /// Returns bits per second.
    pub fn bits_per_second(self) -> f64 {
        self.0 * 8.0
    }

    /// Returns this rate for display in bits per second.
    pub const fn in_bits(self) -> BitRate {
        BitRate(self)
    }

    /// Returns the lesser of two rates.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// Returns the greater of two rates.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// Returns the time that `bytes` take at this rate; the longest span at rate zero.
    pub fn time_for(self, bytes: Bytes) -> Span {
        if self.0 > 0.0 { Span::from_seconds(bytes.get() as f64 / self.0) } else { Span::MAX }
    }
}

/// Bytes per second with three figures: `24.8 kB/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_prefix(self.0, "B/s"))
    }
}

/// Formats a number with three figures, and a fitting prefix before its unit.
pub(crate) fn with_prefix(number: f64, unit: &str) -> String {
    let (scale, prefix) = match number {
        ..999.5 => (1.0, ""),
        999.5..999.5e3 => (1e3, "k"),
        999.5e3..999.5e6 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    format!("{} {prefix}{unit}", significant(number / scale))
}

/// A unit of rates, for comparisons at a glance: those of `iperf -f`, whose bits come in thousands
/// and whose bytes in units of 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// 1,000 bits.
    Kilobits,
    /// 1,000,000 bits.
    Megabits,
    /// 1,000,000,000 bits.
    Gigabits,
    /// 1,024 bytes.
    Kibibytes,
    /// 1,024² bytes.
    Mebibytes,
    /// 1,024³ bytes.
    Gibibytes,
}

impl RateUnit {
    /// Formats a rate in this unit, with at least three figures: `941 Mbit/s`, `0.94 Gbit/s`.
    pub fn read(self, rate: Rate) -> String {
        let (bytes, name) = match self {
            Self::Kilobits => (1e3 / 8.0, "kbit/s"),
            Self::Megabits => (1e6 / 8.0, "Mbit/s"),
            Self::Gigabits => (1e9 / 8.0, "Gbit/s"),
            Self::Kibibytes => (1_024.0, "KiB/s"),
            Self::Mebibytes => (1_048_576.0, "MiB/s"),
            Self::Gibibytes => (1_073_741_824.0, "GiB/s"),
        };
        let value = rate.bytes_per_second() / bytes;
        let places = match value {
            ..9.995 => 2,
            9.995..99.95 => 1,
            _ => return format!("{} {name}", grouped(whole_part(value.round()))),
        };
        format!("{value:.places$} {name}")
    }
}

/// A [`Rate`] that is displayed in bits per second: `198.4 kbit/s`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct BitRate(Rate);

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_prefix(self.0.bits_per_second(), "bit/s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_exactly() {
        assert_eq!(Bytes::new(0).to_string(), "0 B");
        assert_eq!(Bytes::new(999).to_string(), "999 B");
        assert_eq!(Bytes::new(22_226_432).to_string(), "22,226,432 B");
    }

    #[test]
    fn a_rate_reads_in_the_unit_that_is_asked_for() {
        let rate = Rate::from_bits_per_second(941_482_353.0);
        let read = |unit: RateUnit| unit.read(rate);
        assert_eq!(read(RateUnit::Kilobits), "941,482 kbit/s");
        assert_eq!(read(RateUnit::Megabits), "941 Mbit/s");
        assert_eq!(read(RateUnit::Gigabits), "0.94 Gbit/s");
        assert_eq!(read(RateUnit::Kibibytes), "114,927 KiB/s");
        assert_eq!(read(RateUnit::Mebibytes), "112 MiB/s");
        assert_eq!(read(RateUnit::Gibibytes), "0.11 GiB/s");
        let read = |mbit: f64| RateUnit::Megabits.read(Rate::from_bits_per_second(mbit * 1e6));
        assert_eq!(
            [9.994, 9.996, 99.94, 99.96].map(read),
            ["9.99 Mbit/s", "10.0 Mbit/s", "99.9 Mbit/s", "100 Mbit/s"]
        );
        assert_eq!(read(0.0), "0.00 Mbit/s");
    }

    #[test]
    fn rates_read_with_three_figures() {
        let read = |rate| Rate::from_bytes_per_second(rate).to_string();
        assert_eq!(read(0.0), "0 B/s");
        assert_eq!(read(24_801.0), "24.8 kB/s");
        assert_eq!(read(1_986_000.0), "1.99 MB/s");
        assert_eq!(read(1.25e8), "125 MB/s");
        assert_eq!(read(f64::INFINITY), "0 B/s");
        let bits = |rate| Rate::from_bytes_per_second(rate).in_bits().to_string();
        assert_eq!(bits(24_801.0), "198.4 kbit/s");
        assert_eq!(bits(1.25e8), "1 Gbit/s");
    }

    #[test]
    fn a_rate_is_bytes_over_a_stated_span() {
        let rate = Bytes::new(2_920).per(Span::from_micros(117_695));
        assert!((rate.bytes_per_second() - 24_810.0).abs() < 1.0);
        assert_eq!(Bytes::new(10).per(Span::ZERO), Rate::ZERO);
        assert_eq!(rate.time_for(Bytes::new(2_920)), Span::from_micros(117_695));
    }
}
