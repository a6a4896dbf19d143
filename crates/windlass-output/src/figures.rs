//! Figures as text without line breaks.

use serde::Serialize;
use windlass_base::figures::{
    Count, Difference, ExactSpan, FineShare, ItemCount, PerSecond, Share, Size, WholeNumber, fixed,
};
use windlass_base::{Bytes, Rate, Span, whole_part};

use super::Text;

/// Returns a count, with thousands separated: `1,122,765`.
pub fn count(count: u64) -> String {
    Count(count).to_string()
}

/// Returns a size as people set it: `4 MiB`.
pub fn size(bytes: Bytes) -> Text {
    Size(bytes).into()
}

/// Returns a count with its noun: `2 packets`.
pub fn counted(number: u64, noun: &str) -> Text {
    ItemCount(number, noun).into()
}

/// Returns a number per second: `12,288 packets/s`.
pub fn per_second(rate: f64, noun: &str) -> Text {
    PerSecond(rate, noun).into()
}

/// Returns a number without its fraction: `12,288`.
pub fn whole(value: f64) -> Text {
    WholeNumber(value).into()
}

/// Returns a share of a whole: `81 %`.
pub fn percent(share: f64) -> Text {
    Share(share).into()
}

/// Returns a small share with up to three significant digits: `0.00012 %`.
pub fn fine_percent(share: f64) -> Text {
    FineShare(share).into()
}

/// Returns a relative difference: `+3.3 %`.
pub fn difference(share: f64) -> Text {
    Difference(share).into()
}

/// Returns a rate in bytes and in bits: `24.8 kB/s = 198.4 kbit/s`.
pub fn both(rate: Rate) -> Text {
    Text::from(rate).and(" = ").and(rate.in_bits())
}

/// Returns a value with the unit that reasons use: `s`, `B`, `B/s`, or none.
pub fn plain(value: f64, unit: Option<&str>) -> Text {
    match unit {
        Some("s") => Span::from_seconds(value).into(),
        Some("B/s") => Rate::from_bytes_per_second(value).into(),
        Some("B") => Bytes::new(whole_part(value)).into(),
        _ if value.fract() == 0.0 => Text::from(count(whole_part(value))),
        _ => Text::from(fixed(value, 3).trim_end_matches('0').to_owned()),
    }
}

/// Returns a span to its last nanosecond: `117.695 ms`.
pub fn exact(span: Span) -> Text {
    ExactSpan(span).into()
}

/// Returns the word that records use for a variant.
pub fn word(one: &impl Serialize) -> String {
    let value = serde_json::to_value(one).unwrap_or_default();
    value.as_str().map(ToOwned::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_both_ways() {
        let rate = Rate::from_bytes_per_second(24_801.0);
        assert_eq!(both(rate).plain(), "24.8 kB/s = 198.4 kbit/s");
    }
}
