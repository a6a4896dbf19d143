//! How long a peer is waited for, decided from moments that are given: no clock
//! and no socket is here.
//!
//! A wait that begins anew with each byte that comes has no end where a peer
//! drips: it sends a byte whenever one would give it up. So what comes prolongs
//! nothing. Only what its owner takes for progress does ([`Patience::moved`]), as
//! data that the peer takes: that may be slow, and is honest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The longest time without progress. Whoever shares it may change it while it is waited for.
#[derive(Clone, Debug)]
pub struct Limit(Arc<AtomicU64>);

/// The milliseconds of no limit.
const UNLIMITED: u64 = u64::MAX;

impl Limit {
    /// Returns a limit; without a time a peer is waited for as long as its connection lives.
    pub fn new(time: Option<Duration>) -> Self {
        let limit = Self(Arc::default());
        limit.set(time);
        limit
    }

    /// Changes the limit for all who share it.
    pub fn set(&self, time: Option<Duration>) {
        let millis = time.and_then(|time| u64::try_from(time.as_millis()).ok());
        self.0.store(millis.unwrap_or(UNLIMITED), Ordering::Relaxed);
    }

    /// Returns the time; nothing where there is no limit.
    pub fn get(&self) -> Option<Duration> {
        Some(self.0.load(Ordering::Relaxed))
            .filter(|millis| *millis != UNLIMITED)
            .map(Duration::from_millis)
    }
}

impl From<Duration> for Limit {
    fn from(time: Duration) -> Self {
        Self::new(Some(time))
    }
}

/// How many reads after the end still count. A thread that had no processor for
/// long finds then what came in time: the most that is kept of it, 64 KiB, by
/// reads of 4 KiB.
const LAST_READS: u32 = 16;

/// How long is waited, and since when.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    limit: Limit,
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
    pub(crate) fn new(limit: impl Into<Limit>, now: Instant) -> Self {
        Self { limit: limit.into(), since: now, late: 0 }
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
        self.limit.get().is_some_and(|limit| self.waited(now) >= limit)
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
    fn a_limit_that_is_changed_counts_for_who_waits_already() {
        let (began, limit) = (Instant::now(), Limit::new(None));
        let mut patience = Patience::new(limit.clone(), began);
        assert_eq!(patience.next(began + LIMIT * 1_000_000), Next::Wait);
        limit.set(Some(LIMIT));
        assert_eq!(patience.next(began + LIMIT), Next::Take);
        limit.set(None);
        assert!(!patience.is_over(began + LIMIT * 2));
        // A time without a number of milliseconds is none.
        assert_eq!(Limit::from(Duration::MAX).get(), None);
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
