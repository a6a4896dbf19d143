//! Busy-polling for clients that ask again as soon as they are answered.
//!
//! If both sides wait asleep for each other, a job costs two wakes of an idle processor. On a
//! virtual machine, a wake goes through the host and costs more than the job. So a thread that
//! waits for a client that was prompt last time polls for its data, and yields in between.
//!
//! The cost is bounded. A poll ends after [`MAX_POLL`], and a client that was slower is waited for
//! asleep until it is prompt again. At most half of the processors poll at a time. A polling thread
//! whose yield takes long backs off: others have work, so no processor is idle and a wake is cheap.
//! Also, the kernel prefers a sleeper that wakes to a thread that yielded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use windlass_base::Backoff;

/// Maximum answer time of a prompt client, and maximum time of a poll. Both wakes together take 0.3
/// ms if the host lets a processor rest.
const MAX_POLL: Duration = Duration::from_micros(500);

/// Duration of a yield from which the processor counts as contended. A yield takes 1 µs on an idle
/// processor, and 0.7 ms or more if a program computes there. Short wakes are in between.
const CONTENDED: Duration = Duration::from_micros(50);

/// Number of sleeps without polling after contention: at first, and at most if the contention
/// continues.
const BACKOFF: (u32, u32) = (4, 1_024);

/// Number of polling threads, and its limit.
#[derive(Debug)]
pub(super) struct Pollers {
    polling: AtomicUsize,
    most: usize,
}

impl Default for Pollers {
    /// Allows half of the processors.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { polling: AtomicUsize::new(0), most: processors / 2 }
    }
}

impl Pollers {
    /// Returns the permission to poll, for its lifetime; `None` if enough threads poll.
    fn begin(&self) -> Option<PollPermit<'_>> {
        let before = self.polling.fetch_add(1, Ordering::Relaxed);
        let polling = PollPermit { of: self };
        (before < self.most).then_some(polling)
    }
}

struct PollPermit<'a> {
    of: &'a Pollers,
}

impl Drop for PollPermit<'_> {
    fn drop(&mut self) {
        self.of.polling.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Polling state of one client.
#[derive(Debug)]
pub(super) struct BusyPoll {
    was_prompt: bool,
    backoff: Backoff,
}

impl Default for BusyPoll {
    fn default() -> Self {
        Self { was_prompt: false, backoff: Backoff::new(CONTENDED, BACKOFF) }
    }
}

impl BusyPoll {
    /// Polls until `attempt` returns data, if polling is worth it. Returns `None` if sleeping is
    /// better.
    pub(super) fn poll<T, E>(
        &mut self,
        pollers: &Pollers,
        mut attempt: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        if !self.was_prompt || !self.backoff.may_poll() {
            return Ok(None);
        }
        let Some(_polling) = pollers.begin() else { return Ok(None) };
        let since = Instant::now();
        let mut before = since;
        loop {
            yield_now();
            let found = attempt()?;
            let now = Instant::now();
            let time = now.duration_since(before);
            let contended = self.backoff.was_contended(time, found.is_some());
            if contended || found.is_some() || now.duration_since(since) > MAX_POLL {
                return Ok(found);
            }
            before = now;
        }
    }

    /// Records the time that the client took to answer.
    pub(super) fn took(&mut self, time: Duration) {
        self.was_prompt = time <= MAX_POLL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    /// Polls a client that answers at attempt `speaks_at`, with attempts of duration `takes`.
    fn attempts(
        busy_poll: &mut BusyPoll,
        pollers: &Pollers,
        speaks_at: u32,
        takes: Duration,
    ) -> (Option<u32>, u32) {
        let count = Cell::new(0);
        let attempt = || {
            std::thread::sleep(takes);
            count.set(count.get() + 1);
            Ok::<_, Infallible>((count.get() >= speaks_at).then_some(7))
        };
        let found = busy_poll.poll(pollers, attempt).unwrap();
        (found, count.get())
    }

    fn pollers(most: usize) -> Pollers {
        Pollers { polling: AtomicUsize::new(0), most }
    }

    #[test]
    fn only_a_client_that_was_prompt_is_polled_for() {
        let (mut client, one) = (BusyPoll::default(), pollers(1));
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (None, 0));
        client.took(MAX_POLL);
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (Some(7), 1));
        client.took(MAX_POLL * 2);
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (None, 0));
    }

    #[test]
    fn a_poll_ends() {
        let (mut client, one) = (BusyPoll::default(), pollers(1));
        client.took(Duration::ZERO);
        let since = Instant::now();
        let (found, _) = attempts(&mut client, &one, u32::MAX, Duration::ZERO);
        assert_eq!(found, None);
        // If other threads use the processor, the poll ends sooner by itself, or later because of
        // their turns.
        assert!(since.elapsed() > MAX_POLL || client.backoff.left() > 0);
    }

    #[test]
    fn no_more_poll_than_may() {
        let mut client = BusyPoll::default();
        client.took(Duration::ZERO);
        assert_eq!(attempts(&mut client, &pollers(0), 1, Duration::ZERO), (None, 0));
        let one = pollers(1);
        let other = one.begin().unwrap();
        assert!(one.begin().is_none(), "there is one");
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (None, 0));
        drop(other);
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (Some(7), 1));
        assert_eq!(one.polling.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_is_kept_away_sleeps_for_a_while() {
        let (mut client, one) = (BusyPoll::default(), pollers(1));
        client.took(Duration::ZERO);
        let (first, most) = BACKOFF;
        // Data that arrived in the meantime is not lost.
        assert_eq!(attempts(&mut client, &one, 1, CONTENDED * 2), (Some(7), 1));
        for _ in 0..first {
            assert_eq!(attempts(&mut client, &one, 1, CONTENDED * 2), (None, 0));
        }
        // Without data, the poll does not go on.
        assert_eq!(attempts(&mut client, &one, 9, CONTENDED * 2), (None, 1));
        assert_eq!(client.backoff.left(), first * 2);
        for _ in 0..20 {
            while !client.backoff.may_poll() {}
            attempts(&mut client, &one, 1, CONTENDED * 2);
        }
        assert_eq!(client.backoff.left(), most);
    }
}
