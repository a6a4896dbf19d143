//! An analyser as an observer of a capture.

use windlass_wire::{EthernetHead, Observer, Packet, Segment};

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
        self.analyzer.segment(segment, &mut self.notes);
    }
}
