//! Any bytes are read as packets, without panic. The first byte of the input
//! picks the link type.
#![no_main]

use windlass_wire::LinkType;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((link, rest)) = input.split_first() else { return };
    let link = LinkType::READ[usize::from(*link) % LinkType::READ.len()];
    windlass_fuzz::packets::decode(link, &[], rest);
});
