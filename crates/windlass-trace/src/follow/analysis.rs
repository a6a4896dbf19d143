//! An analyser as an observer of a capture.

use windlass_wire::{EthernetHead, Observer, Packet, PacketTooBig, Segment};

use crate::{Analyzer, Keep, Notes};

/// Analyser, with the receiver of its notes.
#[derive(Debug)]
pub struct Analysis<N> {
    /// The analyser.
    pub analyzer: Analyzer,
    /// Receiver of the notes; `()` for none.
    pub notes: N,
}

impl<N: Notes> Analysis<N> {
    /// Returns an analysis that keeps these connections.
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

    fn too_big(&mut self, message: &PacketTooBig) {
        self.analyzer.too_big(message);
    }

    #[inline]
    fn wants_checksum(&self) -> bool {
        self.analyzer.wants_checksum()
    }
}

/// Takes a segment without notes. The function has no type parameter, so that it is compiled in
/// this crate, together with its callees, however a program that uses it is built.
fn take_without_notes(analyzer: &mut Analyzer, segment: &Segment) {
    analyzer.segment(segment, &mut ());
}
