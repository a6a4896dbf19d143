//! What the first bytes of a capture are.

use super::foreign::{self, Foreign, Recognised};
use super::{pcap, snoop};
use crate::text::Unusable;

/// The bytes that tell text from what is no capture. A shorter input is
/// judged when its end is known, so that the answer never depends on how the
/// bytes arrive.
const TEXT_SAMPLE: usize = 64;

/// What the first bytes say.
pub(super) enum Sniffed {
    /// Too few to tell; so many are needed.
    More(usize),
    /// A pcap file header.
    Pcap,
    /// A pcapng section header.
    Pcapng,
    /// A snoop file header.
    Snoop,
    /// A format that is known and not read.
    Foreign(Foreign),
    /// Something that may be tcpdump's text.
    Text,
    /// No capture, and why.
    Unknown(String),
}

/// Tells the format by the first bytes of a stream.
pub(super) fn sniff(input: &[u8], at_end: bool) -> Sniffed {
    if let Some(magic) = input.first_chunk::<4>() {
        // The Section Header Block's type reads the same in either order.
        if *magic == [0x0a, 0x0d, 0x0d, 0x0a] {
            return Sniffed::Pcapng;
        }
        if pcap::Layout::by_magic(*magic).is_some() {
            return Sniffed::Pcap;
        }
    } else if !at_end {
        return Sniffed::More(4);
    }
    if input.is_empty() {
        return Sniffed::Unknown("the input is empty".to_owned());
    }
    if let Some(magic) = input.first_chunk::<8>() {
        if *magic == snoop::MAGIC {
            return Sniffed::Snoop;
        }
    } else if !at_end {
        return Sniffed::More(8);
    }
    match foreign::recognise(input, at_end) {
        Recognised::Yes(foreign) => return Sniffed::Foreign(foreign),
        Recognised::More(wanted) => return Sniffed::More(wanted),
        Recognised::No => {}
    }
    let sample = &input[..input.len().min(TEXT_SAMPLE)];
    if sample.len() < TEXT_SAMPLE && !at_end {
        return Sniffed::More(TEXT_SAMPLE);
    }
    let text =
        |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x20..=0x7e | 0x80..);
    if sample.iter().all(text) { Sniffed::Text } else { Sniffed::Unknown(not_a_capture(sample)) }
}

/// What the messages offer instead.
const READABLE: &str = "What can be read: pcap, pcapng, snoop and the text that tcpdump prints, \
                        each plain, packed with gzip or zstd, or in a tar or zip";

/// Says that these first bytes are no capture, and what is.
fn not_a_capture(first: &[u8]) -> String {
    format!("this is no capture: its first bytes are {}. {READABLE}", shown(first))
}

/// Says that a text with these first bytes has nothing to use, and what has.
pub(super) fn no_segment(first: &[u8], unusable: Option<Unusable>) -> String {
    let lack = "neither sequence numbers nor ACK numbers nor windows, and without them nothing \
                tells what held a transfer back";
    match unusable {
        Some(Unusable::Quiet) => {
            return format!(
                "this text was printed with tcpdump's -q, so it has {lack}. Print it without -q, \
                 or write the packets into a file with -w"
            );
        }
        Some(Unusable::Drawn) => {
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

/// A few bytes in hexadecimal, and as text where they are.
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
