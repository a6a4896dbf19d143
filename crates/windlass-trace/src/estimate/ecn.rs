//! What queues on the path tell by marks: explicit congestion notification (RFC 3168), and its
//! accurate feedback (RFC 9768).

use windlass_base::Timestamp;
use windlass_base::thresholds::SEVERAL;
use windlass_macros::Packed;

/// When the sender cut its congestion window for marks.
///
/// Each ACK tells of a mark (ECE) until data tells that its sender has heeded it (CWR), which it
/// does once for a flight. Accurate feedback counts the marked packets, and no bit tells of the
/// cut: a sender heeds marks once in a round trip (RFC 9768 section 3.2.2, RFC 8511).
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct EcnResponse {
    /// True if an ACK told of one since the sender last heeded one.
    told: bool,
    /// How often the sender cut its window for them.
    pub(crate) cuts: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    /// Marked packets, where ACKs count them.
    pub(crate) marked: u64,
    /// The end of the flight in which the sender has heeded a mark that was counted.
    heeded: u64,
}

/// The counter of a side that has seen no mark (RFC 9768 section 3.2.1).
const FIRST: u8 = 5;

/// What the ACKs of one side have counted.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct AceCounter {
    last: Option<u8>,
}

impl AceCounter {
    /// Takes the counter of an ACK. Returns how many packets were marked since the last one, where
    /// no more than seven were.
    pub(crate) fn advance(&mut self, counter: u8) -> u64 {
        let before = self.last.replace(counter).unwrap_or(FIRST);
        u64::from(counter.wrapping_sub(before) & 7)
    }
}

impl EcnResponse {
    /// An ACK tells of a mark.
    pub(crate) const fn tell(&mut self) {
        self.told = true;
    }

    /// An ACK of all data before `ack` counts marked packets, when data up to `sent` was sent.
    /// Returns whether the sender cuts its window for them.
    pub(crate) fn count(&mut self, time: Timestamp, marked: u64, ack: u64, sent: u64) -> bool {
        self.marked += marked;
        if ack < self.heeded {
            return false;
        }
        self.heeded = sent.max(ack + 1);
        self.tell();
        self.cut(time)
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

    /// Returns whether marks kept the window small from `start` to `end`: from the first of several
    /// cuts to the last one, and as long behind it as it mostly took to the next.
    pub(crate) fn hold(&self, start: Timestamp, end: Timestamp) -> bool {
        let (Some(first), Some(last)) = (self.first, self.last) else { return false };
        let steps = i64::try_from(self.cuts).unwrap_or(i64::MAX) - 1;
        let until = || last + last.since(first) / steps;
        self.cuts >= SEVERAL.get() && end > first && start < until()
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
        let mut marks = EcnResponse::default();
        assert!(!marks.cut(at(10)));
        marks.tell();
        marks.tell();
        assert!(marks.cut(at(20)) && !marks.cut(at(30)));
        assert_eq!(marks.cuts, 1);
    }

    #[test]
    fn counted_marks_cut_the_window_once_in_a_flight() {
        let mut marks = EcnResponse::default();
        let mut counter = AceCounter::default();
        let told: Vec<u64> = [5, 5, 6, 0, 0, 1].map(|ace| counter.advance(ace)).into();
        assert_eq!(told, [0, 0, 1, 2, 0, 1]);
        assert!(marks.count(at(10), 1, 1_000, 5_000));
        assert!(!marks.count(at(12), 2, 3_000, 6_000));
        assert!(marks.count(at(20), 1, 5_000, 9_000));
        assert_eq!((marks.cuts, marks.marked), (2, 4));
    }

    #[test]
    fn marks_hold_until_the_next_would_have_come() {
        let mut marks = EcnResponse::default();
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
