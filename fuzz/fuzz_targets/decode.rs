//! Any bytes are read as packets, without panic. The first byte of the input
//! picks the link type.
#![no_main]

use windlass_wire::LinkType;

const LINKS: [u16; 30] = [
    1, 101, 276, 113, 0, 108, 9, 50, 51, 10, 12, 14, 228, 229, 8, 104, 105, 107, 109, 117, 119, 127,
    149, 163, 192, 197, 226, 239, 242, 258,
];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((link, rest)) = input.split_first() else { return };
    let link = LinkType(LINKS[usize::from(*link) % LINKS.len()]);
    windlass_fuzz::packets::decode(link, &[], rest);
});
