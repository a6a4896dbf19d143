//! How fast printers go: their counts, looked at as the page is.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Over so long a time rates are told.
const SPAN: Duration = Duration::from_secs(60);

/// So often the counts are kept.
const STEP: Duration = Duration::from_secs(2);

/// What a printer had done at a moment: jobs and bytes.
type Done = (u64, u64);

/// The counts of printers at moments of the last minute.
#[derive(Debug, Default)]
pub(in super::super) struct Rates(Mutex<VecDeque<(Duration, HashMap<String, Done>)>>);

/// How fast it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) jobs_per_minute: u64,
    pub(super) bytes_per_second: u64,
}

impl Rates {
    /// The rates of printers that have done so much at a time of the clock. Nothing of one
    /// that was not seen before.
    pub(super) fn of<'a>(
        &self,
        now: Duration,
        done: impl Iterator<Item = (&'a str, Done)>,
    ) -> HashMap<String, Rate> {
        let done: HashMap<String, Done> =
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
