//! Records on systems that watch no machine: all runs are in virtual time.

use clap::Args;
use serde::Serialize;
use windlass_base::Timestamp;
use windlass_output::{Page, Record};

/// Options for watching the machine while a command runs: none.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WatchingArgs {}

impl WatchingArgs {
    /// Returns whether the machine is to be watched.
    pub(crate) const fn is_wanted(self) -> bool {
        false
    }
}

/// The record of a command, in the shape that it has on Linux.
#[derive(Clone, Debug, Serialize)]
pub struct WatchedRecord<R> {
    /// Record of the command.
    #[serde(flatten)]
    pub record: R,
    /// Start of the command.
    pub start_time: Option<Timestamp>,
    /// End of the command.
    pub end_time: Option<Timestamp>,
    /// Observations of the machine: none.
    pub watched: Option<()>,
}

impl<R> WatchedRecord<R> {
    /// Returns the start of the command; `None` in virtual time.
    pub const fn start_time(&self) -> Option<Timestamp> {
        self.start_time
    }

    /// Makes a record of a run in virtual time.
    pub const fn virtually(record: R) -> Self {
        Self { record, start_time: None, end_time: None, watched: None }
    }
}

impl<R: Record> Record for WatchedRecord<R> {
    fn text(&self, page: &mut Page) {
        self.record.text(page);
    }
}
