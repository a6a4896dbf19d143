//! Allocation of the segments' free space. Space freed last is allocated first, as it is still in
//! the caches of the kernel and of the processor.
//!
//! Adjacent free parts are merged. Each part is found by position (for merging) and by size and age
//! (for allocation), all in logarithmic time.

use std::collections::BTreeMap;

/// Size of a unit in bytes: a page, so that no two documents share one.
pub(super) const UNIT: u64 = 4_096;

/// Consecutive units, counted over all segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Extent {
    /// First unit.
    pub start: u32,
    /// Number of units.
    pub count: u32,
}

impl Extent {
    pub(super) const fn end(self) -> u32 {
        self.start + self.count
    }

    pub(super) const fn bytes(self) -> u64 {
        self.count as u64 * UNIT
    }
}

/// A free part; the map's key is its start.
#[derive(Clone, Copy, Debug)]
struct FreePart {
    count: u32,
    /// Start of the portion that was freed last.
    hot: u32,
    /// Time of that release, as a counter.
    stamp: u64,
}

/// Maximum size with a bin of its own; above, a bin holds a power of two.
const EXACT: u32 = 32;
/// Number of bins, at most 32 + 27, so that one word tells which bins are filled.
const BINS: usize = 59;

/// Free space of all segments.
#[derive(Debug)]
pub(super) struct Space {
    /// Size of a segment in units: no extent crosses its end.
    segment: u32,
    free: BTreeMap<u32, FreePart>,
    /// Starts of the free parts, by size and then by age.
    bins: [BTreeMap<u64, u32>; BINS],
    filled: u64,
    stamp: u64,
    /// Number of free units.
    pub(super) total: u64,
}

impl Space {
    pub(super) fn new(segment: u32) -> Self {
        let bins = std::array::from_fn(|_| BTreeMap::new());
        Self { segment, free: BTreeMap::new(), bins, filled: 0, stamp: 0, total: 0 }
    }

    /// Frees units. They are the next to be allocated.
    pub(super) fn add(&mut self, extent: Extent) {
        if extent.count == 0 {
            return;
        }
        self.total += u64::from(extent.count);
        let (mut start, mut end) = (extent.start, extent.end());
        let before = self.free.range(..start).next_back().map(|(start, free)| (*start, *free));
        if let Some((other, free)) = before
            && other + free.count == start
            && other / self.segment == start / self.segment
        {
            self.forget(other);
            start = other;
        }
        if let Some(free) = self.free.get(&end)
            && end / self.segment == start / self.segment
        {
            let (other, count) = (end, free.count);
            self.forget(other);
            end += count;
        }
        self.note(start, end - start, extent.start);
    }

    /// Allocates up to `want` consecutive units, at least `least` of them, from the space freed
    /// last.
    pub(super) fn take(&mut self, want: u32, least: u32) -> Option<Extent> {
        let first = bin(least.max(1));
        let mut set = self.filled & (u64::MAX << first);
        let mut best: Option<(u64, u32)> = None;
        while set != 0 {
            let index = set.trailing_zeros() as usize;
            set &= set - 1;
            if let Some((&stamp, &start)) = self.bins[index].last_key_value()
                && best.is_none_or(|best| best.0 < stamp)
                && self.free[&start].count >= least
            {
                best = Some((stamp, start));
            }
        }
        best.map(|(_, start)| self.cut(start, want))
    }

    /// Allocates units at a position, if they are free: an extent becomes longer instead of a
    /// second one.
    pub(super) fn take_at(&mut self, start: u32, want: u32) -> Option<Extent> {
        let (&first, free) = self.free.range(..=start).next_back()?;
        if first + free.count <= start || want == 0 {
            return None;
        }
        Some(self.cut_at(first, start, want))
    }

    /// Allocates up to `want` units from the largest free part.
    pub(super) fn take_largest(&mut self, want: u32) -> Option<Extent> {
        let last = self.filled.checked_ilog2()?;
        let start = *self.bins[last as usize].last_key_value()?.1;
        Some(self.cut(start, want))
    }

    /// Removes a whole free part for good. Returns false if the extent is not exactly one free
    /// part.
    pub(super) fn withdraw(&mut self, extent: Extent) -> bool {
        let whole = self.free.get(&extent.start).is_some_and(|free| free.count == extent.count);
        if whole {
            self.forget(extent.start);
            self.total -= u64::from(extent.count);
        }
        whole
    }

    fn cut(&mut self, start: u32, want: u32) -> Extent {
        let free = self.free[&start];
        // Starts at the portion freed last, unless an earlier start gives more consecutive units.
        let latest = start + free.count.saturating_sub(want);
        self.cut_at(start, free.hot.min(latest), want)
    }

    fn cut_at(&mut self, start: u32, at: u32, want: u32) -> Extent {
        let end = start + self.free[&start].count;
        let taken = Extent { start: at, count: want.min(end - at) };
        self.forget(start);
        self.total -= u64::from(taken.count);
        // The part after is allocated before the part in front.
        self.note(start, at - start, start);
        self.note(taken.end(), end - taken.end(), taken.end());
        taken
    }

    fn note(&mut self, start: u32, count: u32, hot: u32) {
        if count == 0 {
            return;
        }
        self.stamp += 1;
        self.free.insert(start, FreePart { count, hot, stamp: self.stamp });
        self.bins[bin(count)].insert(self.stamp, start);
        self.filled |= 1 << bin(count);
    }

    fn forget(&mut self, start: u32) {
        if let Some(free) = self.free.remove(&start) {
            let index = bin(free.count);
            self.bins[index].remove(&free.stamp);
            if self.bins[index].is_empty() {
                self.filled &= !(1 << index);
            }
        }
    }
}

/// Returns the bin of a size above zero.
const fn bin(count: u32) -> usize {
    if count <= EXACT {
        count as usize - 1
    } else {
        (EXACT + count.ilog2() - EXACT.ilog2()) as usize
    }
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
