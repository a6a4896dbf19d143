//! When something ran, and what the machine did meanwhile.

use serde::Serialize;
use windlass_base::Timestamp;
use windlass_sys::clock::now;

use super::watcher::{HostReport, Watcher};

/// When something ran, by the host's clock.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Times {
    /// The time when it began; nothing in virtual time.
    pub start_time: Option<Timestamp>,
    /// The time when it was over; nothing in virtual time, or where it goes on.
    pub end_time: Option<Timestamp>,
}

impl Times {
    /// It begins now.
    pub fn begin() -> Self {
        Self { start_time: Some(now()), end_time: None }
    }

    /// It ends now.
    #[must_use]
    pub fn end(self) -> Self {
        Self { end_time: Some(now()), ..self }
    }
}

/// A run that has begun.
#[derive(Debug)]
pub struct Running {
    times: Times,
    watcher: Option<Watcher>,
}

impl Running {
    /// One that begins now, while `watcher` looks at the machine.
    pub fn begin(watcher: Option<Watcher>) -> Self {
        Self { times: Times::begin(), watcher }
    }

    /// It ends now.
    pub fn end(self) -> Meanwhile {
        let times = self.times.end();
        Meanwhile { times, watched: self.watcher.map(|watcher| Box::new(watcher.finish())) }
    }
}

/// What every record of a run has: when that was, and what the machine did. The
/// default is of what took place in virtual time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Meanwhile {
    /// The time when that was.
    #[serde(flatten)]
    pub times: Times,
    /// The record of `windlass watch`, without what is of that command alone;
    /// nothing where it was not asked for.
    pub watched: Option<Box<HostReport>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_when_it_was() {
        let before = now();
        let ran = Running::begin(None).end();
        let times = [Some(before), ran.times.start_time, ran.times.end_time, Some(now())];
        assert!(times.is_sorted() && times.iter().all(Option::is_some), "{times:?}");
        assert!(Meanwhile::default().times.start_time.is_none());
    }
}
