//! `windlass spool load`: jobs on a spooler by the thousand.

mod args;

use crate::failure::Failure;
use crate::print::Output;
pub use args::{LoadArgs, Run, Spoken};

/// Runs the command.
///
/// # Errors
/// Where no job can be queued, or the report cannot be written.
pub(super) fn run(args: &LoadArgs, _output: &mut Output) -> anyhow::Result<()> {
    Err(Failure::new(format!("cannot load {}", args.target), "this part is not there yet").into())
}
