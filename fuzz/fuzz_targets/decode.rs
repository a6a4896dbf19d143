//! Any bytes are read as packets, without panic. The first byte of the input
//! picks the link type; then each packet takes a byte for its length, one for
//! how much of it the snap length left out, and one for the time since the
//! packet before, in seconds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_base::{Span, Timestamp};
use windlass_wire::{Decoded, Decoder, LinkType, Packet};

const LINKS: [u16; 14] = [1, 101, 276, 113, 0, 108, 9, 50, 51, 10, 12, 14, 228, 229];

fuzz_target!(|input: &[u8]| {
    let Some((link, mut rest)) = input.split_first() else { return };
    let link = LinkType(LINKS[usize::from(*link) % LINKS.len()]);
    let mut decoder = Decoder::new();
    let (mut number, mut time) = (0, Timestamp::ZERO);
    while let [length, missing, seconds, after @ ..] = rest {
        let (data, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        number += 1;
        time = time + Span::from_millis(i64::from(*seconds) * 1_000);
        let original_length = data.len() as u32 + u32::from(*missing) * 300;
        let packet = Packet { number, time, link, big_endian: false, original_length, data };
        match decoder.decode(&packet) {
            Decoded::Segment(segment) => {
                assert_eq!(segment.number, number);
                assert!(segment.payload <= original_length.max(0xffff));
            }
            Decoded::Fragment | Decoded::NotTcp(_) | Decoded::Damaged(_) => {}
        }
        assert!(decoder.incomplete_datagrams() <= 64);
    }
});
