//! Waiting and printing times of jobs, by the spooler's records.

use serde::Serialize;
use windlass_base::Span;

/// Standard deviation of one difference of whole seconds. Each of the two times is truncated to a
/// second, so the error has a triangular distribution from -1 to 1, with a standard deviation of
/// 1/√6.
const OFF_BY: f64 = 0.408_248;

/// Mean waiting and printing times of a sample of the completed jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JobTimes {
    /// Number of jobs in the sample.
    pub jobs: u64,
    /// Time from `time-at-creation` to `time-at-processing`.
    pub queued_seconds: Span,
    /// Time from `time-at-processing` to `time-at-completed`.
    pub processed_seconds: Span,
    /// Standard deviation of these means, because the spooler records whole seconds.
    pub off_by_seconds: Span,
}

impl JobTimes {
    /// Computes the means from the times of creation, start and completion. Returns nothing without
    /// jobs, or if the times are not in this order.
    pub(super) fn of(times: &[[i32; 3]]) -> Option<Self> {
        let good = || times.iter().filter(|times| times.is_sorted());
        let jobs = good().count();
        let mean = |from: usize, to: usize| {
            let sum: f64 = good().map(|at| f64::from(at[to]) - f64::from(at[from])).sum();
            Span::from_seconds(sum / jobs as f64)
        };
        (jobs > 0).then(|| Self {
            jobs: jobs as u64,
            queued_seconds: mean(0, 1),
            processed_seconds: mean(1, 2),
            off_by_seconds: Span::from_seconds(OFF_BY / (jobs as f64).sqrt()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_have_a_mean_that_is_told_with_its_error() {
        let times = JobTimes::of(&[[100, 101, 103], [100, 102, 103], [9, 8, 7]]).unwrap();
        assert_eq!(times.jobs, 2);
        assert_eq!(times.queued_seconds, Span::from_seconds(1.5));
        assert_eq!(times.processed_seconds, Span::from_seconds(1.5));
        assert!((times.off_by_seconds.as_seconds() - 0.2887).abs() < 1e-3);
        assert_eq!(JobTimes::of(&[[3, 2, 1]]), None);
        assert_eq!(JobTimes::of(&[]), None);
        let far = JobTimes::of(&[[i32::MIN, 0, i32::MAX]]).unwrap();
        assert!(far.queued_seconds > Span::ZERO);
    }
}
