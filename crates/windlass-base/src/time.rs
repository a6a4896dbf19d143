//! Points in time and the spans between them, in nanoseconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::AsText;
use crate::digits::significant;

/// Adds two numbers, and saturates. A branch that is never taken costs two instructions per packet;
/// [`i64::saturating_add`] costs seven.
#[inline]
const fn sum(one: i64, other: i64) -> i64 {
    match one.checked_add(other) {
        Some(sum) => sum,
        None => limit(one),
    }
}

/// Subtracts `other`, and saturates, as [`sum`] does.
#[inline]
const fn difference(one: i64, other: i64) -> i64 {
    match one.checked_sub(other) {
        Some(difference) => difference,
        None => limit(one),
    }
}

/// Returns the end of the range that an overflow passes, where `one` is the first operand. This is
/// inlined: a call would make its caller save registers, although it never happens.
#[inline]
const fn limit(one: i64) -> i64 {
    if one < 0 { i64::MIN } else { i64::MAX }
}

/// Rounds as [`f64::round`] does, and saturates. `round` is a call if the processor may lack
/// SSE4.1.
#[inline]
fn rounded(value: f64) -> i64 {
    let whole = value as i64;
    let rest = value - whole as f64;
    sum(whole, i64::from(rest >= 0.5) - i64::from(rest <= -0.5))
}

/// A point in time: nanoseconds since the Unix epoch, or since the capture's own zero if it states
/// no date.
///
/// There is no `now()`: a timestamp comes from a packet or from the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, AsText)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The epoch.
    pub const ZERO: Self = Self(0);

    /// Makes a timestamp of this many nanoseconds after the epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Returns nanoseconds since the epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns the span from `earlier` to this point. It is negative if this point came first, as
    /// in captures whose clock stepped back.
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(difference(self.0, earlier.0))
    }

    /// Returns this point if it has a date. Within a year of the epoch it is of a clock that was
    /// never set, or that counts from a zero of its own.
    pub const fn dated(self) -> Option<Self> {
        const YEAR: u64 = 366 * 86_400 * 1_000_000_000;
        if self.0.unsigned_abs() < YEAR { None } else { Some(self) }
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(sum(self.0, span.0))
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(difference(self.0, span.0))
    }
}

impl Sub for Timestamp {
    type Output = Span;
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

/// In UTC, to the nanosecond: `2001-07-24T09:15:30.000000123Z` (RFC 3339).
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nanoseconds in 64 bits cover the years 1677 to 2262.
        let time = jiff::Timestamp::from_nanosecond(self.0.into()).unwrap_or_default();
        // A time without alignment needs no text of its own first.
        if f.width().is_none() && f.precision().is_none() {
            return write!(f, "{time:.9}");
        }
        f.pad(&format!("{time:.9}"))
    }
}

/// Parses RFC 3339, with any offset, to the nanosecond.
impl std::str::FromStr for Timestamp {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let time: jiff::Timestamp =
            text.parse().map_err(|_| "write a time as 2001-07-24T09:15:30Z".to_owned())?;
        let nanos = i64::try_from(time.as_nanosecond());
        nanos.map(Self).map_err(|_| "a time lies between the years 1678 and 2262".to_owned())
    }
}

/// Read from its text.
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A length of time in nanoseconds. It may be negative, as captures are not always in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(i64::MAX);

    /// Makes a span of nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Makes a span of microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Makes a span of milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Makes a span of seconds. Fractions below a nanosecond are rounded, values out of range
    /// saturate, and NaN is zero.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
    }

    /// Returns nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns seconds, as a number.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Converts to the standard library's type; a negative span becomes zero.
    pub const fn to_duration(self) -> std::time::Duration {
        let nanos = if self.0 < 0 { 0 } else { self.0.unsigned_abs() };
        std::time::Duration::from_nanos(nanos)
    }

    /// Converts from the standard library's type, up to the longest span.
    pub fn from_duration(duration: std::time::Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }

    /// Returns this span, or zero if it is negative.
    #[must_use]
    pub const fn or_zero(self) -> Self {
        if self.0 < 0 { Self(0) } else { self }
    }

    /// Returns this span as a share of `whole`, between 0 and 1; 0 if `whole` is not positive.
    pub fn share_of(self, whole: Self) -> f64 {
        if whole.0 <= 0 { 0.0 } else { (self.0 as f64 / whole.0 as f64).clamp(0.0, 1.0) }
    }

    /// Divides the span into this many equal parts; zero for no parts.
    #[must_use]
    pub fn part_of(self, parts: u64) -> Self {
        self / i64::try_from(parts).unwrap_or(i64::MAX)
    }

    /// Multiplies the span by a factor, rounded.
    #[must_use]
    #[inline]
    pub fn scaled(self, factor: f64) -> Self {
        Self(rounded(self.0 as f64 * factor))
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(sum(self.0, other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(difference(self.0, other.0))
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Mul<i64> for Span {
    type Output = Self;
    fn mul(self, times: i64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<i64> for Span {
    type Output = Self;
    /// Division by zero gives zero: an average over nothing.
    fn div(self, by: i64) -> Self {
        Self(self.0.checked_div(by).unwrap_or(0))
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

/// Seconds, as a number.
impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_seconds())
    }
}

/// Read from seconds, as written.
impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_seconds)
    }
}

/// Three figures and a fitting unit: `7 µs`, `117.7 ms`, `2.02 s`, `15 min 3 s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let text = match nanos {
            0 => "0 s".to_owned(),
            1..1_000 => format!("{sign}{nanos} ns"),
            1_000..999_500 => format!("{sign}{} µs", significant(nanos as f64 / 1e3)),
            999_500..999_500_000 => format!("{sign}{} ms", significant(nanos as f64 / 1e6)),
            999_500_000..120_000_000_000 => format!("{sign}{} s", significant(nanos as f64 / 1e9)),
            _ => {
                let seconds = nanos / 1_000_000_000;
                let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
                let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
                match (days, hours) {
                    (0, 0) => format!("{sign}{minutes} min {seconds} s"),
                    (0, _) => format!("{sign}{hours} h {minutes} min"),
                    _ => format!("{sign}{days} d {hours} h"),
                }
            }
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_in_utc_to_the_nanosecond() {
        let read = |nanos| Timestamp::from_nanos(nanos).to_string();
        assert_eq!(read(995_966_130_000_000_123), "2001-07-24T09:15:30.000000123Z");
        assert_eq!(read(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(read(i64::MAX), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(read(i64::MIN), "1677-09-21T00:12:43.145224192Z");
        let dated = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000).dated();
        assert!(dated(86_400).is_none() && dated(-86_400).is_none());
        assert!(dated(995_966_130).is_some());
        for nanos in [995_966_130_000_000_123, -1, 0, i64::MAX, i64::MIN] {
            assert_eq!(read(nanos).parse(), Ok(Timestamp::from_nanos(nanos)));
        }
        let at = Timestamp::from_nanos(995_966_130_000_000_000);
        assert_eq!("2001-07-24T11:15:30+02:00".parse(), Ok(at));
        assert!("2001-07-24".parse::<Timestamp>().is_err());
        assert!("9999-01-01T00:00:00Z".parse::<Timestamp>().is_err());
    }

    #[test]
    fn spans_read_in_the_unit_that_suits() {
        let read = |nanos| Span::from_nanos(nanos).to_string();
        assert_eq!(read(0), "0 s");
        assert_eq!(read(950), "950 ns");
        assert_eq!(read(7_000), "7 µs");
        assert_eq!(read(117_695_000), "117.7 ms");
        assert_eq!(read(10_399_000), "10.4 ms");
        assert_eq!(read(2_020_000_000), "2.02 s");
        assert_eq!(read(-1_500_000), "-1.5 ms");
        assert_eq!(read(903_000_000_000), "15 min 3 s");
        assert_eq!(read(1_467_991_562_564_000), "16 d 23 h");
    }

    #[test]
    fn a_factor_rounds_as_floats_do() {
        let halves = [0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 4_503_599_627_370_495.5];
        let large = [9e15, 9.3e18, 1e300, f64::INFINITY, f64::MIN_POSITIVE, 0.0];
        for value in halves.into_iter().chain(large).flat_map(|value| [value, -value]) {
            assert_eq!(rounded(value), value.round() as i64, "{value}");
        }
        assert_eq!(rounded(f64::NAN), 0);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Span::MAX + Span::from_nanos(1), Span::MAX);
        let least = Timestamp::from_nanos(i64::MIN);
        assert_eq!(least + Span::from_nanos(-1), least);
        assert_eq!(least.since(Timestamp::from_nanos(1)), Span::from_nanos(i64::MIN));
        assert_eq!(Timestamp::from_nanos(1).since(least), Span::MAX);
        assert_eq!(Span::from_seconds(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_millis(3) / 0, Span::ZERO);
        assert_eq!(Span::from_millis(1).share_of(Span::ZERO), 0.0);
    }
}
