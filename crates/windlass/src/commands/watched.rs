//! What the machine did beside another command: the arguments, and what they add
//! to its record.

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Timestamp};
use windlass_host::{Meanwhile, Running, Settings, WatchTarget, Watcher};
use windlass_output::{Page, Record, records};

use super::watch;

/// Whether a command is to watch the machine while it runs.
#[derive(Args, Clone, Debug, Default)]
pub struct WatchingArgs {
    /// Watch this machine meanwhile, and say what was busiest, as windlass watch does
    #[arg(long, help_heading = "This machine")]
    pub watch: bool,

    /// The same, and a process: by its number or its exact name
    #[arg(long = "watch-process", value_name = "NAME|PID", value_parser = watch::wanted)]
    #[arg(help_heading = "This machine")]
    pub watch_processes: Vec<WatchTarget>,

    /// Count the system calls of that process and of what it starts, by ptrace; see windlass watch
    #[arg(long, requires = "watch_processes", help_heading = "This machine")]
    pub syscalls: bool,
}

impl WatchingArgs {
    /// Whether that is asked for.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.watch || !self.watch_processes.is_empty()
    }

    /// A run begins. The machine is watched, where that is asked for; `keep` is whether
    /// the intervals are wanted, and not only what they come to.
    pub(crate) fn start(&self, keep: bool) -> Result<Running, Failure> {
        if !self.is_wanted() {
            return Ok(Running::begin(None));
        }
        let processes = self.watch_processes.clone();
        let syscalls = self.syscalls;
        let settings = Settings { processes, syscalls, keep, ..Settings::default() };
        let watcher = Watcher::start(settings).map_err(|error| watch::failure(&error))?;
        Ok(Running::begin(Some(watcher)))
    }
}

/// The record of a command, when it ran, and what this machine did meanwhile.
#[derive(Clone, Debug, Serialize)]
pub struct Watched<R> {
    /// That of the command.
    #[serde(flatten)]
    pub record: R,
    /// When that was, and what was watched.
    #[serde(flatten)]
    pub meanwhile: Meanwhile,
}

impl<R> Watched<R> {
    /// A record of a run that is over, and with it what was watched.
    pub fn new(record: R, run: Running) -> Self {
        Self { record, meanwhile: run.end() }
    }

    /// When that was; nothing in virtual time.
    pub const fn start_time(&self) -> Option<Timestamp> {
        self.meanwhile.times.start_time
    }

    /// A record of what took place in virtual time.
    pub fn virtually(record: R) -> Self {
        Self { record, meanwhile: Meanwhile::default() }
    }
}

impl<R: Record> Record for Watched<R> {
    fn text(&self, page: &mut Page) {
        self.record.text(page);
        if let Some(host) = &self.meanwhile.watched {
            records::host::summary(page, host);
        }
    }
}
