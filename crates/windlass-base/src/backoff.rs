//! Choice between busy polling for the next event, with yields between, and sleeping.
//!
//! If another program works on the processor, a thread that yields to it loses the processor for
//! that program's whole time slice. A thread that wakes from sleep runs at once. So a thread that
//! was kept away backs off: it sleeps the next times, and longer if that goes on.

use std::time::Duration;

/// Counts how often to sleep instead of polling.
///
/// ```
/// use std::time::Duration;
/// use windlass_base::Backoff;
///
/// let turn = Duration::from_micros(500);
/// let mut backoff = Backoff::new(turn, (2, 8));
/// assert!(backoff.may_poll());
/// assert!(backoff.was_contended(2 * turn, false));
/// let next: Vec<bool> = (0..3).map(|_| backoff.may_poll()).collect();
/// assert_eq!(next, [false, false, true]);
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    /// Time of a yield beyond which another program had the processor.
    contended: Duration,
    first: u32,
    most: u32,
    /// Sleeps still to come, and their number at first.
    left: u32,
    holding: u32,
}

impl Backoff {
    /// Sleeps the next `first` times after a yield that takes longer than `contended`, and up to
    /// `most` times if that goes on.
    pub const fn new(contended: Duration, (first, most): (u32, u32)) -> Self {
        Self { contended, first, most, left: 0, holding: 0 }
    }

    /// Returns whether to poll this time. Otherwise counts a sleep.
    pub const fn may_poll(&mut self) -> bool {
        let may = self.left == 0;
        self.left = self.left.saturating_sub(1);
        may
    }

    /// Records how long a yield and a poll took, and whether the poll found anything. Returns
    /// whether that was too long to continue polling.
    pub fn was_contended(&mut self, time: Duration, found: bool) -> bool {
        let contended = time > self.contended;
        if contended {
            self.holding = (self.holding * 2).clamp(self.first, self.most);
            self.left = self.holding;
        } else if found {
            // The number decays slowly: one success is not the end of contention.
            self.holding = self.holding.saturating_sub(1);
        }
        contended
    }

    /// Returns how many sleeps are still to come.
    pub const fn left(&self) -> u32 {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_micros(50);

    /// Records a contended yield, and returns how many sleeps follow.
    fn kept_away(backoff: &mut Backoff) -> u32 {
        assert!(backoff.was_contended(TURN * 2, false));
        let left = backoff.left();
        assert_eq!((0..left).filter(|_| backoff.may_poll()).count(), 0);
        assert!(backoff.may_poll());
        left
    }

    #[test]
    fn who_is_kept_away_again_sleeps_longer() {
        let mut backoff = Backoff::new(TURN, (4, 20));
        let slept: Vec<u32> = (0..4).map(|_| kept_away(&mut backoff)).collect();
        assert_eq!(slept, [4, 8, 16, 20]);
    }

    #[test]
    fn polls_that_find_something_make_up_for_it() {
        let mut backoff = Backoff::new(TURN, (4, 20));
        kept_away(&mut backoff);
        for found in [true, false, true, true] {
            assert!(!backoff.was_contended(TURN, found));
            assert!(backoff.may_poll());
        }
        // Four less three, and twice that is less than the first.
        assert_eq!(kept_away(&mut backoff), 4);
        (0..2).for_each(|_| assert!(!backoff.was_contended(TURN, true)));
        kept_away(&mut backoff);
        assert_eq!(kept_away(&mut backoff), 8);
    }
}
