//! Time limit of waiting for a peer, computed from given times: this module has no clock and no
//! socket.
//!
//! A wait that restarts with each received byte never ends if a peer drips: it sends a byte just
//! before each timeout. Received bytes therefore extend nothing. Only progress as defined by the
//! owner does ([`Patience::moved`]), such as data that the peer accepts: this may be slow, but is
//! honest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest time without progress. Its users may change it during the wait.
#[derive(Clone, Debug)]
pub struct Limit(Arc<AtomicU64>);

/// Milliseconds that mean no limit.
const UNLIMITED: u64 = u64::MAX;

impl Limit {
    /// Returns a limit; without a time, a peer is awaited as long as its connection lives.
    pub fn new(time: Option<Duration>) -> Self {
        let limit = Self(Arc::default());
        limit.set(time);
        limit
    }

    /// Changes the limit for all users.
    pub fn set(&self, time: Option<Duration>) {
        let millis = time.and_then(|time| u64::try_from(time.as_millis()).ok());
        self.0.store(millis.unwrap_or(UNLIMITED), Ordering::Relaxed);
    }

    /// Returns the time; nothing if there is no limit.
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

/// Number of reads after the end that still count. A thread without a processor for a long time
/// then finds bytes that came in time: at most 64 KiB, in reads of 4 KiB.
const LAST_READS: u32 = 16;

/// Limit and beginning of a wait.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    limit: Limit,
    since: Instant,
    /// Number of reads since its end.
    late: u32,
}

/// Next action of a waiting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitAction {
    /// Wait: there is time.
    Wait,
    /// Take the bytes that have come by now, without waiting.
    Take,
    /// Give up: more bytes came even after that.
    GiveUp,
}

impl Patience {
    pub(crate) fn new(limit: impl Into<Limit>, now: Instant) -> Self {
        Self { limit: limit.into(), since: now, late: 0 }
    }

    /// Records progress, which restarts the wait.
    pub(crate) const fn moved(&mut self, now: Instant) {
        (self.since, self.late) = (now, 0);
    }

    /// Returns the time without progress.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    /// Returns whether the time is over.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.limit.get().is_some_and(|limit| self.waited(now) >= limit)
    }

    /// Returns the action before the next read.
    pub(crate) fn next(&mut self, now: Instant) -> WaitAction {
        if !self.is_over(now) {
            return WaitAction::Wait;
        }
        self.late += 1;
        if self.late > LAST_READS { WaitAction::GiveUp } else { WaitAction::Take }
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
            assert_eq!(patience.next(began + TENTH * tenth), WaitAction::Wait, "{tenth}");
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
            assert_eq!(patience.next(late), WaitAction::Take, "{read}");
        }
        assert_eq!(patience.next(late), WaitAction::GiveUp);
        assert_eq!(patience.next(late), WaitAction::GiveUp);
    }

    #[test]
    fn a_limit_that_is_changed_counts_for_who_waits_already() {
        let (began, limit) = (Instant::now(), Limit::new(None));
        let mut patience = Patience::new(limit.clone(), began);
        assert_eq!(patience.next(began + LIMIT * 1_000_000), WaitAction::Wait);
        limit.set(Some(LIMIT));
        assert_eq!(patience.next(began + LIMIT), WaitAction::Take);
        limit.set(None);
        assert!(!patience.is_over(began + LIMIT * 2));
        // A time that exceeds the number of milliseconds means no limit.
        assert_eq!(Limit::from(Duration::MAX).get(), None);
    }

    #[test]
    fn progress_begins_it_anew() {
        let began = Instant::now();
        let mut patience = Patience::new(LIMIT, began);
        let late = began + LIMIT * 2;
        while patience.next(late) != WaitAction::GiveUp {}
        patience.moved(late);
        assert_eq!(patience.waited(late), Duration::ZERO);
        assert_eq!(patience.next(late + LIMIT - TENTH), WaitAction::Wait);
        assert_eq!(patience.next(late + LIMIT), WaitAction::Take);
        // The time of another thread may be slightly behind.
        assert_eq!(patience.waited(began), Duration::ZERO);
    }
}
