//! Busy-polling for clients that ask again as soon as they are answered.
//!
//! Where each side waits asleep for the other, a job costs two wakes of an idle
//! processor. On a virtual machine a wake goes through the host, and costs more
//! than the job. So who waits for a client that was prompt the last time polls for
//! what it says, and yields between.
//!
//! What that costs is bounded. A poll ends after [`MAX_POLL`], and a client that was
//! slower is waited for asleep until it is prompt again. No more than half of the
//! processors poll at a time. And who yields and is kept away backs off: others
//! have work, so no processor is idle and a wake is cheap, and the kernel lets a
//! sleeper that wakes in before one that yielded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use windlass_base::Backoff;

/// A client that speaks within this is prompt, and it is polled for so long. Both
/// wakes together are 0.3 ms where the host lets a processor rest.
const MAX_POLL: Duration = Duration::from_micros(500);

/// To yield takes 1 µs where nobody else wants the processor, and 0.7 ms and
/// longer where a program works on it. What only wakes shortly is between.
const CONTENDED: Duration = Duration::from_micros(50);

/// How many times it then sleeps: at first, and where it goes on like this.
const BACKOFF: (u32, u32) = (4, 1_024);

/// Who polls at the moment.
#[derive(Debug)]
pub(super) struct Pollers {
    polling: AtomicUsize,
    most: usize,
}

impl Default for Pollers {
    /// As many as half of the processors.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { polling: AtomicUsize::new(0), most: processors / 2 }
    }
}

impl Pollers {
    /// Leave to poll, while it lives; nothing where enough do.
    fn begin(&self) -> Option<Polling<'_>> {
        let before = self.polling.fetch_add(1, Ordering::Relaxed);
        let polling = Polling { of: self };
        (before < self.most).then_some(polling)
    }
}

struct Polling<'a> {
    of: &'a Pollers,
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.of.polling.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How one client is waited for.
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
    /// Polls until `attempt` gives something, where that is worth it. Nothing is
    /// found where sleep is better.
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

    /// Remembers how long the client took to speak.
    pub(super) fn took(&mut self, time: Duration) {
        self.was_prompt = time <= MAX_POLL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    /// Polls a client that speaks at this attempt, each of which takes so long.
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
        // Where others have the processor it ends sooner by itself, and later by
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
        // What was found meanwhile is not lost.
        assert_eq!(attempts(&mut client, &one, 1, CONTENDED * 2), (Some(7), 1));
        for _ in 0..first {
            assert_eq!(attempts(&mut client, &one, 1, CONTENDED * 2), (None, 0));
        }
        // Nothing there: it does not go on.
        assert_eq!(attempts(&mut client, &one, 9, CONTENDED * 2), (None, 1));
        assert_eq!(client.backoff.left(), first * 2);
        for _ in 0..20 {
            while !client.backoff.may_poll() {}
            attempts(&mut client, &one, 1, CONTENDED * 2);
        }
        assert_eq!(client.backoff.left(), most);
    }
}
