//! TCP headers and their options (RFC 9293 section 3.1).

use super::ip::Carrier;
use super::view::{be16, be32};
use super::{Damage, Decoded};
use crate::{Endpoint, Flags, Options, Packet, SackBlocks, Segment, SequenceRange};

/// The largest shift that a window may have (RFC 7323 section 2.3): what is
/// larger is to be read as this.
const MAX_SHIFT: u8 = 14;

/// Reads the header that `data` begins with, of a segment that takes `length`
/// bytes, header and payload, by its IP header.
#[inline]
pub(crate) fn read(packet: &Packet<'_>, carrier: &Carrier, data: &[u8], length: u32) -> Decoded {
    let Some(head) = data.first_chunk::<20>() else {
        return Decoded::Damaged(Damage::Short);
    };
    let header = usize::from(head[12] >> 4) * 4;
    let after = length.checked_sub(u32::from(head[12] >> 4) * 4);
    let (20.., Some(payload)) = (header, after) else {
        return Decoded::Damaged(Damage::Tcp);
    };
    let flags = Flags(head[13]);
    // The options come first, so that the segment is written once and to where
    // the caller wants it: a copy of what was just written costs more than
    // reading the header.
    let options = match data.get(20..header) {
        // Two no-operations and timestamps: what nearly every segment of today
        // carries (RFC 7323 appendix A), and so worth its own way.
        Some(&[1, 1, 8, 10, a, b, c, d, e, f, g, h]) => {
            let (sent, echoed) = ([a, b, c, d], [e, f, g, h]);
            let timestamps = (u32::from_be_bytes(sent), u32::from_be_bytes(echoed));
            Options { timestamps: Some(timestamps), ..Options::default() }
        }
        Some([]) => Options::default(),
        Some(list) => walk(list),
        None => Options { truncated: true, ..walk(&data[20..]) },
    };
    Decoded::Segment(Segment {
        number: packet.number,
        time: packet.time,
        source: Endpoint { host: carrier.source, port: be16(head, 0) },
        destination: Endpoint { host: carrier.destination, port: be16(head, 2) },
        sequence: Some(be32(head, 4)),
        acknowledgment: if flags.has(Flags::ACK) { be32(head, 8) } else { 0 },
        flags,
        window: be16(head, 14),
        payload,
        options,
        identification: carrier.identification,
        hop_limit: carrier.hop_limit,
    })
}

/// Each option is a kind of one byte, or a kind, a length that counts both, and
/// data. A length that cannot be ends the list: what follows has no meaning.
#[inline(never)]
fn walk(mut list: &[u8]) -> Options {
    let mut options = Options::default();
    loop {
        match *list {
            [] | [0, ..] => return options,
            [1, ref rest @ ..] => list = rest,
            [kind, length, ref rest @ ..] if length >= 2 => {
                let Some((data, rest)) = rest.split_at_checked(usize::from(length) - 2) else {
                    return options;
                };
                option(kind, data, &mut options);
                list = rest;
            }
            _ => return options,
        }
    }
}

/// Kinds by IANA, "TCP Option Kind Numbers". One of the wrong length counts as
/// unknown.
fn option(kind: u8, data: &[u8], options: &mut Options) {
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |four| u32::from_be_bytes(*four));
    match (kind, data) {
        (2, &[high, low]) => options.mss = Some(u16::from_be_bytes([high, low])),
        (3, &[shift]) => options.window_scale = Some(shift.min(MAX_SHIFT)),
        (4, []) => options.sack_permitted = true,
        (5, blocks) if blocks.len() % 8 == 0 => {
            let mut sack = SackBlocks::default();
            for block in blocks.chunks_exact(8) {
                sack.push(SequenceRange { left: word(block), right: word(&block[4..]) });
            }
            options.sack = sack;
        }
        (8, stamps) if stamps.len() == 8 => {
            options.timestamps = Some((word(stamps), word(&stamps[4..])));
        }
        // Its first four bits say what it does.
        (30, [_, ..]) => options.multipath = true,
        _ => {}
    }
}
