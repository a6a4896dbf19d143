//! What the machine did beside another command: the arguments, and what they add
//! to its record.

use clap::Args;
use serde::Serialize;
use windlass_base::Failure;
use windlass_host::{HostReport, Settings, Wanted, Watcher};

use super::watch;
use crate::print::{Page, Record};

/// Whether a command is to watch the machine while it runs.
#[derive(Args, Clone, Debug, Default)]
pub struct WatchingArgs {
    /// Watch this machine meanwhile, and say what was busiest, as windlass watch does
    #[arg(long, help_heading = "This machine")]
    pub watch: bool,

    /// The same, and a process: by its number or its exact name
    #[arg(long = "watch-process", value_name = "NAME|PID", value_parser = watch::wanted)]
    #[arg(help_heading = "This machine")]
    pub watch_processes: Vec<Wanted>,
}

impl WatchingArgs {
    /// Whether that is asked for.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.watch || !self.watch_processes.is_empty()
    }

    /// Begins to watch, where that is asked for. `keep` is whether the intervals
    /// are wanted, and not only what they come to.
    ///
    /// # Errors
    /// Where the machine cannot be watched.
    pub(crate) fn start(&self, keep: bool) -> Result<Option<Watcher>, Failure> {
        if !self.is_wanted() {
            return Ok(None);
        }
        let processes = self.watch_processes.clone();
        let settings = Settings { processes, keep, ..Settings::default() };
        Watcher::start(settings).map(Some).map_err(|error| watch::failure(&error))
    }
}

/// The record of a command, and what this machine did meanwhile.
#[derive(Clone, Debug, Serialize)]
pub struct Watched<R> {
    /// That of the command.
    #[serde(flatten)]
    pub record: R,
    /// The record of `windlass watch`, without what is of that command alone; null
    /// where it was not asked for.
    pub watched: Option<HostReport>,
}

impl<R> Watched<R> {
    /// A record of a run that is over, and with it what was watched.
    #[must_use]
    pub fn new(record: R, watcher: Option<Watcher>) -> Self {
        Self { record, watched: watcher.map(Watcher::finish) }
    }

    /// A record beside which nothing was watched.
    pub const fn alone(record: R) -> Self {
        Self { record, watched: None }
    }
}

impl<R: Record> Record for Watched<R> {
    fn text(&self, page: &mut Page) {
        self.record.text(page);
        if let Some(host) = &self.watched {
            watch::summary(page, host);
        }
    }
}
