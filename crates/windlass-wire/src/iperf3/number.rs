//! Deserialization of numbers and flags as iperf3's versions write them in JSON.
//!
//! iperf3's JSON library keeps numbers as floats, and versions differ: iperf 3.12 writes -1 as
//! 18446744073709551615, and a flag is `true` or 1.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Visitor};

/// Reads a whole number. A fraction is cut off, and a number that is too large saturates. An
/// unsigned number beyond the signed range is negative, as in C.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    deserializer.deserialize_any(WholeNumberVisitor)
}

/// Reads a number that may be missing.
pub(super) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i64>, D::Error> {
    whole(deserializer).map(Some)
}

/// Reads a flag.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    whole(deserializer).map(|number| number != 0)
}

/// Returns whether a flag may be left out of the JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) const fn unset(flag: &bool) -> bool {
    !*flag
}

/// Returns whether a number may be left out of the JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) const fn zero(number: &i64) -> bool {
    *number == 0
}

struct WholeNumberVisitor;

impl Visitor<'_> for WholeNumberVisitor {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a flag")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<i64, E> {
        Ok(flag.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        Ok(number.cast_signed())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<i64, E> {
        // As a float, 18446744073709551615 is 2^64.
        Ok(if number == 18_446_744_073_709_551_616.0 { -1 } else { number as i64 })
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct WholeNumber(#[serde(deserialize_with = "super::whole")] i64);

    #[test]
    fn numbers_come_in_many_forms() {
        for (json, expected) in [
            ("7", 7),
            ("-1", -1),
            ("18446744073709551615", -1),
            ("1.8446744073709552e19", -1),
            ("7.9", 7),
            ("-7.9", -7),
            ("1e300", i64::MAX),
            ("true", 1),
            ("false", 0),
        ] {
            let WholeNumber(number) = serde_json::from_str(json).unwrap();
            assert_eq!(number, expected, "{json}");
        }
        assert!(serde_json::from_str::<WholeNumber>("\"7\"").is_err());
        assert!(serde_json::from_str::<WholeNumber>("null").is_err());
    }
}
