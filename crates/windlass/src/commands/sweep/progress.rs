//! A line on the terminal that says how far the sweep is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_drive::sweep::{Probe, Sweep};

use crate::print::figures;

/// The time between two updates of the line.
const UPDATE: Duration = Duration::from_millis(100);

/// The line. It goes with the value.
pub(super) struct Progress {
    terminal: bool,
    began: Instant,
    /// What was measured since then.
    measured: u32,
    /// What a measurement takes, before one is made.
    guess: Option<Duration>,
    shown: Option<Instant>,
}

impl Progress {
    pub(super) fn new(guess: Option<Duration>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { terminal, began: Instant::now(), measured: 0, guess, shown: None }
    }

    /// Says what is measured now, and how long it all may still take.
    pub(super) fn tell(&mut self, probe: Probe, sweep: &Sweep) {
        if !self.terminal || self.shown.is_some_and(|shown| shown.elapsed() < UPDATE) {
            return;
        }
        self.shown = Some(Instant::now());
        let (taken, left) = (sweep.taken(), sweep.left_at_most());
        let setting = probe.setting;
        let mut line = format!(
            "measurement {} of at most {}: {}, {}",
            taken + 1,
            taken + left,
            figures::size(setting.window).plain(),
            figures::counted(u64::from(setting.streams), "stream").plain(),
        );
        if sweep.plan().directions.len() > 1 {
            line.push_str(&format!(", {}", setting.direction));
        }
        if let Some(each) = self.began.elapsed().checked_div(self.measured).or(self.guess) {
            let left = each.as_secs_f64() * left as f64;
            line.push_str(&format!("; {} left at most", Span::from_seconds(left.round().max(1.0))));
        }
        let mut stderr = std::io::stderr().lock();
        // Nobody is told where standard error is closed.
        let _ = write!(stderr, "\r\x1b[K{line}");
        let _ = stderr.flush();
    }

    /// One more is measured.
    pub(super) fn measured(&mut self) {
        self.measured = self.measured.saturating_add(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K");
            let _ = stderr.flush();
        }
    }
}
