//! The time of the next round trip.

use std::io;
use std::time::{Duration, Instant};

use windlass_sys::wait::Wait;

/// Time before the next start at which the thread wakes and watches the clock.
const SPIN: Duration = Duration::from_micros(50);

/// Longest sleep between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Starts at even intervals.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Option<Duration>,
    due: Option<Instant>,
    wait: Wait,
}

impl Pace {
    /// Makes a pace that starts at once; without an interval it never waits.
    pub(super) fn new(interval: Option<Duration>) -> Self {
        Self { interval, due: None, wait: Wait::new(SPIN) }
    }

    /// Waits until the next start is due; returns whether it is before `end`.
    pub(super) fn wait(
        &mut self,
        end: Option<Instant>,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<bool> {
        self.wait.resume();
        let is_over = |at: Instant| end.is_some_and(|end| at >= end);
        let Some(interval) = self.interval else { return Ok(!stop() && !is_over(Instant::now())) };
        let due = *self.due.get_or_insert_with(Instant::now);
        if is_over(due) {
            return Ok(false);
        }
        loop {
            let now = Instant::now();
            if stop() || is_over(now) {
                return Ok(false);
            }
            if now >= due {
                // Missed starts are not made up for: that would be a burst.
                let next = due + interval;
                self.due = Some(if next < now { now } else { next });
                return Ok(true);
            }
            self.wait.until(Some(due.min(now + POLL_INTERVAL)), &[])?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_keep_their_distance() {
        let interval = Duration::from_millis(5);
        let mut pace = Pace::new(Some(interval));
        let first = Instant::now();
        for number in 0..5 {
            assert!(pace.wait(None, &|| false).unwrap());
            assert!(first.elapsed() >= interval * number);
        }
        // One that took long is followed at once, and those missed are not made
        // up for.
        std::thread::sleep(interval * 5);
        assert!(pace.wait(None, &|| false).unwrap());
        let late = Instant::now();
        assert!(pace.wait(None, &|| false).unwrap());
        assert!(pace.wait(None, &|| false).unwrap());
        assert!(pace.wait(None, &|| false).unwrap());
        assert!(late.elapsed() >= interval);
    }

    #[test]
    fn there_is_none_after_the_end() {
        let hour = Some(Duration::from_secs(3_600));
        let mut pace = Pace::new(hour);
        let end = Some(Instant::now() + Duration::from_secs(60));
        assert!(pace.wait(end, &|| false).unwrap());
        let began = Instant::now();
        assert!(!pace.wait(end, &|| false).unwrap(), "it would be an hour later");
        assert!(began.elapsed() < Duration::from_secs(30), "which is known at once");
        assert!(!pace.wait(None, &|| true).unwrap());
        assert!(Pace::new(None).wait(None, &|| false).unwrap());
        assert!(!Pace::new(None).wait(Some(Instant::now()), &|| false).unwrap());
        assert!(!Pace::new(None).wait(None, &|| true).unwrap());
    }
}
