//! What the targets of the decoder share: packets out of a fuzzer's bytes, and what
//! must hold of all that is read of them.

use windlass_base::{Span, Timestamp};
use windlass_wire::{Decoded, Decoder, LinkType, Packet};

/// The least bytes of a packet in a frame that holds several: its header.
const SUBFRAME: usize = 14;

/// Reads packets of this link type. Each takes a byte for its length, one for how
/// much of it the snap length left out, and one for the time since the packet before,
/// in seconds; then the bytes, with `front` before them.
pub fn decode(link: LinkType, front: &[u8], mut rest: &[u8]) {
    let mut decoder = Decoder::new();
    let (mut number, mut time) = (0, Timestamp::ZERO);
    while let [length, missing, seconds, after @ ..] = rest {
        let (data, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        number += 1;
        time = time + Span::from_millis(i64::from(*seconds) * 1_000);
        let data = [front, data].concat();
        let original_length = data.len() as u32 + u32::from(*missing) * 300;
        let packet = Packet { number, time, link, big_endian: false, original_length, data: &data };
        check(&decoder.decode(&packet), &packet);
        let mut more = 0;
        while let Some(decoded) = decoder.more(&packet) {
            check(&decoded, &packet);
            more += 1;
            assert!(more * SUBFRAME <= data.len(), "{more} packets in {} bytes", data.len());
        }
        assert!(decoder.incomplete_datagrams() <= 64);
    }
}

fn check(decoded: &Decoded, packet: &Packet<'_>) {
    if let Some(message) = windlass_wire::too_big::read(packet) {
        assert_eq!(message.number, packet.number);
    }
    match decoded {
        Decoded::Segment(segment) => {
            assert_eq!(segment.number, packet.number);
            assert!(segment.payload <= packet.original_length.max(0xffff));
        }
        // It can be told.
        Decoded::NotTcp(other) => assert!(!other.to_string().is_empty()),
        Decoded::Fragment | Decoded::Damaged(_) => {}
    }
}
