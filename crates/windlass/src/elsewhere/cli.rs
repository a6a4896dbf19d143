//! Where the commands that take Linux are not.

use clap::Subcommand;
use windlass_base::Failure;
use windlass_output::Output;

use crate::keeping::KeepArgs;

/// Commands that are not there.
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

absent!(Capturing Driving Observing);

/// What was meant by arguments that are not understood.
pub(crate) const fn meant(_: &clap::Error) -> Option<Failure> {
    None
}
