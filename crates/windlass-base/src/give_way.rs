//! Whether to look for what is to come, and give way between, or to sleep.
//!
//! Where another program works on the processor, whoever gives way to it is kept
//! away for its whole turn, while whoever wakes from sleep is let in at once. So
//! who was kept away sleeps the next times, and longer where it goes on like this.

use std::time::Duration;

/// Counts how often to sleep in place of looking.
///
/// ```
/// use std::time::Duration;
/// use windlass_base::GiveWay;
///
/// let turn = Duration::from_micros(500);
/// let mut looks = GiveWay::new(turn, (2, 8));
/// assert!(looks.may_look());
/// assert!(looks.was_kept_away(2 * turn, false));
/// let next: Vec<bool> = (0..3).map(|_| looks.may_look()).collect();
/// assert_eq!(next, [false, false, true]);
/// ```
#[derive(Clone, Debug)]
pub struct GiveWay {
    /// Who is kept away for longer has given way to a program that works.
    crowded: Duration,
    first: u32,
    most: u32,
    /// How many times more to sleep, and how many it was at first.
    left: u32,
    holding: u32,
}

impl GiveWay {
    /// Where giving way takes longer than `crowded`, the next `first` times are
    /// slept, and up to `most` where it goes on.
    #[must_use]
    pub const fn new(crowded: Duration, (first, most): (u32, u32)) -> Self {
        Self { crowded, first, most, left: 0, holding: 0 }
    }

    /// Whether to look this time. Counts it where it is to be slept.
    pub const fn may_look(&mut self) -> bool {
        let may = self.left == 0;
        self.left = self.left.saturating_sub(1);
        may
    }

    /// Hears how long giving way and a look took, and whether it found what is
    /// looked for. Tells whether that was too long to go on.
    pub fn was_kept_away(&mut self, time: Duration, found: bool) -> bool {
        let crowded = time > self.crowded;
        if crowded {
            self.holding = (self.holding * 2).clamp(self.first, self.most);
            self.left = self.holding;
        } else if found {
            // Once is not for ever, and not being kept away once is not the end
            // of it.
            self.holding = self.holding.saturating_sub(1);
        }
        crowded
    }

    /// How many times more are slept.
    #[must_use]
    pub const fn left(&self) -> u32 {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_micros(50);

    /// Keeps it away once, and tells how long it sleeps then.
    fn kept_away(looks: &mut GiveWay) -> u32 {
        assert!(looks.was_kept_away(TURN * 2, false));
        let left = looks.left();
        assert_eq!((0..left).filter(|_| looks.may_look()).count(), 0);
        assert!(looks.may_look());
        left
    }

    #[test]
    fn who_is_kept_away_again_sleeps_longer() {
        let mut looks = GiveWay::new(TURN, (4, 20));
        let slept: Vec<u32> = (0..4).map(|_| kept_away(&mut looks)).collect();
        assert_eq!(slept, [4, 8, 16, 20]);
    }

    #[test]
    fn looks_that_find_something_make_up_for_it() {
        let mut looks = GiveWay::new(TURN, (4, 20));
        kept_away(&mut looks);
        for found in [true, false, true, true] {
            assert!(!looks.was_kept_away(TURN, found));
            assert!(looks.may_look());
        }
        // Four less three, and twice that is less than the first.
        assert_eq!(kept_away(&mut looks), 4);
        (0..2).for_each(|_| assert!(!looks.was_kept_away(TURN, true)));
        kept_away(&mut looks);
        assert_eq!(kept_away(&mut looks), 8);
    }
}
