//! `windlass spool`: print spoolers.

mod account;
mod certificate;
mod control;
mod load;
mod password;
mod salvage;
mod serve;

pub use account::AccountArgs;
pub use certificate::CertificateArgs;
use clap::{Args, Subcommand};
pub use control::Control;
pub use load::{LoadArgs, SubmissionMethod};
pub use password::PasswordArgs;
pub use salvage::SalvageArgs;
pub use serve::ServeArgs;
use windlass_output::Output;

use crate::arguments::JsonArgs;
use crate::keeping::KeepArgs;

/// The arguments of `windlass spool`.
#[derive(Args, Clone, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  windlass spool load ipp://127.0.0.1/printers/dummy --jobs 15000
                                           measure how fast a spooler accepts and processes jobs
  windlass spool load 'ipp://127.0.0.1/printers/dummy{0..279}' --jobs 201600 --payload pdf
                                           the same over 280 queues
  windlass spool serve --printer office=socket://192.0.2.9
                                           run a spooler in front of a printer"
)]
pub struct SpoolArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub spool: Spool,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Subcommands of `windlass spool`.
#[derive(Clone, Debug, Subcommand)]
pub enum Spool {
    /// Load a spooler with thousands of jobs, and report its speed and its bottleneck
    ///
    /// Generates job files, queues them round robin over the queues, and waits until the spooler
    /// has processed all jobs. Reports the time to queue and to process, jobs and bytes per second,
    /// acknowledgement times, waiting jobs, refusals in the server's words, and the bottleneck.
    Load(Box<LoadArgs>),

    /// Run a spooler: accept jobs by IPP, LPR and raw data, store and forward them to printers
    ///
    /// Acknowledges a job once it is as safe as --durability says, and keeps it however the server
    /// ends. Forwards each job to the device of its printer, and retries if that fails. A full
    /// spool refuses new jobs in each protocol's way, and accepts jobs again once it has room.
    Serve(Box<ServeArgs>),

    /// Sum up an account log: who printed how much
    ///
    /// Adds up the lines of windlass spool serve --account-log by user, printer, day or billing
    /// account. Unknown page counts are not guessed: their jobs are counted separately.
    Account(AccountArgs),
    /// Recover intact jobs from a damaged spool
    ///
    /// Reads the journal past any damage, compares each document with its checksum, and lists the
    /// jobs as whole, uncertain, damaged or lost. The damaged folder is not changed. With --to,
    /// whole jobs are put into a new spool. Uncertain jobs are put there too, but held: they may
    /// have been printed. The exit code is 1 if anything was damaged.
    Salvage(SalvageArgs),

    /// Make a self-signed certificate and its key for windlass spool serve
    Certificate(CertificateArgs),

    /// Set or remove a user's password in a file for windlass spool serve
    ///
    /// Asks for the password at a terminal, or reads it from the first line of standard input. The
    /// file holds Argon2id hashes, and only its owner may read it. A running server applies a
    /// change within a second.
    Password(PasswordArgs),

    /// Commands that send requests to a server.
    #[command(flatten)]
    Control(Box<Control>),
}

impl SpoolArgs {
    /// Returns the arguments for keeping a measured run.
    pub fn keeping(&self) -> Option<&KeepArgs> {
        match &self.spool {
            Spool::Load(args) => Some(&args.measuring.keep_run),
            _ => None,
        }
    }
}

/// Runs the command.
pub fn run(args: &SpoolArgs, output: &mut Output) -> anyhow::Result<()> {
    match &args.spool {
        Spool::Load(args) => load::run(args, output),
        Spool::Serve(args) => serve::run(args, output),
        Spool::Account(args) => account::run(args, output),
        Spool::Salvage(args) => salvage::run(args, output),
        Spool::Certificate(args) => certificate::run(args, output),
        Spool::Password(args) => password::run(args, output),
        Spool::Control(asked) => control::run(asked, output),
    }
}
