//! Any bytes are read as a whole packet, and as two that may follow each other, without panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_base::Timestamp;
use windlass_wire::{build, echo, incoming};

fuzz_target!(|packet: &[u8]| {
    let _ = build::check(packet);
    if let Ok(incoming) = incoming::segment(packet, Timestamp::ZERO) {
        assert_eq!(incoming.data.len(), incoming.segment.payload as usize);
    }
    if let Some(request) = echo::request(packet) {
        let mut answer = Vec::new();
        request.answer(&mut answer, 0, 64);
        assert!(answer.len() <= packet.len());
        assert_eq!(echo::request(&answer), None);
    }
    let (first, second) = packet.split_at(packet.len() / 2);
    if let Some(mut joined) = build::CoalescedPackets::begin(first) {
        let follows = joined.add(second);
        let length = joined.head_length();
        assert!(length < first.len() && (!follows || length < second.len()));
        assert_eq!(joined.head().len(), length);
    }
});
