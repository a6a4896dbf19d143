//! Printers that are stopped while jobs are queued, and then released.

use std::time::Instant;

use windlass_base::Span;
use windlass_print::Error;

use super::report::HoldReport;
use super::session::Session;

impl Session<'_> {
    /// Stops the printers. If one cannot be stopped, starts the stopped ones again.
    pub(super) fn hold(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        let Some(control) = &self.control else {
            return Err(Error::Asked("no server can be asked to stop its printers".to_owned()));
        };
        let done = control.pause(&mut self.paused);
        let stopped = self.paused.len();
        self.held = Some(HoldReport {
            stopped,
            stopped_already: control.queues.len().saturating_sub(stopped),
            stop_seconds: Span::from_duration(began.elapsed()),
            start_seconds: None,
            left_stopped: stopped,
        });
        if done.is_err() {
            self.release();
        } else {
            // This confirms that they are stopped before the first job.
            self.ask();
        }
        done
    }

    /// Starts the stopped printers again. Returns the reason if some could not be started.
    pub(super) fn release(&mut self) -> Option<Error> {
        let (Some(control), Some(held)) = (&self.control, &mut self.held) else { return None };
        let began = Instant::now();
        let is_none = self.paused.is_empty();
        let done = if is_none { Ok(()) } else { control.resume(&mut self.paused) };
        held.start_seconds = Some(Span::from_duration(began.elapsed()));
        held.left_stopped = self.paused.len();
        done.err()
    }
}
