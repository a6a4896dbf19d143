//! Start and end of a run, and the state of the machine during it.

use serde::Serialize;
use windlass_base::Timestamp;
use windlass_sys::clock::now;

use super::watcher::{HostReport, Watcher};

/// Start and end of a run, by the host's clock.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RunTimes {
    /// Start; `None` in virtual time.
    pub start_time: Option<Timestamp>,
    /// End; `None` in virtual time, and while the run continues.
    pub end_time: Option<Timestamp>,
}

impl RunTimes {
    /// Starts the run now.
    pub fn begin() -> Self {
        Self { start_time: Some(now()), end_time: None }
    }

    /// Ends the run now.
    #[must_use]
    pub fn end(self) -> Self {
        Self { end_time: Some(now()), ..self }
    }
}

/// A run that has begun.
#[derive(Debug)]
pub struct CurrentRun {
    times: RunTimes,
    watcher: Option<Watcher>,
}

impl CurrentRun {
    /// Starts a run now, while `watcher` samples the machine.
    pub fn begin(watcher: Option<Watcher>) -> Self {
        Self { times: RunTimes::begin(), watcher }
    }

    /// Ends the run now.
    pub fn end(self) -> RunContext {
        let times = self.times.end();
        RunContext { times, watched: self.watcher.map(|watcher| Box::new(watcher.finish())) }
    }
}

/// Context of a run in its record: its times, and the state of the machine. The default is for a
/// run in virtual time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunContext {
    /// Start and end.
    #[serde(flatten)]
    pub times: RunTimes,
    /// The record of `windlass watch`, without the parts for that command alone; `None` if it was
    /// not asked for.
    pub watched: Option<Box<HostReport>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_when_it_was() {
        let before = now();
        let ran = CurrentRun::begin(None).end();
        let times = [Some(before), ran.times.start_time, ran.times.end_time, Some(now())];
        assert!(times.is_sorted() && times.iter().all(Option::is_some), "{times:?}");
        assert!(RunContext::default().times.start_time.is_none());
    }
}
