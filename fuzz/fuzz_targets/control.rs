//! What a peer may say on a control connection.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_drive::control::frame::Frames;
use windlass_drive::control::{Preamble, Reply, Request, Word};

fuzz_target!(|bytes: &[u8]| {
    if let Some((preamble, _)) = bytes.split_first_chunk() {
        let _ = Preamble::read(preamble);
    }
    let (mut requests, mut replies, mut words) =
        (Frames::default(), Frames::default(), Frames::default());
    for piece in bytes.chunks(7) {
        requests.take(piece);
        replies.take(piece);
        words.take(piece);
        if let Ok(Some(Request {
            ask: windlass_drive::control::RequestedService::Transfer(transfer),
            ..
        })) = requests.message()
        {
            let _ = transfer.check();
        }
        let _ = replies.message::<Reply>();
        let _ = words.message::<Word>();
    }
});
