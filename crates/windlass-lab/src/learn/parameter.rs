//! A parameter of a profile, with its evidence.

use serde::Serialize;
use windlass_base::figures::fixed;
use windlass_base::{Bytes, Rate, Span};

use super::samples::Samples;

/// A parameter of a profile.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Table in the profile.
    pub table: &'static str,
    /// Name of the parameter.
    pub key: &'static str,
    /// Value as TOML; null if it stays at its default.
    pub value: Option<String>,
    /// Number of samples.
    pub samples: u64,
    /// Evidence, and its certainty.
    pub how: String,
}

impl Parameter {
    pub(super) fn seen(
        table: &'static str,
        key: &'static str,
        value: impl Into<String>,
        samples: u64,
        how: impl Into<String>,
    ) -> Self {
        Self { table, key, value: Some(value.into()), samples, how: how.into() }
    }

    /// Returns a parameter that the capture does not show.
    pub(super) fn unseen(
        table: &'static str,
        key: &'static str,
        samples: u64,
        how: impl Into<String>,
    ) -> Self {
        Self { table, key, value: None, samples, how: how.into() }
    }
}

/// Formats a size for a profile.
pub(super) fn size(bytes: u64) -> String {
    format!("\"{bytes}\"")
}

/// Formats a rate for a profile.
pub(super) fn rate(rate: Rate) -> String {
    format!("\"{} B/s\"", fixed(rate.bytes_per_second().max(1.0), 0))
}

/// Formats a time for a profile, without quotes.
fn bare(span: Span) -> String {
    let nanos = span.as_nanos().max(1);
    let (whole, unit) = if nanos < 1_000 {
        return format!("{nanos} ns");
    } else if nanos < 1_000_000 {
        (nanos as f64 / 1e3, "us")
    } else {
        (nanos as f64 / 1e6, "ms")
    };
    let text = fixed(whole, 3);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats a time for a profile.
pub(super) fn time(span: Span) -> String {
    format!("\"{}\"", bare(span))
}

/// Formats a varying time for a profile. A spread below a thousandth is left out.
pub(super) fn around(samples: &Samples) -> Option<String> {
    let typical = samples.median().filter(|typical| *typical > Span::ZERO)?;
    let spread = samples.spread().min(typical);
    if spread < typical.scaled(0.001) {
        return Some(time(typical));
    }
    Some(format!("\"{} ± {}\"", bare(typical), bare(spread)))
}

/// Formats a number of bytes for comments.
pub(super) fn bytes(bytes: u64) -> String {
    Bytes::new(bytes).to_string()
}
