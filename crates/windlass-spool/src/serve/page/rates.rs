//! Rates of printers, from their counts at each view of the page.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time span of the rates.
const SPAN: Duration = Duration::from_secs(60);

/// Time between kept counts.
const STEP: Duration = Duration::from_secs(2);

/// Jobs and bytes that a printer had completed at a moment.
type CompletedWork = (u64, u64);

/// The counts of printers at moments of the last minute.
#[derive(Debug, Default)]
pub(in super::super) struct Rates(Mutex<VecDeque<(Duration, HashMap<String, CompletedWork>)>>);

/// Rate of a printer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) jobs_per_minute: u64,
    pub(super) bytes_per_second: u64,
}

impl Rates {
    /// Returns the rates of printers from their counts at a time of the clock. Printers without
    /// earlier counts have none.
    pub(super) fn of<'a>(
        &self,
        now: Duration,
        done: impl Iterator<Item = (&'a str, CompletedWork)>,
    ) -> HashMap<String, Rate> {
        let done: HashMap<String, CompletedWork> =
            done.map(|(name, done)| (name.to_owned(), done)).collect();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while kept.len() > 1 && kept.front().is_some_and(|(at, _)| now.saturating_sub(*at) > SPAN) {
            kept.pop_front();
        }
        let mut rates = HashMap::new();
        if let Some((at, before)) = kept.front() {
            let milliseconds = u64::try_from(now.saturating_sub(*at).as_millis()).unwrap_or(0);
            for (name, (jobs, bytes)) in &done {
                let Some((jobs_then, bytes_then)) = before.get(name) else { continue };
                if milliseconds >= 500 {
                    let rate = |now: u64, then: u64, span: u64| {
                        now.saturating_sub(then).saturating_mul(span) / milliseconds
                    };
                    let rate = Rate {
                        jobs_per_minute: rate(*jobs, *jobs_then, 60_000),
                        bytes_per_second: rate(*bytes, *bytes_then, 1_000),
                    };
                    rates.insert(name.clone(), rate);
                }
            }
        }
        if kept.back().is_none_or(|(at, _)| now.saturating_sub(*at) >= STEP) {
            kept.push_back((now, done));
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_last_minute() {
        let rates = Rates::default();
        let at = |seconds: u64, jobs: u64| {
            let done = [("a", (jobs, jobs * 1_000))].into_iter();
            rates.of(Duration::from_secs(seconds), done).get("a").copied()
        };
        assert_eq!(at(10, 5), None);
        assert_eq!(at(20, 15), Some(Rate { jobs_per_minute: 60, bytes_per_second: 1_000 }));
        assert_eq!(at(70, 65), Some(Rate { jobs_per_minute: 60, bytes_per_second: 1_000 }));
        assert_eq!(
            at(110, 65),
            Some(Rate { jobs_per_minute: 0, bytes_per_second: 0 }),
            "those before are forgotten"
        );
    }
}
