//! One line of tcpdump's text.

use super::UnusableLines;
use super::time::{self, PrintedTime};
use crate::{Flags, Options, SackBlocks, SequenceRange};

/// A line that begins a packet.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) stamp: PrintedTime,
    pub(super) kind: LineKind<'a>,
}

/// Content of a packet's line.
#[derive(Debug)]
pub(super) enum LineKind<'a> {
    /// A TCP segment.
    Segment(PrintedSegment<'a>),
    /// An IPv4 header, as `-v` prints it, with the rest in the next line.
    Header(Ip),
    /// Anything else.
    Other,
}

/// Printed fields of the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ip {
    pub(super) identification: Option<u16>,
    pub(super) hop_limit: u8,
}

/// A segment as printed: its numbers may be relative.
#[derive(Debug)]
pub(super) struct PrintedSegment<'a> {
    pub(super) source: &'a str,
    pub(super) destination: &'a str,
    pub(super) flags: Flags,
    pub(super) sequence: Option<u32>,
    pub(super) acknowledgment: Option<u32>,
    pub(super) window: u16,
    pub(super) payload: u32,
    pub(super) options: Options,
    pub(super) ip: Ip,
}

/// Reads a line that may begin a packet.
pub(super) fn parse(text: &str) -> Option<Line<'_>> {
    let trimmed = without_number(text.trim_start());
    if let Some((stamp, body)) = time::split(trimmed) {
        // A time of day is proof enough. A mere number may begin any line.
        let of_day = trimmed[..trimmed.len() - body.len()].contains(':');
        let kind = body_of(body)
            .or_else(|| (of_day || looks_like_packet(body)).then_some(LineKind::Other))?;
        return Some(Line { stamp, kind });
    }
    // Without a time, a packet stands at the very front.
    if trimmed.len() != text.len() {
        return None;
    }
    let kind = body_of(text).or_else(|| {
        // tcpdump 4 prints this text instead of a packet whose lengths contradict each other.
        let refused = text.starts_with("[Invalid header: ");
        (refused || begins_with_protocol(text)).then_some(LineKind::Other)
    })?;
    Some(Line { stamp: PrintedTime::Missing, kind })
}

/// Returns the reason for which a line describes a segment and is unusable.
pub(super) fn unusable(text: &str) -> Option<UnusableLines> {
    if is_quiet(text) {
        Some(UnusableLines::Quiet)
    } else if is_drawn(text) {
        Some(UnusableLines::Drawn)
    } else {
        None
    }
}

/// Returns whether the line is a segment that tcpdump printed with `-q`: `a > b: tcp 1448`.
fn is_quiet(text: &str) -> bool {
    let Some((_, _, rest)) = ends(text) else { return false };
    let length = rest.trim_start().strip_prefix("tcp ");
    let length = length.and_then(|rest| rest.split(' ').next());
    length.is_some_and(|length| length.parse::<u32>().is_ok())
}

/// Returns whether the line is a drawn segment: a time and an arrow.
fn is_drawn(text: &str) -> bool {
    let has_time = text.trim_start().starts_with(|first: char| first.is_ascii_digit());
    has_time && (text.contains("-->") || text.contains("<--"))
}

/// Removes the packet's number before its time (`--number`). It counts printed packets, as the
/// reader does itself.
fn without_number(text: &str) -> &str {
    match text.split_once("  ") {
        Some((number, rest))
            if number.bytes().all(|byte| byte.is_ascii_digit()) && time::split(rest).is_some() =>
        {
            rest
        }
        _ => text,
    }
}

/// Reads the second line of a packet.
pub(super) fn parse_inner(text: &str) -> Option<LineKind<'_>> {
    body_of(text)
}

fn body_of(body: &str) -> Option<LineKind<'_>> {
    if let Some(printed) = modern(body).or_else(|| old(body)) {
        return Some(LineKind::Segment(printed));
    }
    let header = body.find("(tos 0x")?;
    body.ends_with(')').then(|| LineKind::Header(ip_of(&body[header..])))
}

/// First words of packets that are not TCP, or that are incomplete because of `-q` or a snap
/// length.
const PROTOCOLS: [&str; 12] =
    ["IP", "IP6", "ARP,", "arp", "RARP,", "rarp", "PPPoE", "AF", "802.1Q", "LLDP,", "STP", "MPLS"];

fn begins_with_protocol(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or_default();
    PROTOCOLS.contains(&first)
        && (text.contains(" > ") || text.contains(": ") || text.contains(", "))
}

fn looks_like_packet(body: &str) -> bool {
    let mut words = body.split_ascii_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    PROTOCOLS.contains(&first)
        // Direction printed with `-i any`.
        || matches!(second, "In" | "Out" | "B" | "M" | "P")
        // `a > b:`, and a link address with `-e`.
        || ends(body).is_some()
        || (first.len() == 17 && first.bytes().filter(|byte| *byte == b':').count() == 5)
}

/// Maximum arrows of a line that are tried as `a > b:`. tcpdump prints one or two; a hostile line
/// may have thousands.
const MAX_ARROWS: usize = 8;

/// Splits a line at the first `a > b: rest`.
fn ends(body: &str) -> Option<(&str, &str, &str)> {
    body.match_indices(" > ")
        .take(MAX_ARROWS)
        .find_map(|(at, arrow)| ends_at(body, at, at + arrow.len()))
}

fn ends_at(body: &str, before: usize, after: usize) -> Option<(&str, &str, &str)> {
    let source = body[..before].rsplit(' ').next()?;
    let (destination, rest) = body[after..].split_once(':')?;
    // An IPv6 address contains colons; a blank follows the colon that ends it.
    let (destination, rest) = match rest.strip_prefix(' ') {
        Some(rest) => (destination, rest),
        None => body[after..].split_once(": ")?,
    };
    let whole = !source.is_empty() && !destination.is_empty() && !destination.contains(' ');
    whole.then_some((source, destination, rest))
}

/// Returns the number behind `key`.
fn field<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    let (_, rest) = text.split_once(key)?;
    number(rest).map(|(value, _)| value)
}

/// Splits the number off that `text` begins with, and returns it with the rest.
fn number<T: std::str::FromStr>(text: &str) -> Option<(T, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// Reads the IP header: `(tos 0x0, ttl 64, id 2082, …)`, `(hlim 64, …)` or `(ttl 64, id 2082, …)`.
fn ip_of(text: &str) -> Ip {
    let hop_limit = field(text, "ttl ").or_else(|| field(text, "hlim ")).unwrap_or(0);
    Ip { identification: field(text, ", id "), hop_limit }
}

/// Reads a segment of tcpdump 4: `a.1 > b.2: Flags [P.], cksum 0x1234 (correct), seq 1:1449, ack 1,
/// win 63, options [nop,nop,TS val 2 ecr 1], length 1448: HTTP`.
fn modern(body: &str) -> Option<PrintedSegment<'_>> {
    let at = body.find(": Flags [")?;
    let arrow = body[..at].rfind(" > ")?;
    let source = body[..arrow].rsplit(' ').next().filter(|source| !source.is_empty())?;
    let destination = &body[arrow + 3..at];
    let (letters, mut rest) = body[at + 9..].split_once(']')?;

    let mut flags = flags_of(letters);
    let (mut sequence, mut end, mut acknowledgment) = (None, None, None);
    let (mut window, mut payload) = (None, None);
    let mut options = Options::default();
    while let Some(next) = rest.strip_prefix(", ") {
        let (key, value) = next.split_once(' ')?;
        rest = next.find(", ").map_or("", |comma| &next[comma..]);
        match key {
            "seq" => {
                let (first, after) = number(value)?;
                sequence = Some(first);
                end = after.strip_prefix(':').and_then(number).map(|(last, _)| last);
            }
            "ack" => acknowledgment = Some(number(value)?.0),
            "win" => window = Some(number(value)?.0),
            "urg" => flags = flags.with(Flags::URG),
            "options" => {
                let behind;
                (options, behind) = options_in(value.strip_prefix('[')?, ']');
                let Some(behind) = behind else { break };
                rest = behind;
            }
            "length" => {
                payload = Some(number(value)?.0);
                break;
            }
            _ => {}
        }
    }
    // A snap length may have cut the text behind the numbers.
    let by_range = || Some(u32::wrapping_sub(end?, sequence?));
    Some(PrintedSegment {
        source,
        destination,
        flags,
        sequence,
        acknowledgment,
        window: window?,
        payload: payload.or_else(by_range).unwrap_or(0),
        options,
        ip: ip_of(&body[..arrow]),
    })
}

/// Reads a segment of tcpdump 3: `a.1 > b.2: P 1:1449(1448) ack 1 win 63 <nop,nop,timestamp 2 1>
/// (DF)`, with `.` for no flag except ACK.
fn old(body: &str) -> Option<PrintedSegment<'_>> {
    body.match_indices(" > ").take(MAX_ARROWS).find_map(|(at, arrow)| {
        let (source, destination, rest) = ends_at(body, at, at + arrow.len())?;
        let printed = old_segment(source, destination, rest)?;
        let ip = if printed.ip.hop_limit == 0 { ip_of(&body[..at]) } else { printed.ip };
        Some(PrintedSegment { ip, ..printed })
    })
}

fn old_segment<'a>(
    source: &'a str,
    destination: &'a str,
    rest: &'a str,
) -> Option<PrintedSegment<'a>> {
    let (letters, mut rest) = rest.split_once(' ')?;
    let letters = letters.trim_end_matches(',');
    let known = |byte: u8| b"SFRPUEW.".contains(&byte);
    if letters.is_empty() || !letters.bytes().all(known) {
        return None;
    }
    // The dot stands for the absence of other flags there, not for ACK.
    let mut flags = flags_of(&letters.replace('.', ""));
    let (mut sequence, mut payload, mut acknowledgment, mut window) = (None, 0, None, None);
    let mut options = Options::default();
    loop {
        rest = rest.trim_start();
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = match word {
            "ack" => {
                let (value, after) = number(after)?;
                acknowledgment = Some(value);
                flags = flags.with(Flags::ACK);
                after
            }
            "win" => {
                let (value, after) = number(after)?;
                window = Some(value);
                after
            }
            "urg" => {
                flags = flags.with(Flags::URG);
                number::<u32>(after)?.1
            }
            _ if word.starts_with('<') => {
                (options, _) = options_in(&rest[1..], '>');
                break;
            }
            // The captured part ends here.
            _ if word.starts_with("[|") => break,
            // [tcp sum ok], [ECN-Echo,CWR], [bad tcp cksum 1234!].
            _ if word.starts_with('[') => {
                let (inside, after) = rest.split_once(']')?;
                if inside.contains("ECN-Echo") {
                    flags = flags.with(Flags::ECE);
                }
                if inside.contains("CWR") {
                    flags = flags.with(Flags::CWR);
                }
                after
            }
            // All relevant fields come before.
            _ if word.is_empty() || window.is_some() => break,
            _ => {
                if let Some((first, length)) = old_range(word) {
                    (sequence, payload) = (Some(first), length);
                }
                after
            }
        };
    }
    let ip = rest.rfind("(ttl ").map(|at| ip_of(&rest[at..])).unwrap_or_default();
    Some(PrintedSegment {
        source,
        destination,
        flags,
        sequence,
        acknowledgment,
        window: window?,
        payload,
        options,
        ip,
    })
}

/// Reads `1:1449(1448)`.
fn old_range(word: &str) -> Option<(u32, u32)> {
    let (first, rest) = number(word)?;
    let (_, rest) = number::<u32>(rest.strip_prefix(':')?)?;
    let (length, rest) = number(rest.strip_prefix('(')?)?;
    rest.starts_with(')').then_some((first, length))
}

fn flags_of(letters: &str) -> Flags {
    if letters == "none" {
        return Flags::default();
    }
    let of = |letter| Flags::LETTERS.into_iter().find(|(_, known)| *known == letter);
    letters.chars().filter_map(of).fold(Flags::default(), |flags, (flag, _)| flags.with(flag))
}

/// Reads a list of options up to its end. Returns the options and the text behind them; `None` for
/// the text if the snap length cut the list.
fn options_in(list: &str, end: char) -> (Options, Option<&str>) {
    let cut = list.find("[|").unwrap_or(list.len());
    match list[..cut].split_once(end) {
        Some((whole, _)) => (options_of(whole, false), Some(&list[whole.len() + 1..])),
        None => (options_of(&list[..cut], true), None),
    }
}

/// Reads `mss 1460,sackOK,TS val 2 ecr 1,nop,wscale 7,sack 1 {1:2}`, or tcpdump 3's `timestamp 2 1`
/// and `sack sack 1 {1:2}`.
fn options_of(list: &str, truncated: bool) -> Options {
    let mut options = Options { truncated, ..Options::default() };
    for option in list.split(',') {
        let option = option.trim();
        let (name, value) = option.split_once(' ').unwrap_or((option, ""));
        match name {
            "mss" => options.mss = number(value).map(|(mss, _)| mss),
            // RFC 7323 section 2.3.
            "wscale" => {
                options.window_scale = number::<u8>(value).map(|(shift, _)| shift.min(14));
            }
            "sackOK" => options.sack_permitted = true,
            "TS" => options.timestamps = field(value, "val ").zip(field(value, "ecr ")),
            "timestamp" => {
                options.timestamps = number(value)
                    .and_then(|(sent, rest)| Some((sent, number(rest.strip_prefix(' ')?)?.0)));
            }
            "sack" => options.sack = sack_of(value),
            "mptcp" => options.multipath = true,
            _ => {}
        }
    }
    options
}

fn sack_of(text: &str) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for block in text.split('{').skip(1) {
        let range = number(block).and_then(|(left, rest)| {
            Some(SequenceRange { left, right: number(rest.strip_prefix(':')?)?.0 })
        });
        if let Some(range) = range {
            sack.push(range);
        }
    }
    sack
}
