//! Any bytes are read as text, without panic, and the same however they are cut
//! into pieces. The first byte of the input is the size of the pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_wire::{Observer, Packet, Segment, TextReader};

#[derive(Default)]
struct Kept(Vec<Segment>);

impl Observer for Kept {
    fn packet(&mut self, _: &Packet<'_>) {}
    fn segment(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((size, text)) = input.split_first() else { return };
    let (mut whole, mut expected) = (TextReader::default(), Kept::default());
    whole.read(text, true, &mut expected);

    let (mut reader, mut kept, mut rest) = (TextReader::default(), Kept::default(), Vec::new());
    for piece in text.chunks(usize::from(*size) + 1) {
        rest.extend_from_slice(piece);
        let progress = reader.read(&rest, false, &mut kept);
        assert!(progress.consumed <= rest.len());
        rest.drain(..progress.consumed);
    }
    reader.read(&rest, true, &mut kept);
    assert_eq!(kept.0, expected.0);
    assert_eq!((reader.lines(), reader.packets()), (whole.lines(), whole.packets()));
});
