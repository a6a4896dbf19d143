//! Values in profiles and scenarios: strings, as on the command line and read
//! by the same parsers.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use windlass_base::{Bytes, Rate, Span, values};
use windlass_sim::Latency;

/// A value that is written as a string.
trait Written: Sized {
    /// What may be written.
    const ALLOWED: &str;

    fn parse(text: &str) -> Result<Self, String>;

    /// A number without quotes, where one is as clear.
    fn number(_: u64) -> Option<Self> {
        None
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: Written> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::ALLOWED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(|wrong| E::custom(format!("`{text}` is not allowed: {wrong}")))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let wrong = || E::custom(format!("`{number}` is not allowed: expected {}", T::ALLOWED));
        u64::try_from(number).ok().and_then(T::number).ok_or_else(wrong)
    }
}

macro_rules! written {
    ($($(#[$about:meta])* $name:ident($inner:ty) = $allowed:expr, $parse:expr;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) struct $name(pub(super) $inner);

        impl Written for $name {
            const ALLOWED: &str = $allowed;

            fn parse(text: &str) -> Result<Self, String> {
                let parse: fn(&str) -> Result<$inner, String> = $parse;
                parse(text).map(Self)
            }

            fn number(number: u64) -> Option<Self> {
                Self::parse(&number.to_string()).ok()
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(Reader(PhantomData))
            }
        }
    )*};
}

written! {
    /// A size of a byte at least.
    Size(Bytes) = "a size such as \"2920\" or \"64KiB\"", values::bytes;
    /// A size that may be nothing.
    SizeOrNone(Bytes) = "a size such as \"768\", or \"0\"", |text| match text.trim() {
        "0" => Ok(Bytes::ZERO),
        text => values::bytes(text),
    };
    /// A time.
    Time(Span) = "a time with its unit, such as \"117.667 ms\"", values::span;
    /// A time that varies.
    Around(Latency) = "a time with its unit, such as \"10.4 ms\" or \"10.4 ms ± 0.2 ms\"", around;
    /// A rate.
    Speed(Rate) = "a rate with its unit, such as \"798 kB/s\" or \"100 mbit\"", values::rate;
    /// A share of a whole.
    Share(f64) = "a share such as \"35 %\" or \"0.35\"", values::share;
}

/// A time, and how far it strays to either side.
fn around(text: &str) -> Result<Latency, String> {
    let parts = text.split_once('±').or_else(|| text.split_once("+-"));
    let Some((typical, spread)) = parts else { return values::span(text).map(Latency::of) };
    let (typical, spread) = (values::span(typical)?, values::span(spread)?);
    if spread > typical {
        return Err("it strays further than it lasts".to_owned());
    }
    Ok(Latency { typical, spread })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_stray() {
        let (typical, spread) = (Span::from_micros(10_400), Span::from_micros(200));
        assert_eq!(around("10.4 ms ± 0.2 ms"), Ok(Latency { typical, spread }));
        assert_eq!(around("10.4ms +- 200us"), Ok(Latency { typical, spread }));
        assert_eq!(around("10.4 ms"), Ok(Latency::of(typical)));
        assert!(around("1 ms ± 2 ms").is_err());
        assert!(around("1 ms ±").is_err());
    }
}
