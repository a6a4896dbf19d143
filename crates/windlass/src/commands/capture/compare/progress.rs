//! A line on the terminal that says how far the comparison is.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use windlass_base::Span;

/// The line. It goes with the value.
pub(super) struct Progress {
    is_terminal: bool,
    began: Instant,
    done: usize,
    all: usize,
}

impl Progress {
    pub(super) fn new(all: usize) -> Self {
        Self { is_terminal: io::stderr().is_terminal(), began: Instant::now(), done: 0, all }
    }

    /// Says what is measured now. What was before is done.
    pub(super) fn tell(&mut self, what: &str) {
        if self.is_terminal {
            let mut line = format!("measurement {} of {}: {what}", self.done + 1, self.all);
            if self.done > 0 {
                let each = self.began.elapsed().as_secs_f64() / self.done as f64;
                let left = (each * (self.all - self.done.min(self.all)) as f64).round().max(1.0);
                line.push_str(&format!("; some {} left", Span::from_seconds(left)));
            }
            // Where standard error is closed there is nobody to tell.
            let _ = write!(io::stderr(), "\r\x1b[K{line}");
        }
        self.done += 1;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal && self.done > 0 {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
