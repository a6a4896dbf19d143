//! Where no device runs for a sender of one's own.

use clap::Subcommand;
use windlass_output::Output;

/// What runs a device: nothing.
#[derive(Clone, Debug, Subcommand)]
pub enum Running {}

impl Running {
    pub(super) fn run(&self, _: &mut Output) -> anyhow::Result<()> {
        match *self {}
    }
}
