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
pub use load::{LoadArgs, Spoken};
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
                                           how fast a spooler takes jobs, and processes them
  windlass spool load 'ipp://127.0.0.1/printers/dummy{0..279}' --jobs 201600 --payload pdf
                                           the same over 280 queues
  windlass spool serve --printer office=socket://192.0.2.9
                                           a spool of its own, in front of a printer"
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

    /// Serve a spool: take jobs by IPP, LPR and raw data, keep them, and forward them to printers
    ///
    /// It acknowledges a job when it is as safe as --durability says, keeps it however the server
    /// ends, and forwards it to the device of its printer, again and again where that fails. A full
    /// spool refuses new jobs in the words of each protocol and goes on when there is room.
    Serve(Box<ServeArgs>),

    /// Say who printed how much, by the account that a spool wrote
    ///
    /// It adds up the lines of windlass spool serve --account-log by user, printer, day or what is
    /// billed. Pages that cannot be told are not guessed: their jobs are counted apart.
    Account(AccountArgs),
    /// Bring every whole job out of a damaged spool
    ///
    /// It reads the journal record by record past any damage, compares each document with its
    /// checksum, and says which jobs are whole, damaged or lost. The damaged folder is not changed;
    /// with --to the jobs that are whole are put into a new one. Those of which a newer state may be
    /// lost are held there, as they may have been printed. It exits with 1 where something was not
    /// whole.
    Salvage(SalvageArgs),

    /// Make a certificate for windlass spool serve that vouches for itself, and its key
    Certificate(CertificateArgs),

    /// Set or remove a user's password in a file for windlass spool serve
    ///
    /// It asks for the password, or reads the first line of standard input where that is no
    /// terminal. The file holds hashes by Argon2id, and only its owner may read it. A server that
    /// runs sees a change within a second.
    Password(PasswordArgs),

    /// What asks a server.
    #[command(flatten)]
    Control(Box<Control>),
}

impl SpoolArgs {
    /// Whether and how the run is kept, where it measures.
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
