//! The same beside another command: what the machine did meanwhile.

use clap::Args;

use super::args::wanted;
use super::failure;
use crate::failure::Failure;
use crate::host::{Settings, Wanted, Watcher};

/// Whether a command is to watch the machine while it runs.
#[derive(Args, Clone, Debug, Default)]
pub struct WatchingArgs {
    /// Watch this machine meanwhile, and say what was busiest, as windlass watch does
    #[arg(long, help_heading = "This machine")]
    pub watch: bool,

    /// The same, and a process: by its number or its exact name
    #[arg(long = "watch-process", value_name = "NAME|PID", value_parser = wanted)]
    #[arg(help_heading = "This machine")]
    pub watch_processes: Vec<Wanted>,
}

impl WatchingArgs {
    /// Begins to watch, where that is asked for. `keep` is whether the intervals
    /// are wanted, and not only what they come to.
    ///
    /// # Errors
    /// Where the machine cannot be watched.
    pub(crate) fn start(&self, keep: bool) -> Result<Option<Watcher>, Failure> {
        if !self.watch && self.watch_processes.is_empty() {
            return Ok(None);
        }
        let processes = self.watch_processes.clone();
        let settings = Settings { processes, keep, ..Settings::default() };
        Watcher::start(settings).map(Some).map_err(|error| failure(&error))
    }
}
