//! Repeated segments, by the notes of the analyser.

use crate::note::{Note, Notes};

/// Relation of a segment to earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// First copy, in order.
    #[default]
    First,
    /// Retransmission.
    Again,
    /// Segment that others overtook.
    OutOfOrder,
    /// Second copy of one packet in the capture.
    Copy,
    /// Probe of a closed window.
    Probe,
}

/// Notes on the packet that was analysed last.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    number: u64,
    notes: Vec<Note>,
}

impl Marks {
    /// Returns the notes on this packet, if it was analysed last.
    pub fn notes(&self, number: u64) -> &[Note] {
        if self.number == number { &self.notes } else { &[] }
    }

    /// Returns the relation of the last analysed packet to earlier ones.
    pub fn of(&self, number: u64) -> Mark {
        let mut marks = self.notes(number).iter().filter_map(|note| match note {
            Note::Retransmission { .. } | Note::SynAgain => Some(Mark::Again),
            Note::OutOfOrder { .. } => Some(Mark::OutOfOrder),
            Note::CapturedTwice { .. } => Some(Mark::Copy),
            Note::Probe { .. } => Some(Mark::Probe),
            _ => None,
        });
        marks.next_back().unwrap_or_default()
    }
}

impl Notes for Marks {
    fn note(&mut self, number: u64, note: Note) {
        if self.number != number {
            self.number = number;
            self.notes.clear();
        }
        self.notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_of_one_packet() {
        let mut marks = Marks::default();
        marks.note(7, Note::SynAgain);
        marks.note(7, Note::KeepAlive);
        assert_eq!((marks.of(7), marks.of(8)), (Mark::Again, Mark::First));
        assert_eq!(marks.notes(7).len(), 2);
        marks.note(8, Note::KeepAlive);
        assert_eq!((marks.of(8), marks.notes(7)), (Mark::First, &[][..]));
    }
}
