//! Settings as text in files: strings, read by the parsers of the command line.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use windlass_base::{Bytes, Rate, Span, values};

/// A value that a file has as a string, or as a number without quotes if that is as clear.
pub trait Value: Sized {
    /// Description of the allowed text.
    const ALLOWED: &str;

    /// Reads a value.
    ///
    /// # Errors
    /// Returns a description of the allowed text if `text` is something else.
    fn parse(text: &str) -> Result<Self, String>;
}

/// A size of at least one byte.
impl Value for Bytes {
    const ALLOWED: &str = "a size such as \"2920\" or \"64KiB\"";

    fn parse(text: &str) -> Result<Self, String> {
        values::bytes(text)
    }
}

impl Value for Span {
    const ALLOWED: &str = "a time with its unit, such as \"117.667 ms\"";

    fn parse(text: &str) -> Result<Self, String> {
        values::span_with_unit(text)
    }
}

impl Value for Rate {
    const ALLOWED: &str = "a rate with its unit, such as \"798 kB/s\" or \"100 mbit\"";

    fn parse(text: &str) -> Result<Self, String> {
        values::rate_with_unit(text)
    }
}

/// A share of a whole.
impl Value for f64 {
    const ALLOWED: &str = "a share such as \"35 %\" or \"0.35\"";

    fn parse(text: &str) -> Result<Self, String> {
        values::share(text)
    }
}

/// A size that may be zero.
struct SizeOrNone(Bytes);

impl Value for SizeOrNone {
    const ALLOWED: &str = "a size such as \"768\", or \"0\"";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "0" => Ok(Self(Bytes::ZERO)),
            text => values::bytes(text).map(Self),
        }
    }
}

struct ValueVisitor<T>(PhantomData<T>);

impl<T: Value> Visitor<'_> for ValueVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::ALLOWED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(|wrong| E::custom(format!("`{text}` is not allowed: {wrong}")))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let wrong = || E::custom(format!("`{number}` is not allowed: expected {}", T::ALLOWED));
        let value =
            u64::try_from(number).ok().and_then(|number| T::parse(&number.to_string()).ok());
        value.ok_or_else(wrong)
    }
}

/// A value of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextValue<T>(pub T);

impl<'de, T: Value> Deserialize<'de> for TextValue<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read(from).map(Self)
    }
}

/// Reads a value.
pub(crate) fn read<'de, T: Value, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(ValueVisitor(PhantomData))
}

/// Reads a size that may be zero.
pub(crate) fn size_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    read(from).map(|SizeOrNone(bytes)| bytes)
}

/// Reads a value that may be left out.
///
/// # Errors
/// Fails with a description of the allowed text if the value is something else.
pub fn maybe<'de, T: Value, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    read(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Latency;

    #[test]
    fn a_time_may_stray() {
        let (typical, spread) = (Span::from_micros(10_400), Span::from_micros(200));
        for text in ["10.4 ms ± 0.2 ms", "10.4ms +- 200us"] {
            assert_eq!(Latency::parse(text), Ok(Latency { typical, spread }), "{text}");
        }
        assert_eq!(Latency::parse("10.4 ms"), Ok(Latency::of(typical)));
        for text in ["1 ms ± 2 ms", "1 ms ±"] {
            assert!(Latency::parse(text).is_err(), "{text}");
        }
    }
}
