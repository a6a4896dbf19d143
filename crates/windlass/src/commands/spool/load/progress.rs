//! Progress of a load, as a line on a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_base::{Failure, Span};
use windlass_host::CurrentRun;
use windlass_measure::load::{Attendant, Stage};
use windlass_output::live::{LiveView, ViewInterval};
use windlass_output::records::load::view::Jobs;
use windlass_output::{Output, Progress, Text, figures};

use super::args::LoadArgs;
use crate::live::StopSignals;

/// Time between changes of the line.
const CHANGE: Duration = Duration::from_millis(500);

/// Reports the progress of a load.
pub(super) struct Teller<'a> {
    args: &'a LoadArgs,
    output: &'a Output,
    listening: &'a StopSignals,
    /// The view, from the first job on.
    view: Option<(LiveView, Jobs)>,
    may_end: Arc<AtomicBool>,
    line: Progress,
}

impl<'a> Teller<'a> {
    /// Begins the progress. `may_end` is set once a second Ctrl-C may end windlass.
    pub(super) fn new(
        args: &'a LoadArgs,
        output: &'a Output,
        listening: &'a StopSignals,
        may_end: Arc<AtomicBool>,
    ) -> Self {
        let line = Progress::new(CHANGE, CHANGE);
        Self { args, output, listening, view: None, may_end, line }
    }
}

impl Attendant for Teller<'_> {
    fn begins(&mut self) -> Result<CurrentRun, Failure> {
        let running = self.args.measuring.watching.start(self.output.wants_intervals())?;
        let title = || format!("windlass spool load {}", self.args.target);
        let view = self.listening.show(self.output, || Jobs::view(title()))?;
        self.view = view.map(|live| (live, Jobs::default()));
        Ok(running)
    }

    fn progress(&mut self, stage: Stage) {
        let Some((live, jobs)) = &mut self.view else {
            return self.line.tell(|| line(stage).plain());
        };
        if let Some(stretch) = jobs.at(stage) {
            live.push(ViewInterval { state: line(stage), ..stretch });
        }
    }

    fn stage_ends(&mut self) {
        self.line.clear();
    }

    fn may_end(&mut self) {
        self.may_end.store(true, Ordering::Relaxed);
    }
}

fn line(stage: Stage) -> Text {
    match stage {
        Stage::Queueing { settled, of, taken, waiting } => {
            let text = Text::from(settled)
                .and(" of ")
                .and(figures::counted(of, "job"))
                .and(", ")
                .and(per_second(settled, taken));
            let text = left(text, settled, of, taken);
            match waiting {
                Some(waiting) => text.and("; ").and(waiting).and(" waiting"),
                None => text,
            }
        }
        Stage::Processing { waiting, of, taken } => {
            let done = of.saturating_sub(waiting);
            let text =
                figures::counted(waiting, "job").and(" to process, ").and(per_second(done, taken));
            left(text, done, of, taken)
        }
    }
}

fn per_second(jobs: u64, taken: Duration) -> Text {
    figures::per_second(jobs as f64 / taken.as_secs_f64().max(1e-3), "job")
}

/// Appends the time left at the current rate.
fn left(text: Text, done: u64, of: u64, taken: Duration) -> Text {
    if done == 0 || done >= of {
        return text;
    }
    let seconds = taken.as_secs_f64() * (of - done) as f64 / done as f64;
    text.and(", ").and(Span::from_seconds(seconds.min(864_000.0).ceil())).and(" left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_long_it_will_take() {
        let (settled, of, taken) = (3_750, 15_000, Duration::from_secs(5));
        let said = |stage| line(stage).plain();
        let queueing = Stage::Queueing { settled, of, taken, waiting: Some(12) };
        assert_eq!(said(queueing), "3,750 of 15,000 jobs, 750 jobs/s, 15 s left; 12 waiting");
        let processing = Stage::Processing { waiting: 100, of: 1_100, taken };
        assert_eq!(said(processing), "100 jobs to process, 200 jobs/s, 1 s left");
        let queueing = Stage::Queueing { settled: 0, of, taken, waiting: None };
        assert_eq!(said(queueing), "0 of 15,000 jobs, 0 jobs/s");
    }
}
