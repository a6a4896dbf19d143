//! A line on the terminal that says how far the sweep is.

use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_drive::sweep::{Probe, Sweep};

use crate::print::{self, figures};

/// The time between two updates of the line.
const UPDATE: Duration = Duration::from_millis(100);

/// The line. It goes with the value.
pub(super) struct Progress {
    line: print::Progress,
    began: Instant,
    /// What was measured since then.
    measured: u32,
    /// What a measurement takes, before one is made.
    guess: Option<Duration>,
}

impl Progress {
    pub(super) fn new(guess: Option<Duration>) -> Self {
        let line = print::Progress::new(Duration::ZERO, UPDATE);
        Self { line, began: Instant::now(), measured: 0, guess }
    }

    /// Says what is measured now, and how long it all may still take.
    pub(super) fn tell(&mut self, probe: Probe, sweep: &Sweep) {
        let Self { line, began, measured, guess } = self;
        line.tell(|| {
            let (taken, left) = (sweep.taken(), sweep.left_at_most());
            let setting = probe.setting;
            let mut text = format!(
                "measurement {} of at most {}: {}, {}",
                taken + 1,
                taken + left,
                figures::size(setting.window).plain(),
                figures::counted(u64::from(setting.streams), "stream").plain(),
            );
            if sweep.plan().directions.len() > 1 {
                text.push_str(&format!(", {}", setting.direction));
            }
            if let Some(each) = began.elapsed().checked_div(*measured).or(*guess) {
                let left = each.as_secs_f64() * left as f64;
                text.push_str(&format!(
                    "; {} left at most",
                    Span::from_seconds(left.round().max(1.0))
                ));
            }
            text
        });
    }

    /// One more is measured.
    pub(super) fn measured(&mut self) {
        self.measured = self.measured.saturating_add(1);
    }
}
