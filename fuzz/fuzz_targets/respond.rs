//! Any requests of IPP, one after the other, are answered by a spool in messages
//! that can be read, and its table counts right after each.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use windlass_spool_core::respond::fuzzing::Responder;
use windlass_wire::ipp::{Decoder, Limits};

const LIMITS: Limits = Limits { bytes: 1 << 16, values: 1 << 12, depth: 8 };

fuzz_target!(|bytes: &[u8]| {
    let mut responder = Responder::default();
    let mut rest = bytes;
    // A byte of what happens before each request.
    while let Some((&first, after)) = rest.split_first() {
        if first & 1 != 0 {
            let span = Duration::from_secs(u64::from(first));
            responder.print(usize::from(first >> 1), first & 4 != 0, span);
        }
        let mut decoder = Decoder::new(LIMITS);
        let Ok(used) = decoder.take(after) else { return };
        let Some(request) = decoder.message() else { return };
        let path = if first & 8 != 0 { "/printers/a" } else { "/" };
        let answer = responder.ask(&request, path, first & 16 == 0).expect("it has room");
        let mut decoder = Decoder::new(Limits::default());
        assert_eq!(decoder.take(&answer), Ok(answer.len()));
        let answer = decoder.message().expect("it is whole");
        assert_eq!(answer.request_id, request.request_id);
        rest = &after[used..];
    }
});
