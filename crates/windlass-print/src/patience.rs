//! How long a peer is waited for, decided from moments that are given: no clock
//! and no socket is here.
//!
//! A wait that begins anew with each byte that comes has no end where a peer
//! drips: it sends a byte whenever one would give it up. So what comes prolongs
//! nothing. Only what its owner takes for progress does ([`Patience::moved`]), as
//! data that the peer takes: that may be slow, and is honest.

use std::time::{Duration, Instant};

/// How many reads after the end still count. A thread that had no processor for
/// long finds then what came in time: the most that is kept of it, 64 KiB, by
/// reads of 4 KiB.
const LAST_READS: u32 = 16;

/// How long is waited, and since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    limit: Duration,
    since: Instant,
    /// Reads since its end.
    late: u32,
}

/// What is to be done where something is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There is time.
    Wait,
    /// There is none. What has come by now is taken, and nothing is waited for.
    Take,
    /// That was done, and more came all the same.
    GiveUp,
}

impl Patience {
    pub(crate) const fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, since: now, late: 0 }
    }

    /// Something moved: it begins anew.
    pub(crate) const fn moved(&mut self, now: Instant) {
        (self.since, self.late) = (now, 0);
    }

    /// How long nothing moved.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    /// Whether it has come to its end.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.waited(now) >= self.limit
    }

    /// What to do before another read.
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        if !self.is_over(now) {
            return Next::Wait;
        }
        self.late += 1;
        if self.late > LAST_READS { Next::GiveUp } else { Next::Take }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);
    const TENTH: Duration = Duration::from_millis(100);

    #[test]
    fn what_comes_does_not_prolong_it() {
        let began = Instant::now();
        let mut patience = Patience::new(LIMIT, began);
        // A byte comes before each of them.
        for tenth in 0..10 {
            assert_eq!(patience.next(began + TENTH * tenth), Next::Wait, "{tenth}");
        }
        assert!(!patience.is_over(began + LIMIT - Duration::from_nanos(1)));
        assert!(patience.is_over(began + LIMIT));
        assert_eq!(patience.waited(began + LIMIT), LIMIT);
    }

    #[test]
    fn what_came_in_time_is_taken_and_nothing_beyond_it() {
        let began = Instant::now();
        let mut patience = Patience::new(LIMIT, began);
        let late = began + LIMIT * 50;
        for read in 0..LAST_READS {
            assert_eq!(patience.next(late), Next::Take, "{read}");
        }
        assert_eq!(patience.next(late), Next::GiveUp);
        assert_eq!(patience.next(late), Next::GiveUp);
    }

    #[test]
    fn progress_begins_it_anew() {
        let began = Instant::now();
        let mut patience = Patience::new(LIMIT, began);
        let late = began + LIMIT * 2;
        while patience.next(late) != Next::GiveUp {}
        patience.moved(late);
        assert_eq!(patience.waited(late), Duration::ZERO);
        assert_eq!(patience.next(late + LIMIT - TENTH), Next::Wait);
        assert_eq!(patience.next(late + LIMIT), Next::Take);
        // A clock of another thread may be a little behind.
        assert_eq!(patience.waited(began), Duration::ZERO);
    }
}
