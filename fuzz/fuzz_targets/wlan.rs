//! Frames of wireless networks behind each header that drivers put there. The first
//! byte of the input picks the link type and how far the header is given: nothing of
//! it, so that all of it is the fuzzer's; a sound one; or a frame's own header too.
#![no_main]

use windlass_wire::LinkType;

const RADIOTAP: [u8; 18] = [0, 0, 18, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 2];
const PRISM: [u8; 24] =
    [0x44, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const AVS: [u8; 16] = [0x80, 0x21, 0x10, 1, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0];
const PPI: [u8; 8] = [0, 0, 8, 0, 105, 0, 0, 0];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let (link, header): (u16, &[u8]) = match choice % 5 {
        0 => (105, &[]),
        1 => (127, &RADIOTAP),
        2 => (119, &PRISM),
        3 => (163, &AVS),
        _ => (192, &PPI),
    };
    // A QoS frame of several packets.
    let mut aggregate = [0; 26];
    aggregate[..2].copy_from_slice(&[0x88, 1]);
    aggregate[24] = 0x80;
    let front = match choice / 5 % 3 {
        0 => Vec::new(),
        1 => header.to_vec(),
        _ => [header, &aggregate].concat(),
    };
    windlass_fuzz::packets::decode(LinkType(link), &front, rest);
});
