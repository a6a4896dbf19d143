//! The delay before the next look at a ring that was just emptied.
//!
//! A reader in poll(2) is woken for each block. While packets come, that costs a wake-up every 10
//! ms or less, at both ends: the kernel wakes it on the sender's processor. So the reader sleeps
//! instead, and finds several blocks at a time. After a sleep that finds nothing it waits in
//! poll(2) again: the first packets after a silence are not delayed.

use std::time::Duration;

/// Longest sleep; a person does not notice it.
const LONGEST: Duration = Duration::from_millis(40);

/// Number of blocks in a ring of which a sleep may fill one. The other fifteen take later packets,
/// and each may be closed by its timeout almost empty.
const BLOCKS: u32 = 16;

/// Rate in bytes per second at which packets do not fill the ring during a sleep: more than 10
/// Gbit/s.
const FASTEST: u64 = 2 << 30;

/// Bytes at a time beyond which the first ones are no longer in the processor's cache.
const FEW: usize = 6 << 20;

/// Time for which a reader lets blocks gather.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchingDelay {
    longest: Duration,
    last: Duration,
    /// Maximum number of blocks that count as few.
    few: u32,
    /// Blocks that were taken since the last sleep.
    taken: u32,
}

impl BatchingDelay {
    /// Makes the delay for a ring of this many blocks, each of which closes within this time.
    pub(super) fn new(blocks: u32, block_bytes: usize, within: Duration) -> Self {
        let bytes = u64::from(blocks).saturating_mul(block_bytes as u64);
        let fills = Duration::from_micros(bytes.saturating_mul(1_000_000) / FASTEST);
        let passes = within.saturating_mul(blocks) / BLOCKS;
        let longest = LONGEST.min(passes).min(fills);
        let few = u32::try_from(FEW / block_bytes.max(1)).unwrap_or(u32::MAX).max(1);
        Self { longest, last: Duration::ZERO, few, taken: 0 }
    }

    /// Counts a block that was taken.
    pub(super) const fn took(&mut self) {
        self.taken = self.taken.saturating_add(1);
    }

    /// Returns how long to leave the empty ring alone; zero means to wait in poll(2).
    pub(super) fn next(&mut self) -> Duration {
        let shortest = self.longest / 4;
        self.last = match std::mem::take(&mut self.taken) {
            0 => Duration::ZERO,
            taken if taken <= self.few => (self.last * 2).clamp(shortest, self.longest),
            _ => self.last / 2,
        };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_millis(10);

    /// Returns the sleeps after taking these numbers of blocks.
    fn delays(mut delay: BatchingDelay, taken: &[u32]) -> Vec<u128> {
        let mut delays = Vec::new();
        for blocks in taken {
            (0..*blocks).for_each(|_| delay.took());
            delays.push(delay.next().as_millis());
        }
        delays
    }

    #[test]
    fn who_finds_packets_sleeps_and_who_finds_none_waits() {
        let delay = BatchingDelay::new(256, 1 << 20, WITHIN);
        assert_eq!(delays(delay, &[0, 0, 1, 1, 2, 6, 0, 1]), [0, 0, 10, 20, 40, 40, 0, 10]);
        // As many bytes as a processor's cache holds, and no more.
        assert_eq!(delays(delay, &[1, 2, 4, 26, 13, 7, 4, 7]), [10, 20, 40, 20, 10, 5, 10, 5]);
    }

    #[test]
    fn a_small_ring_is_not_left_alone_for_long() {
        let longest = |blocks, bytes| BatchingDelay::new(blocks, bytes, WITHIN).longest.as_micros();
        assert_eq!(longest(256, 1 << 20), 40_000);
        assert_eq!(longest(64, 1 << 20), 31_250, "it is full in that time");
        assert_eq!(longest(16, 1 << 20), 7_812);
        assert_eq!(longest(16, 16 << 20), 10_000, "a sixteenth of its blocks");
        assert_eq!(longest(4_096, 16 << 10), 31_250, "small blocks change nothing of that");
        assert_eq!(longest(2, 1 << 20), 976);
        assert_eq!(BatchingDelay::new(64, 1 << 20, Duration::MAX).longest.as_micros(), 31_250);
    }

    #[test]
    fn many_small_blocks_are_few_bytes() {
        let delay = BatchingDelay::new(16_384, 16 << 10, WITHIN);
        assert_eq!(delays(delay, &[1, 100, 384, 385, 384]), [10, 20, 40, 20, 40]);
    }

    #[test]
    fn it_never_sleeps_longer_than_it_may() {
        let mut delay = BatchingDelay::new(64, 1 << 16, WITHIN);
        for taken in (0..10_u32).chain([1; 20]) {
            (0..taken).for_each(|_| delay.took());
            assert!(delay.next() <= delay.longest);
        }
    }
}
