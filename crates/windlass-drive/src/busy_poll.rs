//! Waiting for an answer while awake, so that no wake-up delay is measured.
//!
//! An idle processor takes tens of microseconds to wake a program: more than the RTT of a short
//! path. A [`BusyPoll`] therefore sleeps until shortly before the answer is expected, judged by
//! recent answer times. From then on it polls, and yields to other programs in between. Its cost is
//! bounded: 1.2 ms of processor time per wait.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use windlass_base::Backoff;
use windlass_sys::clock::Clock;
use windlass_sys::socket::receive_now;
use windlass_sys::wait::ready;

/// Number of recent answer times from which the next one is expected.
const KEPT: usize = 16;

/// Time before the expected answer at which sleep ends: most sleepers wake within it.
const MARGIN: Duration = Duration::from_micros(200);

/// Time after the expected answer for which polling continues before sleep begins again.
const GRACE: Duration = Duration::from_millis(1);

/// Duration of a yield that shows a busy program on the same processor: turns of Linux are 0.7 ms
/// and longer.
const CONTENDED: Duration = Duration::from_micros(500);

/// Number of waits that sleep after contention: at first, and at most while contention continues.
const BACKOFF: (u32, u32) = (16, 4_096);

/// Longest sleep between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Way in which a thread waits for an answer.
#[derive(Clone, Debug)]
pub(crate) struct BusyPoll {
    /// Recent answer times, in a ring.
    took: [Option<Duration>; KEPT],
    next: usize,
    backoff: Backoff,
    sleeps: bool,
    clock: Clock,
}

impl Default for BusyPoll {
    fn default() -> Self {
        let backoff = Backoff::new(CONTENDED, BACKOFF);
        Self { took: [None; KEPT], next: 0, backoff, sleeps: false, clock: Clock::System }
    }
}

impl BusyPoll {
    /// Returns a `BusyPoll` that always sleeps.
    pub(crate) fn never() -> Self {
        Self { sleeps: true, ..Self::default() }
    }

    /// Records the time that an answer took.
    pub(crate) fn took(&mut self, time: Duration) {
        self.took[self.next] = Some(time);
        self.next = (self.next + 1) % KEPT;
    }

    fn expected(&self) -> Duration {
        self.took.iter().flatten().min().copied().unwrap_or(Duration::ZERO)
    }

    /// Waits until `attempt` returns something, expected some time after `since`, which is only a
    /// moment ago.
    ///
    /// Returns the result with the time at which it was found, or nothing once `until` is reached
    /// or `stop` returns true. `sleep` sleeps for at most the given time, and less if there is
    /// something to attempt.
    pub(crate) fn wait<T, E: From<io::Error>>(
        &mut self,
        since: Instant,
        until: Instant,
        stop: &dyn Fn() -> bool,
        mut attempt: impl FnMut() -> Result<Option<T>, E>,
        sleep: impl Fn(Duration) -> io::Result<bool>,
    ) -> Result<Option<(T, Instant)>, E> {
        let clock = self.clock.clone();
        let found = |words| Ok(Some((words, clock.now())));
        if !self.sleeps && self.backoff.may_poll() {
            let mut now = since;
            let wake = until.min(since + self.expected().saturating_sub(MARGIN));
            while now < wake && !stop() {
                if sleep((wake - now).min(POLL_INTERVAL))?
                    && let Some(words) = attempt()?
                {
                    return found(words);
                }
                now = clock.now();
            }
            let tired = until.min(now + MARGIN + GRACE);
            while now < tired {
                // The answer is not there yet, and the program that gives it may be waiting for
                // this processor.
                std::thread::yield_now();
                let words = attempt()?;
                let after = clock.now();
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
            let left = until.saturating_duration_since(clock.now());
            if left.is_zero() || stop() {
                return Ok(attempt()?.map(|words| (words, clock.now())));
            }
            sleep(left.min(POLL_INTERVAL))?;
            if let Some(words) = attempt()? {
                return found(words);
            }
        }
    }

    /// Fills `bytes` from a connection; returns the time of the last byte. The end of the
    /// connection is an error.
    pub(crate) fn fill(
        &mut self,
        stream: &TcpStream,
        bytes: &mut [u8],
        since: Instant,
        until: Instant,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<Instant>> {
        let mut filled = 0;
        let attempt = || loop {
            match receive_now(stream, &mut bytes[filled..])? {
                Some(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Some(more) => filled += more,
                None => return Ok(None),
            }
            if filled == bytes.len() {
                return Ok(Some(()));
            }
        };
        let sleep = |time| ready(&[stream.as_fd()], Some(time));
        Ok(self.wait(since, until, stop, attempt, sleep)?.map(|((), at)| at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use windlass_sys::clock::Hand;

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

    #[test]
    fn a_wait_ends_and_mostly_sleeps() {
        let (hand, slept) = (Hand::default(), Cell::new(Duration::ZERO));
        let mut busy_poll = BusyPoll { clock: hand.clock(), ..BusyPoll::default() };
        let nothing = || {
            // To yield and to look takes a moment.
            hand.pass(Duration::from_micros(1));
            Ok::<Option<()>, io::Error>(None)
        };
        let sleep = |long| {
            hand.pass(long);
            slept.set(slept.get() + long);
            Ok(false)
        };
        (0..KEPT).for_each(|_| busy_poll.took(Duration::from_millis(20)));
        let since = hand.clock().now();
        let until = since + Duration::from_millis(60);
        let waited = busy_poll.wait(since, until, NEVER, nothing, sleep);
        assert_eq!(waited.unwrap(), None);
        assert!(hand.clock().now() >= until);
        // All but what is before and after the time at which words are expected.
        assert_eq!(slept.get(), until - since - MARGIN - GRACE);
        // And at once where it is to stop.
        let (now, before) = (hand.clock().now(), slept.get());
        let until = now + Duration::from_secs(60);
        let waited = busy_poll.wait(now, until, &|| true, nothing, sleep);
        assert_eq!(waited.unwrap(), None);
        assert_eq!(slept.get(), before);
    }

    #[test]
    fn who_is_kept_away_sleeps_instead() {
        let hand = Hand::default();
        let mut busy_poll = BusyPoll { clock: hand.clock(), ..BusyPoll::default() };
        let nothing = || {
            hand.pass(2 * CONTENDED);
            Ok::<Option<()>, io::Error>(None)
        };
        let sleep = |long| {
            hand.pass(long);
            Ok(false)
        };
        let since = hand.clock().now();
        let until = since + 3 * CONTENDED;
        assert_eq!(busy_poll.wait(since, until, NEVER, nothing, sleep).unwrap(), None);
        assert_eq!(busy_poll.backoff.left(), BACKOFF.0);
        let calls = Cell::new(0);
        let second = || {
            calls.set(calls.get() + 1);
            Ok::<_, io::Error>((calls.get() > 1).then_some(8))
        };
        let since = hand.clock().now();
        let until = since + Duration::from_secs(60);
        let got = busy_poll.wait(since, until, NEVER, second, sleep).unwrap();
        assert_eq!(got.map(|(words, _)| words), Some(8));
        assert_eq!(busy_poll.backoff.left(), BACKOFF.0 - 1, "this one slept");
    }
}
