//! Waiting for the other end's words, awake when they come.
//!
//! A processor that rests takes tens of microseconds to wake a program: on a
//! short path more than the path itself. So a [`Awake`] sleeps only until
//! shortly before the words are to be expected, by how long they took of late,
//! and then looks again and again, giving way to others between. What it costs
//! is bounded: 1.2 ms of a processor each time.

use std::io;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use windlass_base::GiveWay;

/// How many of the last times the expectation is taken from.
const KEPT: usize = 16;

/// So long before the words are to be expected sleep ends: most sleepers wake
/// within it.
const MARGIN: Duration = Duration::from_micros(200);

/// So long words may be later than expected before sleep begins again.
const GRACE: Duration = Duration::from_millis(1);

/// Who gives way and is kept away for so long shares the processor with a program
/// that works: turns of Linux are 0.7 ms and longer.
const CROWDED: Duration = Duration::from_micros(500);

/// How many times it then sleeps: at first, and where it goes on like this.
const HELD_OFF: (u32, u32) = (16, 4_096);

/// The longest sleep without looking whether to end.
const LOOK: Duration = Duration::from_millis(100);

/// How a thread waits for words.
#[derive(Clone, Debug)]
pub(crate) struct Awake {
    /// How long the last ones took, in a ring.
    took: [Option<Duration>; KEPT],
    next: usize,
    looks: GiveWay,
    sleeps: bool,
}

impl Default for Awake {
    fn default() -> Self {
        let looks = GiveWay::new(CROWDED, HELD_OFF);
        Self { took: [None; KEPT], next: 0, looks, sleeps: false }
    }
}

impl Awake {
    /// One that always sleeps.
    pub(crate) fn asleep() -> Self {
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
        mut attempt: impl FnMut() -> Result<Option<T>, E>,
        sleep: impl Fn(Duration) -> io::Result<bool>,
    ) -> Result<Option<(T, Instant)>, E> {
        let found = |words| Ok(Some((words, Instant::now())));
        if !self.sleeps && self.looks.may_look() {
            let mut now = since;
            let wake = until.min(since + self.expected().saturating_sub(MARGIN));
            while now < wake && !stop() {
                if sleep((wake - now).min(LOOK))?
                    && let Some(words) = attempt()?
                {
                    return found(words);
                }
                now = Instant::now();
            }
            let tired = until.min(now + MARGIN + GRACE);
            while now < tired {
                // What was asked for a moment ago is not there yet, and who is
                // to give it may wait for this processor.
                yield_now();
                let words = attempt()?;
                let after = Instant::now();
                let time = after.saturating_duration_since(now);
                let crowded = self.looks.was_kept_away(time, words.is_some());
                if let Some(words) = words {
                    return Ok(Some((words, after)));
                }
                if crowded {
                    break;
                }
                now = after;
            }
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stop() {
                return Ok(attempt()?.map(|words| (words, Instant::now())));
            }
            sleep(left.min(LOOK))?;
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
        for mut awake in [Awake::default(), Awake::asleep()] {
            // Before the expected time, about it, and long after.
            for (expected, late) in [(50, 0), (50, 5), (5, 5), (0, 30), (0, 0)] {
                (0..KEPT).for_each(|_| awake.took(Duration::from_millis(expected)));
                let (mut there, here) = UnixStream::pair().unwrap();
                let writing = std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(late));
                    there.write_all(b"x").unwrap();
                });
                let since = Instant::now();
                let got = awake.wait(
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
        let slept = Cell::new(Duration::ZERO);
        let sleep = |time: Duration| {
            std::thread::sleep(time);
            slept.set(slept.get() + time);
            Ok(false)
        };
        let nothing = || Ok::<Option<()>, io::Error>(None);
        let mut awake = Awake::default();
        (0..KEPT).for_each(|_| awake.took(Duration::from_millis(20)));
        let since = Instant::now();
        let until = since + Duration::from_millis(60);
        assert_eq!(awake.wait(since, until, NEVER, nothing, sleep).unwrap(), None);
        assert!(Instant::now() >= until);
        assert!(slept.get() >= Duration::from_millis(50), "{slept:?}");
        // And at once where it is to stop.
        slept.set(Duration::ZERO);
        let since = Instant::now();
        let until = since + Duration::from_secs(60);
        assert_eq!(awake.wait(since, until, &|| true, nothing, sleep).unwrap(), None);
        assert_eq!(slept.get(), Duration::ZERO);
    }

    #[test]
    fn who_is_kept_away_sleeps_instead() {
        let mut awake = Awake::default();
        let slow = || {
            std::thread::sleep(2 * CROWDED);
            Ok::<Option<()>, io::Error>(None)
        };
        let nap = |_: Duration| Ok(false);
        let since = Instant::now();
        let until = since + 3 * CROWDED;
        assert_eq!(awake.wait(since, until, NEVER, slow, nap).unwrap(), None);
        assert_eq!(awake.looks.left(), HELD_OFF.0);
        let calls = Cell::new(0);
        let second = || {
            calls.set(calls.get() + 1);
            Ok::<_, io::Error>((calls.get() > 1).then_some(8))
        };
        let until = Instant::now() + Duration::from_secs(60);
        let got = awake.wait(Instant::now(), until, NEVER, second, nap).unwrap();
        assert_eq!(got.map(|(words, _)| words), Some(8));
        assert_eq!(awake.looks.left(), HELD_OFF.0 - 1, "this one slept");
    }
}
