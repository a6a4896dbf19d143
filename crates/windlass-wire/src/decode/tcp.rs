//! TCP headers and their options (RFC 9293 section 3.1).

use super::ip::IpHeader;
use super::view::{be16, be32};
use super::{Damage, Decoded};
use crate::build::Sum;
use crate::{Checksum, Endpoint, Flags, Host, Options, Packet, SackBlocks, Segment, SequenceRange};

/// Largest window scale shift (RFC 7323 section 2.3). A larger one is read as this.
const MAX_SHIFT: u8 = 14;

/// First bytes of options that consist of two no-operations and timestamps (RFC 7323 appendix A).
/// Nearly every current segment has these options, so they have a fast path.
const STAMPS: u32 = 0x0101_080a;

/// Reads the TCP header at the start of `data`. The segment has `length` bytes, header and payload,
/// by its IP header.
#[inline]
pub(crate) fn read(packet: &Packet<'_>, carrier: &IpHeader, data: &[u8], length: u32) -> Decoded {
    let Some(head) = data.first_chunk::<20>() else {
        return Decoded::Damaged(Damage::Short);
    };
    let header = usize::from(head[12] >> 4) * 4;
    let after = length.checked_sub(u32::from(head[12] >> 4) * 4);
    let (20.., Some(payload)) = (header, after) else {
        return Decoded::Damaged(Damage::Tcp);
    };
    let flags = Flags(head[13]);
    // The result is written once, to the caller's place, and the options in place: a copy of fresh
    // data costs more than reading the header.
    let mut decoded = Decoded::Segment(Segment {
        number: packet.number,
        time: packet.time,
        source: Endpoint { host: carrier.source, port: be16(head, 0) },
        destination: Endpoint { host: carrier.destination, port: be16(head, 2) },
        sequence: Some(be32(head, 4)),
        acknowledgment: if flags.has(Flags::ACK) { be32(head, 8) } else { 0 },
        flags,
        window: be16(head, 14),
        payload,
        options: Options::default(),
        identification: carrier.identification,
        hop_limit: carrier.hop_limit,
        checksum: Checksum::Unknown,
        ecn: carrier.ecn,
        accurate_ecn: head[12] & 1 != 0,
    });
    if let Decoded::Segment(Segment { options, .. }) = &mut decoded {
        match data.get(20..header) {
            Some([]) => {}
            Some(list) => match list.try_into() {
                Ok(stamps) if be32::<12>(stamps, 0) == STAMPS => {
                    options.timestamps = Some((be32(stamps, 4), be32(stamps, 8)));
                }
                _ => *options = walk(list),
            },
            None => *options = Options { truncated: true, ..walk(&data[20..]) },
        }
    }
    decoded
}

/// Verifies the checksum of a segment of `length` bytes (RFC 9293 section 3.1). With checksum
/// offload, the field holds zero or the sum of the pseudo-header: addresses, protocol and length
/// (Linux), or these without the length (Windows).
#[inline(never)]
pub(super) fn verify(carrier: &IpHeader, data: &[u8], length: u32) -> Checksum {
    const PROTOCOL: u8 = 6;
    let Some(data) = data.get(..length as usize) else { return Checksum::Unknown };
    let Some(stored) = data.get(16..18) else { return Checksum::Unknown };
    // Segmentation offload splits a segment that exceeds an IP packet.
    let Ok(length) = u16::try_from(length) else { return Checksum::Unknown };
    let addresses = match (carrier.source, carrier.destination) {
        (Host::V4(one), Host::V4(two)) => Sum::default().and(&one.octets()).and(&two.octets()),
        (Host::V6(one), Host::V6(two)) => Sum::default().and(&one.octets()).and(&two.octets()),
        _ => return Checksum::Unknown,
    };
    let told = addresses.and_length(PROTOCOL, length);
    if told.and(data).is_right() {
        return Checksum::Right;
    }
    let left = [0, told.folded(), addresses.and_length(PROTOCOL, 0).folded()];
    let is_left = left.iter().any(|sum| sum.to_be_bytes() == stored);
    if is_left { Checksum::Unknown } else { Checksum::Wrong }
}

/// Reads the list of options. Each option is a kind of one byte, or a kind, a length that includes
/// both, and data. An impossible length ends the list, because the bytes behind it have no meaning.
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

/// Reads one option (IANA, "TCP Option Kind Numbers"). An option of the wrong length counts as
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
        // The first four bits are the subtype.
        (30, [_, ..]) => options.multipath = true,
        _ => {}
    }
}
