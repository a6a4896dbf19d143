//! A pcap file of any layout: the first byte chooses one of the magic numbers.
#![no_main]

const MAGICS: [[u8; 4]; 6] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xcd, 0x34],
    [0x34, 0xcd, 0xb2, 0xa1],
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // As it is: whatever the format.
    windlass_fuzz::check(data);
    if let Some((choice, rest)) = data.split_first() {
        let magic = MAGICS[usize::from(*choice) % MAGICS.len()];
        windlass_fuzz::check(&[&magic, rest].concat());
    }
});
