//! Whether to busy-poll for what is to come, and yield between, or to sleep.
//!
//! Where another program works on the processor, whoever yields to it is kept away
//! for its whole turn, while whoever wakes from sleep is let in at once. So who was
//! kept away backs off: it sleeps the next times, and longer where it goes on like
//! this.

use std::time::Duration;

/// Counts how often to sleep in place of polling.
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
    /// Who is kept away for longer has yielded to a program that works.
    contended: Duration,
    first: u32,
    most: u32,
    /// How many times more to sleep, and how many it was at first.
    left: u32,
    holding: u32,
}

impl Backoff {
    /// Where yielding takes longer than `contended`, the next `first` times are
    /// slept, and up to `most` where it goes on.
    pub const fn new(contended: Duration, (first, most): (u32, u32)) -> Self {
        Self { contended, first, most, left: 0, holding: 0 }
    }

    /// Returns whether to poll this time. Counts it where it is to be slept.
    pub const fn may_poll(&mut self) -> bool {
        let may = self.left == 0;
        self.left = self.left.saturating_sub(1);
        may
    }

    /// Hears how long yielding and a poll took, and whether it found what is polled
    /// for. Tells whether that was too long to go on.
    pub fn was_contended(&mut self, time: Duration, found: bool) -> bool {
        let contended = time > self.contended;
        if contended {
            self.holding = (self.holding * 2).clamp(self.first, self.most);
            self.left = self.holding;
        } else if found {
            // Once is not for ever, and not being kept away once is not the end
            // of it.
            self.holding = self.holding.saturating_sub(1);
        }
        contended
    }

    /// How many times more are slept.
    pub const fn left(&self) -> u32 {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_micros(50);

    /// Keeps it away once, and tells how long it sleeps then.
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
