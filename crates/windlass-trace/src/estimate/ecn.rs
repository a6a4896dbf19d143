//! Marks by queues on the path: explicit congestion notification (RFC 3168), and its accurate
//! feedback (RFC 9768).

use windlass_base::Timestamp;
use windlass_base::thresholds::SEVERAL;
use windlass_macros::Packed;

/// Cuts of the sender's congestion window in response to marks.
///
/// Each ACK reports a mark (ECE) until data reports that its sender has cut its window (CWR), which
/// happens once per flight. Accurate feedback counts the marked packets, and no bit reports the
/// cut: a sender responds to marks once per round trip (RFC 9768 section 3.2.2, RFC 8511).
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct EcnResponse {
    /// True if an ACK reported a mark since the sender's last response.
    told: bool,
    /// Number of window reductions for marks.
    pub(crate) cuts: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    /// Marked packets, if ACKs count them.
    pub(crate) marked: u64,
    /// End of the flight in which the sender responded to a counted mark.
    heeded: u64,
}

/// Counter of a side that has seen no mark (RFC 9768 section 3.2.1).
const FIRST: u8 = 5;

/// Mark counts in the ACKs of one side.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct AceCounter {
    last: Option<u8>,
}

impl AceCounter {
    /// Takes the counter of an ACK. Returns the number of packets marked since the last ACK, if no
    /// more than seven were.
    pub(crate) fn advance(&mut self, counter: u8) -> u64 {
        let before = self.last.replace(counter).unwrap_or(FIRST);
        u64::from(counter.wrapping_sub(before) & 7)
    }
}

impl EcnResponse {
    /// Takes an ACK that reports a mark.
    pub(crate) const fn tell(&mut self) {
        self.told = true;
    }

    /// Takes an ACK of all data before `ack` that counts marked packets, when data up to `sent` was
    /// sent. Returns whether the sender cuts its window for them.
    pub(crate) fn count(&mut self, time: Timestamp, marked: u64, ack: u64, sent: u64) -> bool {
        self.marked += marked;
        if ack < self.heeded {
            return false;
        }
        self.heeded = sent.max(ack + 1);
        self.tell();
        self.cut(time)
    }

    /// Takes the sender's report that it has cut its window. Returns whether an ACK had reported a
    /// mark.
    pub(crate) fn cut(&mut self, time: Timestamp) -> bool {
        let marked = std::mem::take(&mut self.told);
        if marked {
            self.cuts += 1;
            self.first = self.first.or(Some(time));
            self.last = Some(time);
        }
        marked
    }

    /// Returns whether marks kept the window small from `start` to `end`. This spans the first of
    /// several cuts to the last one, and the usual time between cuts behind it.
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
