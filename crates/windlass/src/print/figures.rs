//! Numbers as people read them, where a type's own `Display` is not enough.

use windlass_base::{Bytes, Rate, Span};

use super::Text;

/// A count, with thousands separated: `1,122,765`.
#[must_use]
pub fn count(count: u64) -> String {
    let bytes = Bytes::new(count).to_string();
    bytes.trim_end_matches(" B").to_owned()
}

/// A size as people set it: `4 MiB`, `304 KiB`, and to the byte where it is no
/// whole number of these: `56,000 B`.
#[must_use]
pub fn size(bytes: Bytes) -> Text {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes.get() {
        size if size >= MIB && size % MIB == 0 => {
            Text::whole(&format!("{} MiB", count(size / MIB)))
        }
        size if size >= KIB && size % KIB == 0 => {
            Text::whole(&format!("{} KiB", count(size / KIB)))
        }
        _ => bytes.into(),
    }
}

/// A count with its noun: `1 packet`, `2 packets`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> Text {
    let plural = if number == 1 { "" } else { "s" };
    Text::whole(&format!("{} {noun}{plural}", count(number)))
}

/// How many there are in a second: `12,288 packets/s`, `0.25 packets/s`.
#[must_use]
pub fn per_second(rate: f64, noun: &str) -> Text {
    let number = if rate >= 100.0 { whole(rate).plain() } else { trimmed(rate.max(0.0), 2) };
    Text::whole(&format!("{number} {noun}s/s"))
}

/// A number without its fraction: `12,288`.
#[must_use]
pub fn whole(value: f64) -> Text {
    let digits = format!("{:.0}", value.clamp(0.0, 1e18));
    Text::from(count(digits.parse().unwrap_or(0)).as_str())
}

/// A share of a whole: `81 %`, and `<1 %` for what is there but small.
#[must_use]
pub fn percent(share: f64) -> Text {
    Text::whole(&match share * 100.0 {
        part if part <= 0.0 || part.is_nan() => "0 %".to_owned(),
        part if part < 1.0 => "<1 %".to_owned(),
        part if part > 99.0 && part < 100.0 => ">99 %".to_owned(),
        part => format!("{part:.0} %"),
    })
}

/// A small share with as many places as it takes for three figures: `3.7 %`,
/// `0.00012 %`.
#[must_use]
pub fn fine_percent(share: f64) -> Text {
    let part = share * 100.0;
    if !part.is_normal() {
        return Text::whole("0 %");
    }
    if part < 1e-9 {
        return Text::whole(&format!("{part:.2e} %"));
    }
    let mut places = 0;
    let mut scale = part.abs();
    while scale < 100.0 && places < 11 {
        scale *= 10.0;
        places += 1;
    }
    Text::whole(&format!("{} %", trimmed(part, places)))
}

/// How far something lies above or below something else, as a share of that:
/// `+3.3 %`, `-0.6 %`.
#[must_use]
pub fn difference(share: f64) -> Text {
    let part = share * 100.0;
    let places = usize::from(part.abs() < 99.95);
    // Where nothing is left of it there is no sign either.
    let text = format!("{part:+.places$} %");
    Text::whole(if part.abs() < 0.05 { "0.0 %" } else { &text })
}

/// A rate in bytes and in bits: `24.8 kB/s = 198.4 kbit/s`.
#[must_use]
pub fn both(rate: Rate) -> Text {
    Text::from(rate).and(" = ").and(rate.in_bits())
}

/// A span to its last nanosecond, in the unit that suits: `117.695 ms`.
#[must_use]
pub fn exact(span: Span) -> Text {
    let (unit, places, scale) = match span.as_nanos().unsigned_abs() {
        1..1_000 => ("ns", 0, 1.0),
        1_000..1_000_000 => ("µs", 3, 1e3),
        1_000_000..1_000_000_000 => ("ms", 6, 1e6),
        _ => ("s", 9, 1e9),
    };
    let number = trimmed(span.as_nanos() as f64 / scale, places);
    Text::whole(&format!("{number} {unit}"))
}

/// A number with at most so many places, without zeros at its end.
fn trimmed(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_shares() {
        assert_eq!(count(1_122_765), "1,122,765");
        assert_eq!(counted(1, "packet").plain(), "1 packet");
        assert_eq!(counted(1_200, "packet").plain(), "1,200 packets");
        assert_eq!(percent(0.0).plain(), "0 %");
        assert_eq!(percent(0.002).plain(), "<1 %");
        assert_eq!(percent(0.814).plain(), "81 %");
        assert_eq!(percent(0.996).plain(), ">99 %");
        assert_eq!(percent(1.0).plain(), "100 %");
        assert_eq!(difference(0.0334).plain(), "+3.3 %");
        assert_eq!(difference(-0.0004).plain(), "0.0 %");
        assert_eq!(difference(-0.0061).plain(), "-0.6 %");
        assert_eq!(difference(1.5).plain(), "+150 %");
        assert_eq!(fine_percent(0.037).plain(), "3.7 %");
        assert_eq!(fine_percent(1.0).plain(), "100 %");
        assert_eq!(fine_percent(0.000_001_2).plain(), "0.00012 %");
        assert_eq!(fine_percent(3e-14).plain(), "3.00e-12 %");
    }

    #[test]
    fn sizes_are_whole_or_exact() {
        assert_eq!(size(Bytes::new(4 << 20)).plain(), "4 MiB");
        assert_eq!(size(Bytes::new(57_344)).plain(), "56 KiB");
        assert_eq!(size(Bytes::new(1_218 << 10)).plain(), "1,218 KiB");
        assert_eq!(size(Bytes::new(56_000)).plain(), "56,000 B");
        assert_eq!(size(Bytes::new(512)).plain(), "512 B");
        assert_eq!(size(Bytes::ZERO).plain(), "0 B");
    }

    #[test]
    fn exact_spans_keep_every_digit() {
        assert_eq!(exact(Span::from_micros(117_695)).plain(), "117.695 ms");
        assert_eq!(exact(Span::from_micros(2_550)).plain(), "2.55 ms");
        assert_eq!(exact(Span::from_millis(500)).plain(), "500 ms");
        assert_eq!(exact(Span::from_seconds(90.0)).plain(), "90 s");
        assert_eq!(exact(Span::from_nanos(7)).plain(), "7 ns");
        assert_eq!(exact(Span::ZERO).plain(), "0 s");
    }

    #[test]
    fn a_rate_reads_both_ways() {
        let rate = Rate::from_bytes_per_second(24_801.0);
        assert_eq!(both(rate).plain(), "24.8 kB/s = 198.4 kbit/s");
    }
}
