//! Runs of sequence numbers that the capture has not seen.

use windlass_base::Timestamp;
use windlass_macros::Packed;

use crate::estimate::loss_pattern::Sample;

/// Maximum number of holes that are kept apart. Beyond that the oldest are given up.
const MAX: usize = 64;

/// A run of bytes that was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Packed)]
pub(crate) struct SequenceGap {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The time when the segment ahead of it was captured, and the one behind it.
    pub(crate) after: Timestamp,
    pub(crate) since: Timestamp,
    /// The IPv4 identification of the segment behind it.
    pub(crate) identification: Option<u16>,
    /// Delay sample of the segment before it.
    pub(crate) came: Option<Sample>,
}

/// The holes of one direction, in order.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct SequenceGaps {
    holes: Vec<SequenceGap>,
}

impl SequenceGaps {
    pub(crate) fn is_empty(&self) -> bool {
        self.holes.is_empty()
    }

    pub(crate) fn open(&mut self, hole: SequenceGap) {
        if self.holes.len() == MAX {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    /// Fills `start..end`. Returns the number of missing bytes that this fills, and the first hole
    /// that it touches.
    pub(crate) fn fill(&mut self, start: u64, end: u64) -> Option<(u64, SequenceGap)> {
        let mut filled = 0;
        let mut touched = None;
        let mut left = Vec::new();
        self.holes.retain_mut(|hole| {
            let (from, to) = (hole.start.max(start), hole.end.min(end));
            if from >= to {
                return true;
            }
            filled += to - from;
            touched = touched.or(Some(*hole));
            if to < hole.end {
                left.push(SequenceGap { start: to, ..*hole });
            }
            hole.end = from;
            hole.start < hole.end
        });
        if !left.is_empty() {
            self.holes.append(&mut left);
            self.holes.sort_unstable_by_key(|hole| hole.start);
            self.holes.truncate(MAX);
        }
        touched.map(|hole| (filled, hole))
    }

    /// Removes all holes below `ack`: the receiver has those bytes, so the capture lacks them.
    /// Returns the number of these bytes.
    pub(crate) fn acknowledge(&mut self, ack: u64) -> u64 {
        let mut missing = 0;
        self.holes.retain_mut(|hole| {
            let to = hole.end.min(ack);
            if to > hole.start {
                missing += to - hole.start;
                hole.start = to;
            }
            hole.start < hole.end
        });
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(start: u64, end: u64) -> SequenceGap {
        let after = Timestamp::ZERO;
        SequenceGap { start, end, after, since: after, identification: None, came: None }
    }

    #[test]
    fn a_hole_is_filled_piece_by_piece() {
        let mut holes = SequenceGaps::default();
        holes.open(hole(100, 400));
        assert_eq!(holes.fill(0, 50), None);
        assert_eq!(holes.fill(200, 300), Some((100, hole(100, 400))));
        assert_eq!(holes.fill(50, 1_000), Some((200, hole(100, 200))));
        assert!(holes.is_empty());
    }

    #[test]
    fn what_is_acknowledged_but_unseen_is_missing() {
        let mut holes = SequenceGaps::default();
        holes.open(hole(100, 400));
        assert_eq!(holes.acknowledge(150), 50);
        assert_eq!(holes.acknowledge(1_000), 250);
        assert!(holes.is_empty());
    }
}
