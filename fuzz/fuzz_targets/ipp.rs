//! Any bytes are a message of IPP or an error, in pieces of any size, within the
//! limits; a message that is written again is the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_wire::ipp::{Decoder, Error, Limits, Message};

const LIMITS: Limits = Limits { bytes: 1 << 16, values: 1 << 12, depth: 8 };

fn decoded(bytes: &[u8], piece: usize) -> Result<(Option<Message>, usize), Error> {
    let (mut decoder, mut at) = (Decoder::new(LIMITS), 0);
    for piece in bytes.chunks(piece) {
        let used = decoder.take(piece)?;
        at += used;
        if used < piece.len() {
            assert_eq!(decoder.needs(), 0);
            break;
        }
    }
    Ok((decoder.message(), at))
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let whole = decoded(bytes, bytes.len().max(1));
    assert_eq!(whole, decoded(bytes, usize::from(piece) + 1));
    if let Ok((Some(message), _)) = whole {
        let again = message.encode().expect("what was read has room");
        let (read, used) = decoded(&again, again.len()).expect("it is no longer than it was");
        assert_eq!((read, used), (Some(message), again.len()));
    }
});
