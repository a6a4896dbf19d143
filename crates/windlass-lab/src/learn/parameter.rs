//! A parameter of a profile, with what it comes from.

use serde::Serialize;
use windlass_base::figures::fixed;
use windlass_base::{Bytes, Rate, Span};

use super::samples::Samples;

/// A parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Its table in the profile.
    pub table: &'static str,
    /// Its name.
    pub key: &'static str,
    /// Its value, as TOML; null where it is left at its default.
    pub value: Option<String>,
    /// How many samples it comes from.
    pub samples: u64,
    /// What it comes from, and how sure it is.
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

    /// What the capture does not show.
    pub(super) fn unseen(
        table: &'static str,
        key: &'static str,
        samples: u64,
        how: impl Into<String>,
    ) -> Self {
        Self { table, key, value: None, samples, how: how.into() }
    }
}

/// A size as a profile has it.
pub(super) fn size(bytes: u64) -> String {
    format!("\"{bytes}\"")
}

/// A rate as a profile has it.
pub(super) fn rate(rate: Rate) -> String {
    format!("\"{} B/s\"", fixed(rate.bytes_per_second().max(1.0), 0))
}

/// A time as a profile has it, without its quotes.
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

/// A time as a profile has it.
pub(super) fn time(span: Span) -> String {
    format!("\"{}\"", bare(span))
}

/// A time that varies, as a profile has it. A thousandth is left out.
pub(super) fn around(samples: &Samples) -> Option<String> {
    let typical = samples.median().filter(|typical| *typical > Span::ZERO)?;
    let spread = samples.spread().min(typical);
    if spread < typical.scaled(0.001) {
        return Some(time(typical));
    }
    Some(format!("\"{} ± {}\"", bare(typical), bare(spread)))
}

/// A number of bytes, for comments.
pub(super) fn bytes(bytes: u64) -> String {
    Bytes::new(bytes).to_string()
}
