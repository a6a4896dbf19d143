//! Numbers as people read them, where a type's own `Display` is not enough.

use std::fmt;

use crate::digits::{grouped, trimmed};
use crate::units::with_prefix;
use crate::{Bytes, Span};

/// A count, with thousands separated: `1,122,765`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u64);

/// A size in units of 1,024: `4 MiB`, `304 KiB`; and in bytes if it is no whole number of these:
/// `56,000 B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub Bytes);

/// A size in three figures, as on an axis: `22.2 MB`, `500 kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoughSize(pub Bytes);

/// A count with its noun: `1 packet`, `2 packets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemCount<'a>(pub u64, pub &'a str);

/// A rate of things: `12,288 packets/s`, `0.25 packets/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerSecond<'a>(pub f64, pub &'a str);

/// A number without its fraction: `12,288`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WholeNumber(pub f64);

/// A share of a whole: `81 %`, `<1 %` for a small share, and `>99 %` for almost all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

/// A small share with three significant figures: `3.7 %`, `0.00012 %`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FineShare(pub f64);

/// A share with this many decimal places: `3.70 %`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64, pub usize);

/// The relative difference of one value from another: `+3.3 %`, `-0.6 %`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference(pub f64);

/// A span to its last nanosecond, in a fitting unit: `117.695 ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactSpan(pub Span);

/// Formats a number with this many decimal places: `0.998`. This is the one way to format a
/// fraction that has no figure of its own.
pub fn fixed(value: f64, places: usize) -> String {
    format!("{value:.places$}")
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&grouped(self.0))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KIB: u64 = 1 << 10;
        const MIB: u64 = 1 << 20;
        match self.0.get() {
            size if size >= MIB && size % MIB == 0 => f.pad(&format!("{} MiB", Count(size / MIB))),
            size if size >= KIB && size % KIB == 0 => f.pad(&format!("{} KiB", Count(size / KIB))),
            _ => self.0.fmt(f),
        }
    }
}

impl fmt::Display for RoughSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_prefix(self.0.get() as f64, "B"))
    }
}

impl fmt::Display for ItemCount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, noun) = self;
        let plural = if *number == 1 { "" } else { "s" };
        f.pad(&format!("{} {noun}{plural}", Count(*number)))
    }
}

impl fmt::Display for PerSecond<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(rate, noun) = *self;
        let number =
            if rate >= 100.0 { WholeNumber(rate).to_string() } else { trimmed(rate.max(0.0), 2) };
        f.pad(&format!("{number} {noun}s/s"))
    }
}

impl fmt::Display for WholeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:.0}", self.0.clamp(0.0, 1e18));
        Count(digits.parse().unwrap_or(0)).fmt(f)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self.0 * 100.0 {
            part if part <= 0.0 || part.is_nan() => "0 %".to_owned(),
            part if part < 1.0 => "<1 %".to_owned(),
            part if part > 99.0 && part < 100.0 => ">99 %".to_owned(),
            part => format!("{part:.0} %"),
        })
    }
}

impl fmt::Display for FineShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.0 * 100.0;
        if !part.is_normal() {
            return f.pad("0 %");
        }
        if part < 1e-9 {
            return f.pad(&format!("{part:.2e} %"));
        }
        let mut places = 0;
        let mut scale = part.abs();
        while scale < 100.0 && places < 11 {
            scale *= 10.0;
            places += 1;
        }
        f.pad(&format!("{} %", trimmed(part, places)))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(share, places) = *self;
        f.pad(&format!("{:.places$} %", share * 100.0))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.0 * 100.0;
        let places = usize::from(part.abs() < 99.95);
        // A difference that rounds to zero has no sign.
        let text = format!("{part:+.places$} %");
        f.pad(if part.abs() < 0.05 { "0.0 %" } else { &text })
    }
}

impl fmt::Display for ExactSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, places, scale) = match self.0.as_nanos().unsigned_abs() {
            1..1_000 => ("ns", 0, 1.0),
            1_000..1_000_000 => ("µs", 3, 1e3),
            1_000_000..1_000_000_000 => ("ms", 6, 1e6),
            _ => ("s", 9, 1e9),
        };
        f.pad(&format!("{} {unit}", trimmed(self.0.as_nanos() as f64 / scale, places)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_shares() {
        assert_eq!(Count(1_122_765).to_string(), "1,122,765");
        assert_eq!(ItemCount(1, "packet").to_string(), "1 packet");
        assert_eq!(ItemCount(1_200, "packet").to_string(), "1,200 packets");
        let read = |share| Share(share).to_string();
        assert_eq!([read(0.0), read(0.002), read(0.814)], ["0 %", "<1 %", "81 %"]);
        assert_eq!([read(0.996), read(1.0)], [">99 %", "100 %"]);
        let read = |share| Difference(share).to_string();
        assert_eq!([read(0.0334), read(-0.0004)], ["+3.3 %", "0.0 %"]);
        assert_eq!([read(-0.0061), read(1.5)], ["-0.6 %", "+150 %"]);
        let read = |share| FineShare(share).to_string();
        assert_eq!([read(0.037), read(1.0)], ["3.7 %", "100 %"]);
        assert_eq!([read(0.000_001_2), read(3e-14)], ["0.00012 %", "3.00e-12 %"]);
        let read = |rate| PerSecond(rate, "packet").to_string();
        assert_eq!([read(12_288.2), read(0.25)], ["12,288 packets/s", "0.25 packets/s"]);
    }

    #[test]
    fn sizes_are_whole_or_exact() {
        let read = |size| Size(Bytes::new(size)).to_string();
        assert_eq!([read(4 << 20), read(57_344)], ["4 MiB", "56 KiB"]);
        assert_eq!([read(1_218 << 10), read(56_000)], ["1,218 KiB", "56,000 B"]);
        assert_eq!([read(512), read(0)], ["512 B", "0 B"]);
    }

    #[test]
    fn exact_spans_keep_every_digit() {
        let read = |span| ExactSpan(span).to_string();
        assert_eq!(read(Span::from_micros(117_695)), "117.695 ms");
        assert_eq!(read(Span::from_micros(2_550)), "2.55 ms");
        assert_eq!(read(Span::from_millis(500)), "500 ms");
        assert_eq!(read(Span::from_seconds(90.0)), "90 s");
        assert_eq!(read(Span::from_nanos(7)), "7 ns");
        assert_eq!(read(Span::ZERO), "0 s");
    }
}
