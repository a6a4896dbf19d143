//! A snoop file: a sound file header with a datalink type that is read, then anything.
#![no_main]

const TYPES: [u32; 4] = [4, 0, 8, 0x8000_0005];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let kind = TYPES[usize::from(*choice) % TYPES.len()].to_be_bytes();
    windlass_fuzz::check(&[&b"snoop\0\0\0\0\0\0\x02"[..], &kind, rest].concat());
});
