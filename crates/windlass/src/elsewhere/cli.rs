//! Stand-ins for the commands that need Linux.

use clap::Subcommand;
use windlass_base::Failure;
use windlass_output::Output;

use crate::keeping::KeepArgs;

/// Defines empty groups of commands.
macro_rules! absent {
    ($($name:ident)*) => {$(
        /// None.
        #[derive(Debug, Subcommand)]
        pub enum $name {}

        impl $name {
            pub(super) fn run(&self, _: &mut Output) -> anyhow::Result<()> {
                match *self {}
            }

            pub(super) fn keeping(&self) -> Option<(&'static str, &KeepArgs)> {
                match *self {}
            }
        }
    )*};
}

absent!(CaptureCommands DriveCommands ObserveCommands);

/// Returns a better error for wrong arguments: none on this system.
pub(crate) const fn meant(_: &clap::Error) -> Option<Failure> {
    None
}
