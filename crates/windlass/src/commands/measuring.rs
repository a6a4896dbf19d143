//! The arguments of every command that makes a measurement.

use clap::Args;

use super::watched::WatchingArgs;
use crate::keeping::KeepArgs;
use crate::live::LiveArgs;

/// What is done beside a measurement, and with it.
#[derive(Args, Clone, Debug)]
pub struct MeasuringArgs {
    /// What this machine does meanwhile.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Whether and how this run is kept.
    #[command(flatten)]
    pub keep_run: KeepArgs,

    /// A view on the terminal.
    #[command(flatten)]
    pub live: LiveArgs,
}
