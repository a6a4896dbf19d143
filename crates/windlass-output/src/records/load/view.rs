//! Load test of a spooler as a live view.

use windlass_base::Span;
use windlass_measure::load::Stage;

use crate::figures;
use crate::live::{Series, View, ViewInterval};

/// Length of a column.
const EVERY: Span = Span::from_millis(1_000);

/// Progress of the jobs in a view.
#[derive(Debug, Default)]
pub struct Jobs {
    /// Start of the stage.
    stage_began: Span,
    is_processing: bool,
    /// End of the last column, and number of jobs done in the stage by then.
    at: Span,
    done: u64,
}

impl Jobs {
    /// Returns the empty view.
    pub fn view(title: String) -> View {
        let rate = |value| figures::per_second(value, "job");
        let series =
            [Series::new("queued", rate), Series::new("processed", rate), Series::count("waiting")];
        View::new(title, Some(EVERY), series)
    }

    /// Takes the current state of a stage; returns a column if one is complete.
    pub fn at(&mut self, stage: Stage) -> Option<ViewInterval> {
        let (is_processing, done, taken, waiting) = match stage {
            Stage::Queueing { settled, taken, waiting, .. } => (false, settled, taken, waiting),
            Stage::Processing { waiting, of, taken } => {
                (true, of.saturating_sub(waiting), taken, Some(waiting))
            }
        };
        if is_processing && !self.is_processing {
            *self = Self { stage_began: self.at, is_processing, at: self.at, done: 0 };
        }
        let (from, to) = (self.at, self.stage_began + Span::from_duration(taken));
        if to < from + EVERY {
            return None;
        }
        let jobs = done.saturating_sub(self.done) as f64 / (to - from).as_seconds();
        (self.at, self.done) = (to, done);
        let [queued, processed] =
            if is_processing { [None, Some(jobs)] } else { [Some(jobs), None] };
        let values = vec![queued, processed, waiting.map(|waiting| waiting as f64)];
        Some(ViewInterval { from, to, values, ..ViewInterval::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_stage_has_its_rate() {
        let mut jobs = Jobs::default();
        let queueing = |settled, millis| Stage::Queueing {
            settled,
            of: 1_000,
            taken: Duration::from_millis(millis),
            waiting: Some(7),
        };
        assert!(jobs.at(queueing(10, 400)).is_none());
        let first = jobs.at(queueing(600, 1_200)).unwrap();
        assert_eq!((first.from, first.to), (Span::ZERO, Span::from_millis(1_200)));
        assert_eq!(first.values, [Some(500.0), None, Some(7.0)]);
        let processing = |waiting, millis| Stage::Processing {
            waiting,
            of: 1_000,
            taken: Duration::from_millis(millis),
        };
        assert!(jobs.at(processing(1_000, 100)).is_none());
        let second = jobs.at(processing(800, 2_000)).unwrap();
        assert_eq!((second.from, second.to), (first.to, Span::from_millis(3_200)));
        assert_eq!(second.values, [None, Some(100.0), Some(800.0)]);
    }
}
