//! Any bytes are read as a whole packet, without panic.

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
});
