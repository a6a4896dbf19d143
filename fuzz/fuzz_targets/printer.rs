//! Any bytes come to an emulated printer's IPP server, on two connections: it
//! says and counts the same however they are cut, and what it says is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_sim::Payload;
use windlass_sim::ipp::{IppServer, Printer};
use windlass_wire::http::Response;

/// Feeds pieces, of which each that is all zeros is known by its number only.
fn said(server: &mut IppServer, printer: &mut Printer, bytes: &[u8], piece: usize) -> Vec<u8> {
    let mut answers = Vec::new();
    for piece in bytes.chunks(piece) {
        let payload = match u32::try_from(piece.len()) {
            Ok(count) if piece.iter().all(|byte| *byte == 0) => Payload::Zeros(count),
            _ => Payload::copy_of(piece),
        };
        server.feed(&payload, printer, &mut answers);
    }
    answers
}

fuzz_target!(|input: (u8, &[u8], &[u8])| {
    let (piece, first, second) = input;
    let both = |piece: usize| {
        let mut printer = Printer::default();
        let (mut one, mut other) = (IppServer::default(), IppServer::default());
        let of_one = said(&mut one, &mut printer, first, piece);
        let of_other = said(&mut other, &mut printer, second, piece);
        one.end(&mut printer);
        other.end(&mut printer);
        (of_one, of_other, printer.received())
    };
    let whole = both(first.len().max(second.len()).max(1));
    // A flood of questions in one piece is cut off; in several it may hear more.
    if whole.0.len().max(whole.1.len()) < 1 << 20 {
        assert_eq!(whole, both(usize::from(piece) + 1));
    }
    for answers in [&whole.0, &whole.1] {
        assert!(answers.len() < 2 << 20);
        if !answers.is_empty() {
            assert!(matches!(Response::decode(answers), Ok(Some(_))));
        }
    }
});
