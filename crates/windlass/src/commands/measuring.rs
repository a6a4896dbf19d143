//! The arguments of every command that makes a measurement.

use clap::Args;

use super::watched::WatchingArgs;
use crate::keeping::KeepArgs;
use crate::live::LiveArgs;

/// Options of every measurement.
#[derive(Args, Clone, Debug)]
pub struct MeasuringArgs {
    /// Watching this machine meanwhile.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Keeping of this run.
    #[command(flatten)]
    pub keep_run: KeepArgs,

    /// A view on the terminal.
    #[command(flatten)]
    pub live: LiveArgs,
}
