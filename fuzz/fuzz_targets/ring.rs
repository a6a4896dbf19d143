//! A block of the capture ring, from a kernel that lies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_sys::capture::Packets;

fuzz_target!(|bytes: &[u8]| {
    let mut block = bytes.to_vec();
    let mut packets = Packets::of(&mut block);
    let (mut taken, claimed) = (0_u64, u64::from(packets.left()));
    while let Some(packet) = packets.next() {
        taken += 1;
        assert!(packet.data.len() <= bytes.len());
        std::hint::black_box((
            packet.time,
            packet.way,
            packet.data.iter().fold(0_u8, |sum, byte| sum ^ byte),
        ));
    }
    // A step forward is a byte at the least: it ends.
    assert!(taken <= claimed.min(bytes.len() as u64));
});
