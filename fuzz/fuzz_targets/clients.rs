//! Whatever clients say by HTTP, LPR and raw, in pieces of any size, a spool
//! answers, comes to an end with them, and neither breaks nor counts wrongly.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_spool::fuzzing::{Conversation, Protocol};

fuzz_target!(|bytes: &[u8]| {
    let conversation = Conversation::new().expect("there is memory");
    let mut rest = bytes;
    // Each client's protocol, the size of its pieces and how much it says.
    while let Some(([kind, piece, high, low], after)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let protocol = match kind % 5 {
            0..2 => Protocol::Ipp,
            2..4 => Protocol::Lpr,
            _ => Protocol::Raw(0),
        };
        let (said, behind) = after.split_at(length);
        let told = conversation.with(protocol, said, usize::from(*piece) * 16 + 1);
        assert!(told.len() <= 8 << 20, "{} bytes", told.len());
        rest = behind;
    }
});
