//! A line on a terminal that says how far something is.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use windlass_base::Span;

/// A line on standard error that changes, where that is a terminal. It goes when
/// this does.
#[derive(Debug)]
pub struct Progress {
    is_on: bool,
    /// When the line may change next.
    due: Instant,
    every: Duration,
    is_there: bool,
}

impl Progress {
    /// One that comes `first` from now at the earliest, so that what is over by
    /// then needs none, and changes no more often than each `every`.
    pub fn new(first: Duration, every: Duration) -> Self {
        let is_on = io::stderr().is_terminal();
        Self { is_on, due: Instant::now() + first, every, is_there: false }
    }

    /// How far it is now. `line` is made where it is shown.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        if !self.is_on || Instant::now() < self.due {
            return;
        }
        self.due = Instant::now() + self.every;
        self.is_there = true;
        write(&line());
    }

    /// Takes the line away, for another one to be printed.
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

/// The same of steps that take about as long each.
#[derive(Debug)]
pub struct Steps {
    line: Progress,
    began: Instant,
    /// Those that are done.
    pub done: u32,
}

impl Steps {
    /// None is done; the line changes no more often than each `every`.
    pub fn new(every: Duration) -> Self {
        let line = Progress::new(Duration::ZERO, every);
        Self { line, began: Instant::now(), done: 0 }
    }

    /// The next of `left` begins, and what was before is done. `line` gets the time that
    /// they take, by those that are done or else by a `guess`.
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

/// Writes over the line.
fn write(line: &str) {
    let mut stderr = io::stderr().lock();
    // Where standard error is closed there is nobody to tell.
    let _ = write!(stderr, "\r\x1b[K{line}");
    let _ = stderr.flush();
}
