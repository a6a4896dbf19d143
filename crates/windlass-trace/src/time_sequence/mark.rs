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

/// Takes the marks out of an analyser's notes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    last: Option<(u64, Mark)>,
}

impl Marks {
    /// The mark of the packet that was analysed last, if `number` is that.
    pub fn of(&self, number: u64) -> Mark {
        self.last.filter(|(of, _)| *of == number).map_or(Mark::First, |(_, mark)| mark)
    }
}

impl Notes for Marks {
    fn note(&mut self, number: u64, note: Note) {
        let mark = match note {
            Note::Retransmission { .. } | Note::SynAgain => Mark::Again,
            Note::OutOfOrder { .. } => Mark::OutOfOrder,
            Note::CapturedTwice { .. } => Mark::Copy,
            Note::Probe { .. } => Mark::Probe,
            _ => return,
        };
        self.last = Some((number, mark));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_of_one_packet() {
        let mut marks = Marks::default();
        marks.note(7, Note::SynAgain);
        marks.note(7, Note::KeepAlive);
        assert_eq!((marks.of(7), marks.of(8)), (Mark::Again, Mark::First));
    }
}
