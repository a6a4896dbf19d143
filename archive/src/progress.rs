//! Progress line on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};

/// Delay of the first line: shorter work needs none.
const PATIENCE: Duration = Duration::from_millis(700);

/// Interval of updates.
const UPDATE: Duration = Duration::from_millis(200);

/// Progress line on standard error, if that is a terminal. The line is erased when this value is
/// dropped.
#[derive(Debug)]
pub struct Progress {
    is_on: bool,
    began: Instant,
    due: Instant,
    is_there: bool,
}

impl Default for Progress {
    fn default() -> Self {
        let began = Instant::now();
        let is_on = io::stderr().is_terminal();
        Self { is_on, began, due: began + PATIENCE, is_there: false }
    }
}

/// Formats the progress: the share that is done, the rate, and the estimated remaining time.
fn line(what: &str, bytes: u64, of_bytes: u64, elapsed: Duration) -> String {
    let rate = Bytes::new(bytes).per(Span::from_seconds(elapsed.as_secs_f64()));
    let left = rate.time_for(Bytes::new(of_bytes.saturating_sub(bytes)));
    let percent = bytes.saturating_mul(100).checked_div(of_bytes).unwrap_or(100);
    format!("{what}: {percent} %, {left} left ({rate})")
}

impl Progress {
    /// Updates the line if an update is due.
    pub fn tell(&mut self, what: impl FnOnce() -> String, bytes: u64, of_bytes: u64) {
        if !self.is_on || Instant::now() < self.due {
            return;
        }
        self.due = Instant::now() + UPDATE;
        self.is_there = true;
        write(&line(&what(), bytes, of_bytes, self.began.elapsed()));
    }

    /// Updates the line for work without bytes, if an update is due.
    pub fn say(&mut self, what: impl FnOnce() -> String) {
        if self.is_on && Instant::now() >= self.due {
            self.due = Instant::now() + UPDATE;
            self.is_there = true;
            write(&what());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_there {
            write("");
        }
    }
}

fn write(line: &str) {
    let mut stderr = io::stderr().lock();
    // If standard error is closed, nobody can be told.
    let _ = write!(stderr, "\r\x1b[K{line}");
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_rate_and_the_time_that_is_left() {
        let half = line("3 of 9 captures", 5_000_000, 10_000_000, Duration::from_secs(2));
        assert_eq!(half, "3 of 9 captures: 50 %, 2 s left (2.5 MB/s)");
        // Nothing was read yet, or there is nothing to read.
        for (bytes, of) in [(0, 10), (0, 0)] {
            assert!(line("1 of 1 captures", bytes, of, Duration::ZERO).contains('%'));
        }
    }
}
