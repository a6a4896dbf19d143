//! A line on the terminal that says how far the comparison is.

use std::time::{Duration, Instant};

use windlass_base::Span;

use crate::print;

/// The line. It goes with the value.
pub(super) struct Progress {
    line: print::Progress,
    began: Instant,
    done: usize,
}

impl Progress {
    pub(super) fn new() -> Self {
        let line = print::Progress::new(Duration::ZERO, Duration::ZERO);
        Self { line, began: Instant::now(), done: 0 }
    }

    /// Says what is measured now, of `all` measurements. What was before is done.
    pub(super) fn tell(&mut self, what: &str, all: usize) {
        let Self { line, began, done } = self;
        line.tell(|| {
            let mut text = format!("measurement {} of {all}: {what}", *done + 1);
            if *done > 0 {
                let each = began.elapsed().as_secs_f64() / *done as f64;
                let left = (each * all.saturating_sub(*done) as f64).round().max(1.0);
                text.push_str(&format!("; some {} left", Span::from_seconds(left)));
            }
            text
        });
        self.done += 1;
    }
}
