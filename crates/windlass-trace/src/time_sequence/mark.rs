//! Whether a segment was sent before: what the analyser's notes say of it.

use crate::note::{Note, Notes};

/// How a segment stands to those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// It is sent for the first time, in order.
    #[default]
    First,
    /// It was sent before.
    Again,
    /// Others overtook it.
    OutOfOrder,
    /// The capture holds it twice.
    Copy,
    /// It asks whether a closed window is still closed.
    Probe,
}

/// Keeps the notes on the packet that was analysed last.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    number: u64,
    notes: Vec<Note>,
}

impl Marks {
    /// The notes on this packet, if it was analysed last.
    pub fn notes(&self, number: u64) -> &[Note] {
        if self.number == number { &self.notes } else { &[] }
    }

    /// How this packet stands to those before, if it was analysed last.
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
