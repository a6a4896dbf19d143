//! A line on a terminal that says how far it is.

use std::time::Duration;

use windlass_base::Span;

use crate::print::{Progress, Text, figures};

/// How often it changes.
const CHANGE: Duration = Duration::from_millis(500);

/// The line.
pub(super) fn line() -> Progress {
    Progress::new(CHANGE, CHANGE)
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Jobs that came to an end, of so many, in so long.
    Queueing { settled: u64, of: u64, taken: Duration, waiting: Option<u64> },
    /// Jobs that wait, of so many at the beginning of so long ago.
    Processing { waiting: u64, of: u64, taken: Duration },
}

impl Stage {
    pub(super) fn line(self) -> Text {
        match self {
            Self::Queueing { settled, of, taken, waiting } => {
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
            Self::Processing { waiting, of, taken } => {
                let done = of.saturating_sub(waiting);
                let text = figures::counted(waiting, "job")
                    .and(" to process, ")
                    .and(per_second(done, taken));
                left(text, done, of, taken)
            }
        }
    }
}

fn per_second(jobs: u64, taken: Duration) -> Text {
    figures::per_second(jobs as f64 / taken.as_secs_f64().max(1e-3), "job")
}

/// The time left, where it goes on as it did.
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
        let line = Stage::Queueing { settled, of, taken, waiting: Some(12) }.line();
        assert_eq!(line.plain(), "3,750 of 15,000 jobs, 750 jobs/s, 15 s left; 12 waiting");
        let line = Stage::Processing { waiting: 100, of: 1_100, taken }.line();
        assert_eq!(line.plain(), "100 jobs to process, 200 jobs/s, 1 s left");
        let line = Stage::Queueing { settled: 0, of, taken, waiting: None }.line();
        assert_eq!(line.plain(), "0 of 15,000 jobs, 0 jobs/s");
    }
}
