//! Any bytes have as many pages however they come, and with what the counter need not
//! see left out; none makes it panic. The first byte says how they are cut and what they
//! are called.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_wire::pages::{Counter, Pages};

fn new(kind: u8) -> Counter {
    Counter::new(match kind & 3 {
        0 => "text/plain",
        1 => "application/vnd.hp-PCL",
        _ => "application/octet-stream",
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let mut whole = new(*kind);
    whole.feed(bytes);
    let whole = whole.finish();
    let mut pieces = new(*kind);
    bytes.chunks(usize::from(kind >> 2) + 1).for_each(|piece| pieces.feed(piece));
    assert_eq!(pieces.finish(), whole);
    let (mut skipping, mut rest) = (new(*kind), bytes);
    while !rest.is_empty() {
        let skips = usize::try_from(skipping.skips()).unwrap_or(usize::MAX).min(rest.len());
        skipping.skip(skips as u64);
        let piece = (rest.len() - skips).min(5);
        skipping.feed(&rest[skips..][..piece]);
        rest = &rest[skips + piece..];
    }
    assert_eq!(skipping.finish(), whole);
    // A page is at least a byte, and copies end.
    if let Pages::Counted(pages) = whole {
        assert!(pages <= (bytes.len() as u64 + 1).saturating_mul(32_767 * 32_767));
    }
});
