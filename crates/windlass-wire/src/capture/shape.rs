//! Formats without a magic number, recognised by their shape. Each check depends only on the number
//! of first bytes that it asks for. So the answer is the same however the bytes arrive.

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShapeMatch {
    Yes,
    No,
    /// The decision needs this many bytes.
    More(usize),
}

/// Converts a condition to a result.
const fn told(is: bool) -> ShapeMatch {
    if is { ShapeMatch::Yes } else { ShapeMatch::No }
}

/// Asks for `count` bytes when fewer are there.
const fn wants(count: usize, at_end: bool) -> ShapeMatch {
    if at_end { ShapeMatch::No } else { ShapeMatch::More(count) }
}

fn number16(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Number of first bytes that tell text from binary data.
const SAMPLE: usize = 64;

/// Returns whether a zero byte is among the first [`SAMPLE`] bytes: then the file is no text.
fn has_zero(input: &[u8]) -> bool {
    input[..input.len().min(SAMPLE)].contains(&0)
}

/// Recognises POSIX's ustar: a member's name, then `ustar` at byte 257 (IEEE 1003.1, "pax").
pub(super) fn tar(input: &[u8], at_end: bool) -> ShapeMatch {
    const MAGIC: std::ops::Range<usize> = 257..262;
    if input.first() == Some(&0) || !has_zero(input) {
        return if input.len() < SAMPLE { wants(SAMPLE, at_end) } else { ShapeMatch::No };
    }
    match input.get(MAGIC) {
        Some(magic) => told(magic == b"ustar"),
        None => wants(MAGIC.end, at_end),
    }
}

/// Recognises Windows event traces. The header of the first buffer has 72 bytes and begins with its
/// size. The first event begins with a marker: its last byte is 0xc0, and its third byte tells 32
/// bits from 64 (Microsoft's `evntrace.h`; Geoff Chappell, "`TRACE_LOGFILE_HEADER`").
pub(super) fn etl(input: &[u8], at_end: bool) -> ShapeMatch {
    const MARKER: usize = 72;
    const UNIT: u32 = 1_024;
    const MAX: u32 = 16 << 20;
    let Some(size) = number32(input, 0) else { return wants(4, at_end) };
    if size == 0 || size % UNIT != 0 || size > MAX {
        return ShapeMatch::No;
    }
    match input.get(MARKER..MARKER + 4) {
        Some(marker) => told(matches!(marker, [1 | 2, 0, 1 | 2, 0xc0])),
        None => wants(MARKER + 4, at_end),
    }
}

/// Recognises Novell's `LANalyzer`: records with a type and a length. The first type is 0x1001 or
/// 0x1007, and a type of the same range follows.
pub(super) fn lanalyzer(input: &[u8], at_end: bool) -> ShapeMatch {
    const MAX: usize = 1_024;
    let (Some(kind), Some(length)) = (number16(input, 0), number16(input, 2)) else {
        return wants(4, at_end);
    };
    if !matches!(kind, 0x1001 | 0x1007) || length > MAX {
        return ShapeMatch::No;
    }
    match number16(input, 4 + length) {
        Some(next) => told(next >> 8 == 0x10),
        None => wants(4 + length + 2, at_end),
    }
}

/// Recognises Citrix's `NetScaler`, whose first record holds a signature in words.
pub(super) fn netscaler(input: &[u8], at_end: bool) -> ShapeMatch {
    const WITHIN: usize = 128;
    const WORDS: &[u8] = b" Performance Data";
    // Possible text is decided at once, without waiting for more bytes.
    if !has_zero(input) {
        return if input.len() < SAMPLE { wants(SAMPLE, at_end) } else { ShapeMatch::No };
    }
    if input.len() < WITHIN && !at_end {
        return ShapeMatch::More(WITHIN);
    }
    let head = &input[..input.len().min(WITHIN)];
    let says = |words: &[u8]| head.windows(words.len()).any(|window| window == words);
    told(says(WORDS) && (says(b"NetScaler") || says(b"Netscaler")))
}

/// Recognises `EtherPeek` and `AiroPeek` before their tagged format. A version from 5 to 7 comes
/// first; `EtherHelp` sets its highest bit. Twelve big-endian numbers of four bytes follow. The
/// sixth and seventh state the medium: both are 0, or one of them is 1. The last three are 0.
pub(super) fn peek_classic(input: &[u8], at_end: bool) -> ShapeMatch {
    const HEADER: usize = 50;
    match input.first() {
        Some(version) if matches!(version & 0x7f, 5..=7) => {}
        Some(_) => return ShapeMatch::No,
        None => return wants(1, at_end),
    }
    let Some(header) = input.first_chunk::<HEADER>() else {
        return wants(HEADER, at_end);
    };
    let number = |place: usize| {
        let at = 2 + place * 4;
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let (medium, kind) = (number(5), number(6));
    // Dates count from 1904; the first such program appeared in 1990.
    let is_dated = number(2) > 86 * 365 * 86_400;
    let is_known = matches!((medium, kind), (0 | 1, 0) | (0, 1));
    let is_long = number(0) as usize >= HEADER;
    told(is_known && is_dated && is_long && (9..12).all(|place| number(place) == 0))
}

/// Recognises both formats of `TamoSoft`'s `CommView`. They have no file header. Each record begins
/// with a length, a date and a time as separate numbers ("`CommView` Log Files Format").
pub(super) fn commview(input: &[u8], at_end: bool) -> ShapeMatch {
    let is_date = |bytes: &[u8]| {
        let year = usize::from(bytes[0]) | usize::from(bytes[1]) << 8;
        (1998..2100).contains(&year)
            && (1..=12).contains(&bytes[2])
            && (1..=31).contains(&bytes[3])
            && bytes[4] < 24
            && bytes[5] < 60
            && bytes[6] <= 60
    };
    let micros = |bytes: &[u8]| number32(bytes, 0).is_some_and(|micros| micros < 1_000_000);
    // NCF: two lengths, version 0, date, time, flags and seven bytes of the radio.
    let old = |head: &[u8]| {
        let whole = number16(head, 0)? + 24;
        let is = head[4] == 0 && is_date(&head[5..]) && micros(&head[12..]) && head[16] & 0x8f <= 2;
        is.then_some(whole)
    };
    // NCFX: one length, date, time, a medium and four bytes.
    let new = |head: &[u8]| {
        let whole = number32(head, 0).filter(|length| *length <= 65_535)? as usize + 20;
        (is_date(&head[4..]) && micros(&head[11..]) && head[15] <= 1).then_some(whole)
    };
    let follow = |record: &dyn Fn(&[u8]) -> Option<usize>| {
        let Some(first) = input.get(..24) else { return wants(24, at_end) };
        let Some(whole) = record(first) else { return ShapeMatch::No };
        if input.len() == whole && at_end {
            return ShapeMatch::Yes;
        }
        match input.get(whole..whole + 24) {
            Some(second) => told(record(second).is_some()),
            None => wants(whole + 24, at_end),
        }
    };
    match (follow(&old), follow(&new)) {
        (ShapeMatch::Yes, _) | (_, ShapeMatch::Yes) => ShapeMatch::Yes,
        (ShapeMatch::More(one), ShapeMatch::More(other)) => ShapeMatch::More(one.max(other)),
        (ShapeMatch::More(more), _) | (_, ShapeMatch::More(more)) => ShapeMatch::More(more),
        (ShapeMatch::No, ShapeMatch::No) => ShapeMatch::No,
    }
}

/// Recognises Endace's ERF ("ERF Types Reference Guide"), which has records but no file header.
/// Each record has a time (32 bits of fraction and of seconds, little-endian), a type, flags, its
/// length, a loss counter, and the packet's length. Several consecutive records must be valid and
/// in the order of time.
pub(super) fn erf(input: &[u8], at_end: bool) -> ShapeMatch {
    const HEADER: usize = 16;
    const RECORDS: usize = 4;
    /// Maximum number of records checked, including padding.
    const LOOKED_AT: usize = 16;
    const PAD: u8 = 48;
    /// The year 1990 in seconds; Endace's first card appeared in 1996.
    const FIRST: u32 = 631_152_000;
    const YEAR: u32 = 366 * 86_400;
    let (mut at, mut good) = (0, 0);
    let mut before: Option<u32> = None;
    for _ in 0..LOOKED_AT {
        if good == RECORDS {
            break;
        }
        let rest = input.get(at..).unwrap_or_default();
        let Some(header) = rest.first_chunk::<HEADER>() else {
            if !at_end {
                return ShapeMatch::More(at + HEADER);
            }
            // A short file ends at a record's end or within the last record.
            return told(good > 2 || (good > 0 && rest.is_empty() && at == input.len()));
        };
        let (kind, length) =
            (header[8] & 0x7f, usize::from(u16::from_be_bytes([header[10], header[11]])));
        let seconds = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        if !matches!(kind, 1..=29 | PAD) || length < HEADER {
            return ShapeMatch::No;
        }
        if kind != PAD {
            // The clocks of a card's interfaces may differ by some seconds.
            let in_order = before.is_none_or(|before| {
                seconds.saturating_add(1) >= before && seconds - before.min(seconds) < YEAR
            });
            if seconds < FIRST || !in_order {
                return ShapeMatch::No;
            }
            before = Some(seconds);
            good += 1;
        } else if before.is_none() {
            return ShapeMatch::No;
        }
        at += length;
    }
    told(good == RECORDS)
}

/// Recognises a browser's HTTP archive ("HAR 1.2 Spec"): an object whose first member is `log`.
pub(super) fn har(input: &[u8], at_end: bool) -> ShapeMatch {
    first_member(input, at_end, b"\"log\"")
}

/// Recognises the log of Chromium's network stack: an object whose first member is `constants`.
pub(super) fn netlog(input: &[u8], at_end: bool) -> ShapeMatch {
    first_member(input, at_end, b"\"constants\"")
}

/// Checks whether JSON begins with an object whose first member has this name.
fn first_member(input: &[u8], at_end: bool, name: &[u8]) -> ShapeMatch {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let sample = &input[..input.len().min(SAMPLE)];
    let sample = match sample.strip_prefix(BYTE_ORDER_MARK) {
        Some(after) => after,
        None if BYTE_ORDER_MARK.starts_with(sample) => return wants(4, at_end),
        None => sample,
    };
    let inside = match sample.trim_ascii_start() {
        [b'{', inside @ ..] => inside.trim_ascii_start(),
        [] => &[],
        _ => return ShapeMatch::No,
    };
    if inside.starts_with(name) {
        return ShapeMatch::Yes;
    }
    if name.starts_with(inside) && input.len() < SAMPLE {
        wants(SAMPLE, at_end)
    } else {
        ShapeMatch::No
    }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
