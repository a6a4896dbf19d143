//! Waiting for the other end's words, awake when they come.
//!
//! An idle processor takes tens of microseconds to wake a program: on a short path
//! more than the path itself. So a [`BusyPoll`] sleeps only until shortly before the
//! words are to be expected, by how long they took of late, and then polls for them,
//! yielding to others between. What it costs is bounded: 1.2 ms of a processor each
//! time.

use std::io;
use std::time::{Duration, Instant};

use windlass_base::Backoff;

/// How many of the last times the expectation is taken from.
const KEPT: usize = 16;

/// So long before the words are to be expected sleep ends: most sleepers wake
/// within it.
const MARGIN: Duration = Duration::from_micros(200);

/// So long words may be later than expected before sleep begins again.
const GRACE: Duration = Duration::from_millis(1);

/// Who yields and is kept away for so long shares the processor with a program
/// that works: turns of Linux are 0.7 ms and longer.
const CONTENDED: Duration = Duration::from_micros(500);

/// How many times it then sleeps: at first, and where it goes on like this.
const BACKOFF: (u32, u32) = (16, 4_096);

/// The longest sleep without looking whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// By what a thread knows the time, and how it yields to others.
trait Time {
    fn now(&self) -> Instant;
    fn yield_now(&self);
}

/// The system's.
struct System;

impl Time for System {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn yield_now(&self) {
        std::thread::yield_now();
    }
}

/// How a thread waits for words.
#[derive(Clone, Debug)]
pub(crate) struct BusyPoll {
    /// How long the last ones took, in a ring.
    took: [Option<Duration>; KEPT],
    next: usize,
    backoff: Backoff,
    sleeps: bool,
}

impl Default for BusyPoll {
    fn default() -> Self {
        let backoff = Backoff::new(CONTENDED, BACKOFF);
        Self { took: [None; KEPT], next: 0, backoff, sleeps: false }
    }
}

impl BusyPoll {
    /// One that always sleeps.
    pub(crate) fn never() -> Self {
        Self { sleeps: true, ..Self::default() }
    }

    /// Remembers how long words took.
    pub(crate) fn took(&mut self, time: Duration) {
        self.took[self.next] = Some(time);
        self.next = (self.next + 1) % KEPT;
    }

    fn expected(&self) -> Duration {
        self.took.iter().flatten().min().copied().unwrap_or(Duration::ZERO)
    }

    /// Waits until `attempt` gives something: words that are expected some time
    /// after `since`, which is a moment ago and no more. Gives them with the time
    /// at which they were found; nothing where it is `until`, or `stop` says so.
    /// `sleep` sleeps so long at most, and less where there is something to
    /// attempt.
    pub(crate) fn wait<T, E: From<io::Error>>(
        &mut self,
        since: Instant,
        until: Instant,
        stop: &dyn Fn() -> bool,
        attempt: impl FnMut() -> Result<Option<T>, E>,
        sleep: impl Fn(Duration) -> io::Result<bool>,
    ) -> Result<Option<(T, Instant)>, E> {
        self.wait_by(&System, (since, until), stop, attempt, sleep)
    }

    fn wait_by<T, E: From<io::Error>>(
        &mut self,
        time: &impl Time,
        (since, until): (Instant, Instant),
        stop: &dyn Fn() -> bool,
        mut attempt: impl FnMut() -> Result<Option<T>, E>,
        sleep: impl Fn(Duration) -> io::Result<bool>,
    ) -> Result<Option<(T, Instant)>, E> {
        let found = |words| Ok(Some((words, time.now())));
        if !self.sleeps && self.backoff.may_poll() {
            let mut now = since;
            let wake = until.min(since + self.expected().saturating_sub(MARGIN));
            while now < wake && !stop() {
                if sleep((wake - now).min(POLL_INTERVAL))?
                    && let Some(words) = attempt()?
                {
                    return found(words);
                }
                now = time.now();
            }
            let tired = until.min(now + MARGIN + GRACE);
            while now < tired {
                // What was asked for a moment ago is not there yet, and who is
                // to give it may wait for this processor.
                time.yield_now();
                let words = attempt()?;
                let after = time.now();
                let took = after.saturating_duration_since(now);
                let contended = self.backoff.was_contended(took, words.is_some());
                if let Some(words) = words {
                    return Ok(Some((words, after)));
                }
                if contended {
                    break;
                }
                now = after;
            }
        }
        loop {
            let left = until.saturating_duration_since(time.now());
            if left.is_zero() || stop() {
                return Ok(attempt()?.map(|words| (words, time.now())));
            }
            sleep(left.min(POLL_INTERVAL))?;
            if let Some(words) = attempt()? {
                return found(words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use windlass_sys::socket::receive_now;
    use windlass_sys::wait::ready;

    const NEVER: &dyn Fn() -> bool = &|| false;

    #[test]
    fn what_comes_is_found_awake_or_asleep() {
        for mut busy_poll in [BusyPoll::default(), BusyPoll::never()] {
            // Before the expected time, about it, and long after.
            for (expected, late) in [(50, 0), (50, 5), (5, 5), (0, 30), (0, 0)] {
                (0..KEPT).for_each(|_| busy_poll.took(Duration::from_millis(expected)));
                let (mut there, here) = UnixStream::pair().unwrap();
                let since = Instant::now();
                let writing = std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(late));
                    there.write_all(b"x").unwrap();
                });
                let got = busy_poll.wait(
                    since,
                    since + Duration::from_secs(20),
                    NEVER,
                    || receive_now(&here, &mut [0; 4]),
                    |time| ready(&[here.as_fd()], Some(time)),
                );
                writing.join().unwrap();
                let (bytes, at) = got.unwrap().unwrap();
                assert_eq!(bytes, 1, "{expected} {late}");
                assert!(at.duration_since(since) >= Duration::from_millis(late));
            }
        }
    }

    /// A time that passes only where somebody sleeps or yields.
    struct Made {
        at: Cell<Instant>,
        slept: Cell<Duration>,
        /// What yielding takes.
        yielding: Duration,
    }

    impl Time for Made {
        fn now(&self) -> Instant {
            self.at.get()
        }

        fn yield_now(&self) {
            self.pass(self.yielding);
        }
    }

    impl Made {
        fn new(yielding: Duration) -> Self {
            Self { at: Cell::new(Instant::now()), slept: Cell::default(), yielding }
        }

        fn pass(&self, time: Duration) {
            self.at.set(self.at.get() + time);
        }

        fn sleep(&self, time: Duration) -> io::Result<bool> {
            self.pass(time);
            self.slept.set(self.slept.get() + time);
            Ok(false)
        }
    }

    #[test]
    fn a_wait_ends_and_mostly_sleeps() {
        let time = Made::new(Duration::from_micros(1));
        let nothing = || Ok::<Option<()>, io::Error>(None);
        let mut busy_poll = BusyPoll::default();
        (0..KEPT).for_each(|_| busy_poll.took(Duration::from_millis(20)));
        let since = time.now();
        let until = since + Duration::from_millis(60);
        let sleep = |long| time.sleep(long);
        let waited = busy_poll.wait_by(&time, (since, until), NEVER, nothing, sleep);
        assert_eq!(waited.unwrap(), None);
        assert!(time.now() >= until);
        // All but what is before and after the time at which words are expected.
        assert_eq!(time.slept.get(), until - since - MARGIN - GRACE);
        // And at once where it is to stop.
        let (now, slept) = (time.now(), time.slept.get());
        let span = (now, now + Duration::from_secs(60));
        let waited = busy_poll.wait_by(&time, span, &|| true, nothing, sleep);
        assert_eq!(waited.unwrap(), None);
        assert_eq!(time.slept.get(), slept);
    }

    #[test]
    fn who_is_kept_away_sleeps_instead() {
        let mut busy_poll = BusyPoll::default();
        let time = Made::new(2 * CONTENDED);
        let nothing = || Ok::<Option<()>, io::Error>(None);
        let sleep = |long| time.sleep(long);
        let since = time.now();
        let span = (since, since + 3 * CONTENDED);
        assert_eq!(busy_poll.wait_by(&time, span, NEVER, nothing, sleep).unwrap(), None);
        assert_eq!(busy_poll.backoff.left(), BACKOFF.0);
        let calls = Cell::new(0);
        let second = || {
            calls.set(calls.get() + 1);
            Ok::<_, io::Error>((calls.get() > 1).then_some(8))
        };
        let span = (time.now(), time.now() + Duration::from_secs(60));
        let got = busy_poll.wait_by(&time, span, NEVER, second, sleep).unwrap();
        assert_eq!(got.map(|(words, _)| words), Some(8));
        assert_eq!(busy_poll.backoff.left(), BACKOFF.0 - 1, "this one slept");
    }
}
