//! A job that somebody else sends, watched by this end's kernel.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use windlass_base::Bytes;
use windlass_base::verdict::Verdict;
use windlass_drive::meter::ThreadTime;
use windlass_host::cpu::{self, CpuTime};
use windlass_print::Monitor;

use super::gauge::Gauge;
use super::report::{as_direction, judged};

/// Watches a job from the thread that sends it on.
///
/// That thread makes it, sends with its [`Self::monitor`], and asks for the verdict; another one
/// calls [`Self::tick`] meanwhile, about as often as [`Self::pause`] says.
#[derive(Debug)]
pub struct Watch {
    gauge: Gauge,
    began: Instant,
    before: CpuTime,
    waited: Option<Duration>,
}

impl Watch {
    /// Begins, in the thread that sends.
    pub fn begin() -> Self {
        Self {
            gauge: Gauge::default(),
            began: Instant::now(),
            before: cpu::of_this_thread(),
            waited: cpu::waited_of_this_thread(),
        }
    }

    /// Returns the monitor to send the job with.
    pub fn monitor(&self) -> Monitor {
        self.gauge.monitor()
    }

    /// Looks at the connection.
    pub fn tick(&self) {
        // All of the job is one interval.
        let _ = self.gauge.tick(Duration::MAX);
    }

    /// Returns the time to the next look.
    pub fn pause(&self) -> Duration {
        self.gauge.pause()
    }

    /// Returns the verdict on the last connection that carried any data, and what the peer's TCP
    /// acknowledged of it; nothing where that is none. For the thread that sent.
    pub fn verdict(&self, monitor: &Monitor) -> Option<(Verdict, Bytes)> {
        let spent = ThreadTime {
            cpu: cpu::of_this_thread().since(self.before),
            ran: self.began.elapsed(),
            waited: cpu::waited_since(self.waited),
        };
        let times = monitor.times();
        let end = times.acknowledged.unwrap_or_else(Instant::now);
        let moved = Bytes::new(monitor.moved.load(Ordering::Relaxed));
        let began = self.gauge.began()?;
        let (_, measured) = self.gauge.finish(end, None, Duration::MAX);
        let (stream, bytes) = measured?;
        let seconds = end.saturating_duration_since(began);
        let sent = as_direction(seconds, (bytes, moved), stream, spent);
        (bytes > Bytes::ZERO).then(|| (judged(&sent), bytes))
    }
}
