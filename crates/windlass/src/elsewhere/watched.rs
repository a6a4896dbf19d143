//! Where no machine is watched: what runs does so in virtual time.

use clap::Args;
use serde::Serialize;
use windlass_base::Timestamp;
use windlass_output::{Page, Record};

/// Whether a command is to watch the machine while it runs: there is no option.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct WatchingArgs {}

impl WatchingArgs {
    /// Whether that is asked for.
    pub(crate) const fn is_wanted(self) -> bool {
        false
    }
}

/// The record of a command, in the shape that it has on Linux.
#[derive(Clone, Debug, Serialize)]
pub struct Watched<R> {
    /// That of the command.
    #[serde(flatten)]
    pub record: R,
    /// When that was.
    pub start_time: Option<Timestamp>,
    /// When it was over.
    pub end_time: Option<Timestamp>,
    /// What was watched: nothing.
    pub watched: Option<()>,
}

impl<R> Watched<R> {
    /// When that was; nothing in virtual time.
    pub const fn start_time(&self) -> Option<Timestamp> {
        self.start_time
    }

    /// A record of what took place in virtual time.
    pub const fn virtually(record: R) -> Self {
        Self { record, start_time: None, end_time: None, watched: None }
    }
}

impl<R: Record> Record for Watched<R> {
    fn text(&self, page: &mut Page) {
        self.record.text(page);
    }
}
