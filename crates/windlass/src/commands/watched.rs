//! Watching the machine beside another command: the arguments, and the fields in its record.

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Timestamp};
use windlass_host::{CurrentRun, RunContext, Settings, WatchTarget, Watcher};
use windlass_output::{Page, Record, records};

use super::watch;
use crate::arguments::COMMON;

/// Options to watch the machine while a command runs.
#[derive(Args, Clone, Debug, Default)]
pub struct WatchingArgs {
    /// Watch this machine during the run, like windlass watch, and report what was busiest
    #[arg(long, hide_short_help = true, help_heading = COMMON)]
    pub watch: bool,

    /// Watch this machine and a process, by PID or exact name
    #[arg(long = "watch-process", value_name = "NAME|PID", value_parser = watch::wanted)]
    #[arg(hide_short_help = true, help_heading = COMMON)]
    pub watch_processes: Vec<WatchTarget>,

    /// Count the system calls of the watched process and its new children (ptrace)
    #[arg(long, requires = "watch_processes", hide_short_help = true, help_heading = COMMON)]
    pub syscalls: bool,
}

impl WatchingArgs {
    /// Returns whether watching is wanted.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.watch || !self.watch_processes.is_empty()
    }

    /// Begins a run, and watches the machine if that is wanted. With `keep` the report has every
    /// interval beside the summary.
    pub(crate) fn start(&self, keep: bool) -> Result<CurrentRun, Failure> {
        if !self.is_wanted() {
            return Ok(CurrentRun::begin(None));
        }
        let processes = self.watch_processes.clone();
        let syscalls = self.syscalls;
        let settings = Settings { processes, syscalls, keep, ..Settings::default() };
        let watcher = Watcher::start(settings).map_err(|error| watch::failure(&error))?;
        Ok(CurrentRun::begin(Some(watcher)))
    }
}

/// Record of a command, with the times of the run and the machine's figures.
#[derive(Clone, Debug, Serialize)]
pub struct WatchedRecord<R> {
    /// Record of the command.
    #[serde(flatten)]
    pub record: R,
    /// Times of the run, and the machine's figures.
    #[serde(flatten)]
    pub meanwhile: RunContext,
}

impl<R> WatchedRecord<R> {
    /// Ends a run, and joins its record with the watched figures.
    pub fn new(record: R, run: CurrentRun) -> Self {
        Self { record, meanwhile: run.end() }
    }

    /// Returns the start of the run; none in virtual time.
    pub const fn start_time(&self) -> Option<Timestamp> {
        self.meanwhile.times.start_time
    }

    /// Wraps the record of a run in virtual time.
    pub fn virtually(record: R) -> Self {
        Self { record, meanwhile: RunContext::default() }
    }
}

impl<R: Record> Record for WatchedRecord<R> {
    fn text(&self, page: &mut Page) {
        self.record.text(page);
        if let Some(host) = &self.meanwhile.watched {
            records::host::summary(page, host);
        }
    }
}
