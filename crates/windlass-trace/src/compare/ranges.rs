//! Sets of bytes, as ranges of sequence numbers.

use std::collections::BTreeMap;

/// Ranges that neither overlap nor touch, by their start.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let (mut start, mut end) = (start, end);
        while let Some((&left, &right)) = self.0.range(..=end).next_back() {
            if right < start {
                break;
            }
            self.0.remove(&left);
            (start, end) = (start.min(left), end.max(right));
        }
        self.0.insert(start, end);
    }

    /// Returns the end of the range that holds a byte.
    pub(super) fn end_at(&self, byte: u64) -> Option<u64> {
        let (_, &end) = self.0.range(..=byte).next_back()?;
        (end > byte).then_some(end)
    }

    /// Returns whether all of a range is in the set.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        start < end && self.end_at(start).is_some_and(|held| held >= end)
    }

    /// Returns the start of the first range behind a byte.
    pub(super) fn next_after(&self, byte: u64) -> Option<u64> {
        self.0.range(byte.saturating_add(1)..).next().map(|(&start, _)| start)
    }

    /// Returns the number of bytes.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// Returns the ranges in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(&start, &end)| (start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_where_they_touch() {
        let mut ranges = Ranges::default();
        ranges.add(10, 20);
        ranges.add(30, 40);
        ranges.add(5, 5);
        assert_eq!((ranges.total(), ranges.end_at(15), ranges.end_at(20)), (20, Some(20), None));
        assert_eq!(ranges.next_after(10), Some(30));
        ranges.add(20, 30);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(10, 40)]);
        ranges.add(0, 100);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 100)]);
        assert!(ranges.holds(0, 100) && !ranges.holds(0, 101) && !ranges.holds(5, 5));
    }
}
