//! State of a received ttcp test over UDP.

use std::time::{Duration, Instant};

use crate::datagrams::MARK;

/// State of a test at its receiver.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReceiverState {
    /// Data may come, with or without a begin mark before.
    Awaited { since: Instant, was_marked: bool },
    /// Data is coming.
    Data(FlowTotals),
    /// An end mark has come. Further marks may follow.
    Ended { at: Instant },
}

/// Totals of the received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowTotals {
    /// True if a begin mark came before the data.
    pub(super) was_marked: bool,
    pub(super) first: Instant,
    pub(super) last: Instant,
    pub(super) bytes: u64,
    pub(super) datagrams: u64,
}

/// Meaning of a datagram for a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A mark that changes nothing.
    Nothing,
    /// The first data.
    Begins,
    /// Further data.
    GoesOn,
    /// The end mark.
    Ends(FlowTotals),
}

impl ReceiverState {
    /// Returns the state of a sender from which nothing came before `now`.
    pub(super) const fn new(now: Instant) -> Self {
        Self::Awaited { since: now, was_marked: false }
    }

    /// Handles a datagram.
    pub(super) fn take(&mut self, now: Instant, length: usize) -> Step {
        let is_mark = length <= MARK;
        let bytes = length as u64;
        match self {
            Self::Data(counted) if is_mark => {
                let counted = *counted;
                *self = Self::Ended { at: now };
                Step::Ends(counted)
            }
            Self::Data(counted) => {
                counted.last = now;
                counted.bytes += bytes;
                counted.datagrams += 1;
                Step::GoesOn
            }
            Self::Awaited { was_marked, .. } if is_mark => {
                *was_marked = true;
                Step::Nothing
            }
            Self::Ended { .. } if is_mark => Step::Nothing,
            Self::Awaited { .. } | Self::Ended { .. } => {
                let was_marked = matches!(self, Self::Awaited { was_marked: true, .. });
                let counted = FlowTotals { was_marked, first: now, last: now, bytes, datagrams: 1 };
                *self = Self::Data(counted);
                Step::Begins
            }
        }
    }

    /// Returns the time since the last datagram.
    pub(super) fn silent_for(&self, now: Instant) -> Duration {
        let last = match self {
            Self::Awaited { since: at, .. } | Self::Ended { at } => *at,
            Self::Data(counted) => counted.last,
        };
        now.saturating_duration_since(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_end_what_came_between_them() {
        let at = |millis| Instant::now() + Duration::from_millis(millis);
        let (first, second) = (at(10), at(20));
        let mut test = ReceiverState::new(at(0));
        assert_eq!(test.take(at(0), 4), Step::Nothing);
        assert_eq!(test.take(first, 8_192), Step::Begins);
        assert_eq!(test.take(second, 8_192), Step::GoesOn);
        let counted =
            FlowTotals { was_marked: true, first, last: second, bytes: 16_384, datagrams: 2 };
        assert_eq!(test.take(at(30), 4), Step::Ends(counted));
        // The other three of the four marks.
        assert_eq!(test.take(at(40), 4), Step::Nothing);
        assert_eq!(test.take(at(50), 100), Step::Begins);
    }

    #[test]
    fn data_whose_first_mark_was_lost_counts() {
        let now = Instant::now();
        let mut test = ReceiverState::new(now);
        assert_eq!(test.take(now, 100), Step::Begins);
        let ReceiverState::Data(counted) = test else { panic!("{test:?}") };
        assert_eq!((counted.was_marked, counted.bytes), (false, 100));
        assert_eq!(test.silent_for(now + Duration::from_secs(3)), Duration::from_secs(3));
    }
}
