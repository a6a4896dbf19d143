//! Measurement, by this end's kernel, of a job that the caller sends.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use windlass_base::Bytes;
use windlass_base::verdict::Verdict;
use windlass_drive::meter::ThreadTime;
use windlass_host::cpu::{self, CpuTime};
use windlass_print::Monitor;

use super::gauge::Gauge;
use super::report::{as_direction, judged};

/// Measures a job that the caller's thread sends.
///
/// The sending thread creates it, sends with its [`Self::monitor`], and asks for the verdict.
/// Another thread calls [`Self::tick`] meanwhile, about as often as [`Self::pause`] says.
#[derive(Debug)]
pub struct JobWatch {
    gauge: Gauge,
    began: Instant,
    before: CpuTime,
    waited: Option<Duration>,
}

impl JobWatch {
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

    /// Samples the connection.
    pub fn tick(&self) {
        // The whole job is one interval.
        let _ = self.gauge.tick(Duration::MAX);
    }

    /// Returns the time until the next sample.
    pub fn pause(&self) -> Duration {
        self.gauge.pause()
    }

    /// Returns the verdict on the last connection that carried data, and its acknowledged bytes;
    /// nothing if there was none. Call this in the sending thread.
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
