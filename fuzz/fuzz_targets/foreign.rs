//! What a stream is, by its first bytes, however they arrive: formats that are known
//! and not read, by magic numbers and by shape. The first byte of the input picks how
//! it begins.
#![no_main]

const STARTS: [&[u8]; 12] = [
    b"",
    b"GMBU",
    b"a.pcap\0\0",
    b"\0\0\x01\0",
    b"\x01\x10\x04\0",
    b"{\"log",
    b"\x07\0",
    // CommView's two, and ERF.
    b"\x3c\0\x3c\0\0\xe3\x07\x04\x06\x0e",
    b"\x3c\0\0\0\xe3\x07\x04\x06\x0e",
    b"\x77\x77\x77\x77\x7f\xb6\xa8\x5c\x02\x04\0\x12",
    // Patched libpcaps.
    b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0",
    b"\x34\xcd\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let start = STARTS[usize::from(*choice) % STARTS.len()];
    windlass_fuzz::check(&[start, rest].concat());
});
