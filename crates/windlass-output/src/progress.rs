//! Progress line on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use windlass_base::Span;

/// Line of progress on standard error, if that is a terminal. The line is removed when this value
/// is dropped.
#[derive(Debug)]
pub struct Progress {
    is_on: bool,
    /// Time of the next change.
    due: Instant,
    every: Duration,
    is_there: bool,
}

impl Progress {
    /// Creates a line that appears after `first` at the earliest, so that short work shows none.
    /// The line changes at most once in each `every`.
    pub fn new(first: Duration, every: Duration) -> Self {
        let is_on = io::stderr().is_terminal();
        Self { is_on, due: Instant::now() + first, every, is_there: false }
    }

    /// Shows the progress now. `line` is only called if it is shown.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        if !self.is_on || Instant::now() < self.due {
            return;
        }
        self.due = Instant::now() + self.every;
        self.is_there = true;
        write(&line());
    }

    /// Removes the line, so that another one can be printed.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_there) {
            write("");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A progress line for steps of about equal length.
#[derive(Debug)]
pub struct Steps {
    line: Progress,
    began: Instant,
    /// Number of completed steps.
    pub done: u32,
}

impl Steps {
    /// Creates the progress of a first step; the line changes at most once in each `every`.
    pub fn new(every: Duration) -> Self {
        let line = Progress::new(Duration::ZERO, every);
        Self { line, began: Instant::now(), done: 0 }
    }

    /// Begins the next of `left` steps, and completes the previous one. `line` gets the remaining
    /// time, estimated from the completed steps or from `guess`.
    pub fn tell(
        &mut self,
        left: usize,
        guess: Option<Duration>,
        line: impl FnOnce(Option<Span>) -> String,
    ) {
        let each = self.began.elapsed().checked_div(self.done).or(guess);
        let all = |each: Duration| (each.as_secs_f64() * left as f64).round().max(1.0);
        self.line.tell(|| line(each.map(|each| Span::from_seconds(all(each)))));
        self.done = self.done.saturating_add(1);
    }
}

/// Returns the part of a line that fits one row of the terminal: of a line over two rows, only the
/// last row is erased.
fn cut(line: &str, width: usize) -> &str {
    line.char_indices().nth(width.saturating_sub(1)).map_or(line, |(end, _)| &line[..end])
}

/// Overwrites the line.
fn write(line: &str) {
    let mut stderr = io::stderr().lock();
    let line = match terminal_size::terminal_size_of(&stderr) {
        Some((width, _)) => cut(line, usize::from(width.0)),
        None => line,
    };
    // If standard error is closed, there is no reader to inform.
    let _ = write!(stderr, "\r\x1b[K{line}");
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_the_terminal() {
        assert_eq!(cut("12 of 38 µs", 40), "12 of 38 µs");
        assert_eq!(cut("12 of 38 µs", 11), "12 of 38 µ");
        assert_eq!(cut("12 of 38 µs", 1), "");
        assert_eq!(cut("", 0), "");
    }
}
