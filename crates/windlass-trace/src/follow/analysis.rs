//! An analyser as an observer of a capture.

use windlass_wire::{EthernetHead, Observer, Packet, Segment, TooBig};

use crate::{Analyzer, Keep, Notes};

/// An analyser, and somewhere for its notes.
#[derive(Debug)]
pub struct Analysis<N> {
    /// The analyser.
    pub analyzer: Analyzer,
    /// Where the notes go; `()` where nobody wants them.
    pub notes: N,
}

impl<N: Notes> Analysis<N> {
    /// An analysis that keeps these connections.
    pub fn new(keep: Keep, notes: N) -> Self {
        Self { analyzer: Analyzer::new(keep), notes }
    }
}

impl<N: Notes> Observer for Analysis<N> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.analyzer.behind(EthernetHead::of(packet));
    }

    fn segment(&mut self, segment: &Segment) {
        if N::WANTED {
            self.analyzer.segment(segment, &mut self.notes);
        } else {
            take_without_notes(&mut self.analyzer, segment);
        }
    }

    fn too_big(&mut self, message: &TooBig) {
        self.analyzer.too_big(message);
    }

    #[inline]
    fn wants_checksum(&self) -> bool {
        self.analyzer.wants_checksum()
    }
}

/// Takes a segment of which nobody wants notes. For no type of notes, so that it is compiled in
/// this crate, together with what it calls, however a program is built that uses it.
fn take_without_notes(analyzer: &mut Analyzer, segment: &Segment) {
    analyzer.segment(segment, &mut ());
}
