//! `windlass spool`: print spoolers.

mod load;

use clap::{Args, Subcommand};

use crate::cli::JsonArgs;
use crate::print::Output;
pub use load::{LoadArgs, Report as LoadReport, Run, Spoken};

/// The arguments of `windlass spool`.
#[derive(Args, Clone, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  windlass spool load ipp://127.0.0.1/printers/dummy --jobs 15000
                                           how fast a spooler takes jobs, and processes them
  windlass spool load 'ipp://127.0.0.1/printers/dummy{0..279}' --jobs 201600 --payload pdf
                                           the same over 280 queues"
)]
pub struct SpoolArgs {
    /// What to do.
    #[command(subcommand)]
    pub spool: Spool,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// What there is to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Spool {
    /// Queue jobs on a spooler by the thousand, and say how fast it is and what limits it
    ///
    /// It makes the job files, queues them round robin over the queues, and waits until the spooler
    /// has processed all. It tells the time to queue and to process, jobs and bytes per second, how
    /// long an acknowledgement took, how many jobs waited, each refusal in the server's own words,
    /// and what was at its limit meanwhile.
    Load(Box<LoadArgs>),
}

/// Runs the command.
///
/// # Errors
/// What went wrong, for [`crate::failure::report`].
pub fn run(args: &SpoolArgs, output: &mut Output) -> anyhow::Result<()> {
    match &args.spool {
        Spool::Load(args) => load::run(args, output),
    }
}
