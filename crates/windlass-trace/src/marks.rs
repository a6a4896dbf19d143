//! What queues on the path tell by marks: explicit congestion notification (RFC 3168).

use windlass_base::Timestamp;
use windlass_macros::Packed;

/// Cuts that make a habit.
const SEVERAL: u64 = 3;

/// When the sender cut its congestion window for marks.
///
/// Each ACK tells of a mark (ECE) until data tells that its sender has heeded it (CWR), which it
/// does once for a flight.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Marks {
    /// Whether an ACK told of one since the sender last heeded one.
    told: bool,
    /// How often the sender cut its window for them.
    pub(crate) cuts: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Marks {
    /// An ACK tells of a mark.
    pub(crate) const fn tell(&mut self) {
        self.told = true;
    }

    /// The sender says that it has cut its window; tells whether it did for a mark: whether it was
    /// told of one.
    pub(crate) fn cut(&mut self, time: Timestamp) -> bool {
        let marked = std::mem::take(&mut self.told);
        if marked {
            self.cuts += 1;
            self.first = self.first.or(Some(time));
            self.last = Some(time);
        }
        marked
    }

    /// Whether marks kept the window small from `start` to `end`: from the first of several cuts to
    /// the last one, and as long behind it as it mostly took to the next.
    pub(crate) fn hold(&self, start: Timestamp, end: Timestamp) -> bool {
        let (Some(first), Some(last)) = (self.first, self.last) else { return false };
        let steps = i64::try_from(self.cuts).unwrap_or(i64::MAX) - 1;
        let until = || last + last.since(first) / steps;
        self.cuts >= SEVERAL && end > first && start < until()
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::Span;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_cut_that_nothing_was_marked_before_is_one_for_loss() {
        let mut marks = Marks::default();
        assert!(!marks.cut(at(10)));
        marks.tell();
        marks.tell();
        assert!(marks.cut(at(20)) && !marks.cut(at(30)));
        assert_eq!(marks.cuts, 1);
    }

    #[test]
    fn marks_hold_until_the_next_would_have_come() {
        let mut marks = Marks::default();
        for time in [100, 180, 300] {
            assert!(!marks.hold(at(0), at(1_000)), "a habit takes several");
            marks.tell();
            marks.cut(at(time));
        }
        assert!(!marks.hold(at(0), at(100)));
        assert!(marks.hold(at(0), at(110)) && marks.hold(at(390), at(500)));
        assert!(!marks.hold(at(400), at(500)));
    }
}
