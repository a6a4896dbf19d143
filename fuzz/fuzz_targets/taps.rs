//! Packets behind the headers of Apple's packet tap, under both of its link types, and
//! of Linux's netfilter log. The first byte of the input picks which, and whether a
//! sound header stands in front.
#![no_main]

use windlass_wire::LinkType;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let mut tap = [108_u32, 1, u32::from(choice >> 3)].map(u32::to_le_bytes).concat();
    tap.extend(b"en0");
    tap.resize(108, 0);
    // The payload's attribute is left to the fuzzer.
    let log = [2, 0, 0, 5, 8, 0, 1, 0, 8, 0, 1, 0];
    let (link, header): (u16, &[u8]) = match choice % 3 {
        0 => (258, &tap),
        1 => (149, &tap),
        _ => (239, &log),
    };
    let front = if choice & 4 == 0 { &[] } else { header };
    windlass_fuzz::packets::decode(LinkType(link), front, rest);
});
