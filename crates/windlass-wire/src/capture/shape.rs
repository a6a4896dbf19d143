//! Formats that begin with no magic number, told by their shape. Each check
//! depends on as many first bytes as it asks for, so that the answer is the same
//! however they arrive.

/// What a check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Yes,
    No,
    /// So many bytes are needed to tell.
    More(usize),
}

/// Tells by a condition.
const fn told(is: bool) -> Told {
    if is { Told::Yes } else { Told::No }
}

/// Needs so many bytes, of which fewer are there.
const fn wants(count: usize, at_end: bool) -> Told {
    if at_end { Told::No } else { Told::More(count) }
}

fn number16(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Where text is told from what is none: the first so many bytes.
const SAMPLE: usize = 64;

/// Whether a zero byte stands among the first: then it is no text.
fn has_zero(input: &[u8]) -> bool {
    input[..input.len().min(SAMPLE)].contains(&0)
}

/// POSIX's ustar: a member's name, then `ustar` at byte 257 (IEEE 1003.1, "pax").
pub(super) fn tar(input: &[u8], at_end: bool) -> Told {
    const MAGIC: std::ops::Range<usize> = 257..262;
    if input.first() == Some(&0) || !has_zero(input) {
        return if input.len() < SAMPLE { wants(SAMPLE, at_end) } else { Told::No };
    }
    match input.get(MAGIC) {
        Some(magic) => told(magic == b"ustar"),
        None => wants(MAGIC.end, at_end),
    }
}

/// Windows' event traces: the first buffer's header has 72 bytes and begins with
/// its size; the first event's begins with its marker, whose last byte is 0xc0 and
/// whose third says whether it is of 32 or 64 bits (Microsoft's `evntrace.h`;
/// Geoff Chappell, "`TRACE_LOGFILE_HEADER`").
pub(super) fn etl(input: &[u8], at_end: bool) -> Told {
    const MARKER: usize = 72;
    const UNIT: u32 = 1_024;
    const MAX: u32 = 16 << 20;
    let Some(size) = number32(input, 0) else { return wants(4, at_end) };
    if size == 0 || size % UNIT != 0 || size > MAX {
        return Told::No;
    }
    match input.get(MARKER..MARKER + 4) {
        Some(marker) => told(matches!(marker, [1 | 2, 0, 1 | 2, 0xc0])),
        None => wants(MARKER + 4, at_end),
    }
}

/// Novell's `LANalyzer`: records of a type, 0x1001 or 0x1007 first, and a length; a
/// type of the same kind follows.
pub(super) fn lanalyzer(input: &[u8], at_end: bool) -> Told {
    const MAX: usize = 1_024;
    let (Some(kind), Some(length)) = (number16(input, 0), number16(input, 2)) else {
        return wants(4, at_end);
    };
    if !matches!(kind, 0x1001 | 0x1007) || length > MAX {
        return Told::No;
    }
    match number16(input, 4 + length) {
        Some(next) => told(next >> 8 == 0x10),
        None => wants(4 + length + 2, at_end),
    }
}

/// Citrix's `NetScaler`: the first record holds a signature in words.
pub(super) fn netscaler(input: &[u8], at_end: bool) -> Told {
    const WITHIN: usize = 128;
    const WORDS: &[u8] = b" Performance Data";
    // What may be text is not kept waiting.
    if !has_zero(input) {
        return if input.len() < SAMPLE { wants(SAMPLE, at_end) } else { Told::No };
    }
    if input.len() < WITHIN && !at_end {
        return Told::More(WITHIN);
    }
    let head = &input[..input.len().min(WITHIN)];
    let says = |words: &[u8]| head.windows(words.len()).any(|window| window == words);
    told(says(WORDS) && (says(b"NetScaler") || says(b"Netscaler")))
}

/// `EtherPeek` and `AiroPeek` before their tagged format: a version from 5 to 7, which
/// `EtherHelp` marks by the highest bit, then twelve numbers of four bytes, most
/// significant first. The sixth and seventh say what the medium is: 0 but for one of
/// them, which may be 1. The last three are 0.
pub(super) fn peek_classic(input: &[u8], at_end: bool) -> Told {
    const HEADER: usize = 50;
    match input.first() {
        Some(version) if matches!(version & 0x7f, 5..=7) => {}
        Some(_) => return Told::No,
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
    // Dates count from 1904; the first such program is of 1990.
    let is_dated = number(2) > 86 * 365 * 86_400;
    let is_known = matches!((medium, kind), (0 | 1, 0) | (0, 1));
    let is_long = number(0) as usize >= HEADER;
    told(is_known && is_dated && is_long && (9..12).all(|place| number(place) == 0))
}

/// `TamoSoft`'s `CommView`, both formats: no file header, but records that begin with a
/// length, a date and a time in numbers of their own ("`CommView` Log Files Format").
pub(super) fn commview(input: &[u8], at_end: bool) -> Told {
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
        let Some(whole) = record(first) else { return Told::No };
        if input.len() == whole && at_end {
            return Told::Yes;
        }
        match input.get(whole..whole + 24) {
            Some(second) => told(record(second).is_some()),
            None => wants(whole + 24, at_end),
        }
    };
    match (follow(&old), follow(&new)) {
        (Told::Yes, _) | (_, Told::Yes) => Told::Yes,
        (Told::More(one), Told::More(other)) => Told::More(one.max(other)),
        (Told::More(more), _) | (_, Told::More(more)) => Told::More(more),
        (Told::No, Told::No) => Told::No,
    }
}

/// Endace's ERF ("ERF Types Reference Guide"): records without a file header, each
/// with a time (32 bits of fraction and of seconds, least byte first), a type, flags,
/// its length, a loss counter, and the packet's length. Several in a row must be so,
/// in the order of time.
pub(super) fn erf(input: &[u8], at_end: bool) -> Told {
    const HEADER: usize = 16;
    const RECORDS: usize = 4;
    /// How many are looked at, padding among them.
    const LOOKED_AT: usize = 16;
    const PAD: u8 = 48;
    /// 1990; Endace's first card is of 1996.
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
                return Told::More(at + HEADER);
            }
            // The end of a short file, at a record's end or within the last.
            return told(good > 2 || (good > 0 && rest.is_empty() && at == input.len()));
        };
        let (kind, length) =
            (header[8] & 0x7f, usize::from(u16::from_be_bytes([header[10], header[11]])));
        let seconds = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        if !matches!(kind, 1..=29 | PAD) || length < HEADER {
            return Told::No;
        }
        if kind != PAD {
            // Interfaces of a card need not agree to the last second.
            let in_order = before.is_none_or(|before| {
                seconds.saturating_add(1) >= before && seconds - before.min(seconds) < YEAR
            });
            if seconds < FIRST || !in_order {
                return Told::No;
            }
            before = Some(seconds);
            good += 1;
        } else if before.is_none() {
            return Told::No;
        }
        at += length;
    }
    told(good == RECORDS)
}

/// A browser's HTTP archive ("HAR 1.2 Spec"): an object whose first member is `log`.
pub(super) fn har(input: &[u8], at_end: bool) -> Told {
    first_member(input, at_end, b"\"log\"")
}

/// The log of Chromium's network stack: an object whose first member is `constants`.
pub(super) fn netlog(input: &[u8], at_end: bool) -> Told {
    first_member(input, at_end, b"\"constants\"")
}

/// Whether JSON begins with an object whose first member has this name.
fn first_member(input: &[u8], at_end: bool, name: &[u8]) -> Told {
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
        _ => return Told::No,
    };
    if inside.starts_with(name) {
        return Told::Yes;
    }
    if name.starts_with(inside) && input.len() < SAMPLE { wants(SAMPLE, at_end) } else { Told::No }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
