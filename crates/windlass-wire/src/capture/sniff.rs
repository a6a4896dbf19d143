//! Detection of a capture's format by its first bytes.

use super::foreign::{self, ForeignFormat, Recognition};
use super::{pcap, snoop};
use crate::text::UnusableLines;

/// Number of bytes that tell text from a file that is no capture. A shorter input is judged when
/// its end is known, so the answer never depends on how the bytes arrive.
const TEXT_SAMPLE: usize = 64;

/// Format by the first bytes of a stream.
pub(super) enum SniffResult {
    /// Too few bytes; the decision needs this many.
    More(usize),
    /// A pcap file header.
    Pcap,
    /// A pcapng section header.
    Pcapng,
    /// A snoop file header.
    Snoop,
    /// A format that is recognised but not read.
    Foreign(ForeignFormat),
    /// Possibly text of tcpdump.
    Text,
    /// No capture, with the reason.
    Unknown(String),
}

/// Detects the format by the first bytes of a stream.
pub(super) fn sniff(input: &[u8], at_end: bool) -> SniffResult {
    if let Some(magic) = input.first_chunk::<4>() {
        // The type of the Section Header Block reads the same in either byte order.
        if *magic == [0x0a, 0x0d, 0x0d, 0x0a] {
            return SniffResult::Pcapng;
        }
        if pcap::Layout::by_magic(*magic).is_some() {
            return SniffResult::Pcap;
        }
    } else if !at_end {
        return SniffResult::More(4);
    }
    if input.is_empty() {
        return SniffResult::Unknown("the input is empty".to_owned());
    }
    if let Some(magic) = input.first_chunk::<8>() {
        if *magic == snoop::MAGIC {
            return SniffResult::Snoop;
        }
    } else if !at_end {
        return SniffResult::More(8);
    }
    match foreign::recognise(input, at_end) {
        Recognition::Yes(foreign) => return SniffResult::Foreign(foreign),
        Recognition::More(wanted) => return SniffResult::More(wanted),
        Recognition::No => {}
    }
    let sample = &input[..input.len().min(TEXT_SAMPLE)];
    if sample.len() < TEXT_SAMPLE && !at_end {
        return SniffResult::More(TEXT_SAMPLE);
    }
    let text =
        |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x20..=0x7e | 0x80..);
    if sample.iter().all(text) {
        SniffResult::Text
    } else {
        SniffResult::Unknown(not_a_capture(sample))
    }
}

/// List of the readable formats, for messages.
const READABLE: &str = "windlass reads pcap, pcapng, snoop and the text that tcpdump prints, each \
                        plain, packed with gzip or zstd, or in a tar or zip";

/// Describes these first bytes, which are no capture, and lists the readable formats.
fn not_a_capture(first: &[u8]) -> String {
    format!("this is no capture: its first bytes are {}. {READABLE}", shown(first))
}

/// Says that a text with these first bytes has no usable segment, and lists the readable formats.
pub(super) fn no_segment(first: &[u8], unusable: Option<UnusableLines>) -> String {
    let lack = "neither sequence numbers nor ACK numbers nor windows, and without them the limit \
                of a transfer does not show";
    match unusable {
        Some(UnusableLines::Quiet) => {
            return format!(
                "this text was printed with tcpdump's -q, so it has {lack}. Print it without -q, \
                 or write the packets into a file with -w"
            );
        }
        Some(UnusableLines::Drawn) => {
            return format!("this text shows segments as arrows, so it has {lack}. {READABLE}");
        }
        None => {}
    }
    format!(
        "no line of this text is a TCP segment as tcpdump prints it; its first bytes are {}. \
         {READABLE}",
        shown(first)
    )
}

/// Shows a few bytes in hexadecimal, and as text if they are text.
fn shown(first: &[u8]) -> String {
    let first = &first[..first.len().min(8)];
    let hex: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    let hex = hex.join(" ");
    if first.iter().all(|byte| matches!(byte, 0x20..=0x7e)) {
        format!("{hex} (\"{}\")", String::from_utf8_lossy(first))
    } else {
        hex
    }
}
