//! Reads values of a command line: sizes, times, rates, shares and ranges of packets.
//!
//! A bare number is bytes, seconds, or bits per second, as with iperf3, ping and curl; `b` is a bit
//! and `B` a byte. Files and conditions must name the unit of each time and rate, as a guess there
//! could be wrong by a thousand. The message of each error says what is allowed.

use crate::{Bytes, Rate, Span, whole_part};

/// Forms of a size, for help texts.
pub const BYTES_HELP: &str = "2920, 2920B, 56kB (1000s), 64KiB or 64k (1024s)";
/// Forms of a time, for help texts.
pub const SPAN_HELP: &str = "117695us, 2.55ms, 0.5s, 2m or 2min, 1h";
/// Forms of a rate, for help texts.
pub const RATE_HELP: &str = "10MB/s, 1MiB/s, 100mbit or 100M, 1gbit, 1Gb/s, 56kbps";
/// Forms of a share, for help texts.
pub const SHARE_HELP: &str = "3.7% or 0.037";

/// Largest size accepted: 1 PB. No window or buffer comes near, and the results of every law still
/// fit their types.
const MAX_BYTES: f64 = 1e15;
/// Longest time accepted: ten days.
const LONGEST: f64 = 864_000.0;
/// Highest rate accepted: 10 TB/s.
const FASTEST: f64 = 1e13;
/// Lowest rate accepted: 1 bit/s.
const SLOWEST: f64 = 0.125;

/// Parses a size: a number with `B`, `kB`, `MB`, `GB` (1000s) or `KiB`, `MiB`, `GiB` (1024s).
/// Without a unit it is bytes. A bare `k`, `M` or `G` is 1024s, as for windows in iperf and in
/// socket options.
///
/// # Errors
/// Returns the allowed forms if `text` has none of them.
pub fn bytes(text: &str) -> Result<Bytes, String> {
    let allowed = || format!("write a size as {BYTES_HELP}");
    let (number, unit) = split(text).ok_or_else(allowed)?;
    // A `b` would be bits, and no size is written in bits.
    let (prefix, thousand) = match unit.strip_suffix('B') {
        Some(prefix) => (prefix, 1_000.0_f64),
        None => (unit, 1_024.0),
    };
    let (thousand, power) = match prefix.to_ascii_lowercase().as_str() {
        "" => (thousand, 0),
        "k" => (thousand, 1),
        "m" => (thousand, 2),
        "g" => (thousand, 3),
        "ki" => (1_024.0, 1),
        "mi" => (1_024.0, 2),
        "gi" => (1_024.0, 3),
        _ => return Err(allowed()),
    };
    if power == 0 && number.fract() != 0.0 {
        return Err(format!("a size is a whole number of bytes; {}", allowed()));
    }
    let scale = thousand.powi(power);
    let bytes = (number * scale).round();
    if bytes < 1.0 {
        return Err("the minimum size is 1 byte".to_owned());
    }
    if bytes > MAX_BYTES {
        return Err("the maximum size is 1000000GB".to_owned());
    }
    Ok(Bytes::new(whole_part(bytes)))
}

/// Returns what is allowed for a time.
fn allowed_spans() -> String {
    format!("write a time with its unit, as {SPAN_HELP}")
}

/// Returns what is allowed for a rate.
fn allowed_rates() -> String {
    format!("write a rate with its unit, as {RATE_HELP}")
}

/// Parses a time that names its unit.
///
/// # Errors
/// Returns the allowed forms if `text` has none of them.
pub fn span_with_unit(text: &str) -> Result<Span, String> {
    let has_unit = text.trim_end().ends_with(char::is_alphabetic);
    if has_unit { span(text) } else { Err(allowed_spans()) }
}

/// Parses a rate that names its unit.
///
/// # Errors
/// Returns the allowed forms if `text` has none of them.
pub fn rate_with_unit(text: &str) -> Result<Rate, String> {
    let has_unit = ["bit", "/s", "ps"].iter().any(|unit| text.trim_end().ends_with(unit));
    if has_unit { rate(text) } else { Err(allowed_rates()) }
}

/// Parses a time: a number with `ns`, `us` or `µs`, `ms`, `s`, `m` or `min`, or `h`. Without a unit
/// it is seconds.
///
/// # Errors
/// Returns the allowed forms if `text` has none of them.
pub fn span(text: &str) -> Result<Span, String> {
    let allowed = || format!("{}; a bare number is seconds", allowed_spans());
    let (number, unit) = split(text).ok_or_else(allowed)?;
    let scale = match unit {
        "ns" => 1e-9,
        // The micro sign and the Greek letter look the same.
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(allowed()),
    };
    let span = Span::from_seconds((number * scale).min(LONGEST * 2.0));
    if span <= Span::ZERO {
        return Err("the minimum time is 1ns".to_owned());
    }
    if span.as_seconds() > LONGEST {
        return Err("the maximum time is 240h".to_owned());
    }
    Ok(span)
}

/// Parses a rate: in bytes, `10MB/s` or `1MiB/s`; or in bits, `100mbit`, `1Gb/s`, `1Gbit/s` or
/// `56kbps`. Only `b` and `B` tell bits from bytes. A bare number, and one with `k`, `M`, `G` or
/// `T` alone, is bits per second.
///
/// # Errors
/// Returns the allowed forms if `text` has none of them.
pub fn rate(text: &str) -> Result<Rate, String> {
    let allowed = || format!("{}; a bare number is bit/s", allowed_rates());
    let (number, unit) = split(text).ok_or_else(allowed)?;
    let rate = number * rate_unit(unit).ok_or_else(allowed)?;
    if rate < SLOWEST {
        return Err("the minimum rate is 1bit/s".to_owned());
    }
    if rate > FASTEST {
        return Err("the maximum rate is 10000GB/s".to_owned());
    }
    Ok(Rate::from_bytes_per_second(rate))
}

/// Returns the bytes per second of one unit.
fn rate_unit(unit: &str) -> Option<f64> {
    let (prefix, of) = match unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")) {
        Some(per_second) => {
            let prefix = per_second.strip_suffix("bit").or_else(|| per_second.strip_suffix('b'));
            match prefix {
                Some(prefix) => (prefix, 0.125),
                None => (per_second.strip_suffix('B')?, 1.0),
            }
        }
        // `tc` writes rates as 100mbit.
        None => (unit.strip_suffix("bit").unwrap_or(unit), 0.125),
    };
    let scale = match prefix.to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1_024.0,
        "mi" => 1_048_576.0,
        "gi" => 1_073_741_824.0,
        _ => return None,
    };
    Some(scale * of)
}

/// Parses a share of a whole above zero: `3.7%`, or `0.037`. A bare number of 1 or more is refused,
/// as it is often a percentage that lost its sign.
///
/// # Errors
/// Returns the allowed forms if `text` has none of them.
pub fn share(text: &str) -> Result<f64, String> {
    let allowed = || format!("write a share as {SHARE_HELP}");
    let (number, unit) = split(text).ok_or_else(allowed)?;
    let share = match unit {
        "%" => number / 100.0,
        "" if number < 1.0 => number,
        "" => return Err(format!("write {number}% for a percentage, or a share below 1")),
        _ => return Err(allowed()),
    };
    // The laws square a share, so a smaller one becomes zero.
    if share < 1e-15 {
        return Err("a share is more than 0%".to_owned());
    }
    if share > 1.0 {
        return Err("the maximum share is 100%".to_owned());
    }
    Ok(share)
}

/// Packet numbers from the first to the last, both included, as in Wireshark: from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRange {
    /// The first packet.
    pub first: u64,
    /// The last packet; without it the range has no end.
    pub last: Option<u64>,
}

impl PacketRange {
    /// Returns whether the range holds a packet.
    pub fn contains(self, packet: u64) -> bool {
        packet >= self.first && self.last.is_none_or(|last| packet <= last)
    }
}

/// Parses a range of packets: `10..20`, `10..`, `..20`, or `10` alone.
///
/// # Errors
/// Returns the allowed forms if `text` has none of them.
pub fn packets(text: &str) -> Result<PacketRange, String> {
    let allowed = || "write packets as 10..20, 10.., ..20 or 10, from 1".to_owned();
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) if number > 0 && !text.starts_with('+') => Ok(number),
        _ => Err(allowed()),
    };
    let range = match text.split_once("..") {
        None => {
            let only = number(text)?;
            PacketRange { first: only, last: Some(only) }
        }
        Some(("", "")) => return Err(allowed()),
        Some(("", last)) => PacketRange { first: 1, last: Some(number(last)?) },
        Some((first, "")) => PacketRange { first: number(first)?, last: None },
        Some((first, last)) => PacketRange { first: number(first)?, last: Some(number(last)?) },
    };
    match range.last {
        Some(last) if last < range.first => {
            Err(format!("the range ends before it begins: write {last}..{}", range.first))
        }
        _ => Ok(range),
    }
}

/// Returns the number at the start of `text`, and the unit after it. Digits may be grouped with `_`
/// or `,` between them, as this program prints them, and a unit may stand apart.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | ',' | '_'))
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let whole = digits.split('.').next()?;
    let mut groups = whole.split([',', '_']);
    let head = groups.next()?;
    // 1,460 is a grouped number; 1,5 is a decimal comma and not taken.
    let grouped = whole.len() == head.len()
        || ((1..=3).contains(&head.len()) && groups.all(|group| group.len() == 3));
    if !grouped || digits[whole.len()..].contains([',', '_']) {
        return None;
    }
    let number: f64 = digits.replace([',', '_'], "").parse().ok()?;
    number.is_finite().then(|| (number, unit.trim_start()))
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
