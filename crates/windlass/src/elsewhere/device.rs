//! Devices on systems that run none for the user's own sender.

use clap::Subcommand;
use windlass_output::Output;

/// Commands that run a device: none.
#[derive(Clone, Debug, Subcommand)]
pub enum RunCommand {}

impl RunCommand {
    pub(super) fn run(&self, _: &mut Output) -> anyhow::Result<()> {
        match *self {}
    }
}
