//! `windlass spool jobs`, `printers` and the commands that change them: requests to a
//! spool server, by IPP. They also work with CUPS.

mod change;
mod done;
mod jobs;
mod printers;
mod server;
mod why;

use clap::{Args, Subcommand};
use windlass_base::values::span;
use windlass_base::{Failure, Span};
use windlass_output::Output;
use windlass_wire::ipp::Operation;

use self::change::{ChangeClassArgs, ChangePrinterArgs, MoveArgs};
use crate::arguments::one_of;
use crate::commands::login::{self, LoginArgs};
use crate::commands::unwritten;

/// Requests to a server.
#[derive(Clone, Debug, Subcommand)]
pub enum Control {
    /// List the jobs of a spool
    Jobs(JobsArgs),

    /// List the printers of a spool, with their states and waiting jobs
    Printers(PrintersArgs),

    /// Explain why printing is slow: where the time of a job, or of a printer's jobs, goes
    ///
    /// Lists for each forwarded job the time in the queue, to connect to the device, to send the
    /// data, and to the device's answer. Names what limited the transfer, by the figures of the
    /// server's kernel, and a remedy.
    Why(WhyArgs),

    /// Hold jobs until they are released
    Hold(JobArgs),

    /// Release held jobs
    Release(JobArgs),

    /// Cancel jobs
    Cancel(JobArgs),

    /// Print finished jobs again; the spool must keep their documents
    Restart(JobArgs),

    /// Stop printers: each finishes its current job and starts no other
    Stop(PrinterArgs),

    /// Start stopped printers; a printer with a failing device retries at once
    Start(PrinterArgs),

    /// Move jobs, or all jobs of a printer, to another printer
    Move(MoveArgs),

    /// Add, change and remove printers of a running spool
    Printer(ChangePrinterArgs),

    /// Add, change and remove classes: groups of printers that share jobs
    Class(ChangeClassArgs),
}

/// Address of the spool server.
#[derive(Args, Clone, Debug)]
pub struct ServerArgs {
    /// IPP address of the spool server: HOST[:PORT], a URI, or a Unix socket such as
    /// /run/cups/cups.sock
    #[arg(long, short_alias = 's', value_name = "SERVER")]
    #[arg(default_value = "127.0.0.1:8631")]
    pub server: String,

    /// User who makes the request [default: the user who runs windlass]
    #[arg(long, short = 'U', value_name = "NAME")]
    pub user: Option<String>,

    /// Give up after this long without an answer
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "30s")]
    pub patience: Span,

    /// Login and trust.
    #[command(flatten)]
    pub login: LoginArgs,
}

/// Unfinished and finished jobs, as keywords of IPP.
const WAITING: &str = "not-completed";
const OVER: &str = "completed";

/// Sets of jobs.
const WHICH: [(&str, &str, &str); 3] = [
    (WAITING, "Unfinished jobs", WAITING),
    (OVER, "Finished jobs", OVER),
    ("all", "All jobs", "all"),
];

/// The arguments of `windlass spool jobs`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool jobs                      list the unfinished jobs of all printers
  windlass spool jobs office --which completed
                                           list the finished jobs of the printer office
  windlass spool jobs --limit 20 --json    list the first 20, as JSON
  windlass spool jobs -s 192.0.2.9:631     list the jobs of CUPS on another host
  windlass spool jobs -s /run/cups/cups.sock
                                           of CUPS on this host; the kernel identifies you
  windlass spool jobs -s ipps://print.example.org --user ann --password-file FILE
                                           over TLS, with a password")]
pub struct JobsArgs {
    /// Printer or class [default: all]
    #[arg(value_name = "PRINTER")]
    pub printer: Option<String>,

    /// Jobs to list
    #[arg(long, value_name = "WHICH", value_parser = one_of(&WHICH))]
    #[arg(default_value = WAITING)]
    pub which: &'static str,

    /// Maximum number of jobs to list
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The arguments of `windlass spool printers`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool printers                  list all printers, with their states
  windlass spool printers office lab       list these two")]
pub struct PrintersArgs {
    /// Printers to list [default: all]
    #[arg(value_name = "PRINTER")]
    pub printers: Vec<String>,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The arguments of `windlass spool why`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool why 17                    show where the time of job 17 goes, and its limit
  windlass spool why office                show the same of the last jobs of the printer office
  windlass spool why office --last 1000 --json
                                           of the last 1,000 jobs, as JSON")]
pub struct WhyArgs {
    /// Number of a job, or name of a printer
    #[arg(value_name = "JOB|PRINTER")]
    pub what: String,

    /// Number of the printer's last jobs to examine
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub last: u32,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Arguments of the commands that change jobs.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool hold 17 18                hold jobs 17 and 18 until they are released
  windlass spool cancel --printer office   cancel all jobs of a printer")]
pub struct JobArgs {
    /// Numbers of jobs
    #[arg(value_name = "JOB", required_unless_present = "printer")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Vec<u32>,

    /// Apply to all jobs of this printer: unfinished ones, or finished ones for restart; may be
    /// given again
    #[arg(long, short_alias = 'p', value_name = "PRINTER", conflicts_with = "jobs")]
    pub printer: Vec<String>,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Arguments of the commands that change printers.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool stop office               office finishes its job and starts no other
  windlass spool start 'dummy{0..279}'     start 280 printers")]
pub struct PrinterArgs {
    /// Names of printers; dummy{0..279} stands for 280 names
    #[arg(value_name = "PRINTER", required = true)]
    pub printers: Vec<String>,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Sends the request, and reports the answer.
pub(super) fn run(control: &Control, output: &mut Output) -> anyhow::Result<()> {
    let report = match control {
        Control::Jobs(args) => return output.print(&jobs::ask(args)?).map_err(unwritten),
        Control::Printers(args) => return output.print(&printers::ask(args)?).map_err(unwritten),
        Control::Why(args) => return output.print(&why::ask(args)?).map_err(unwritten),
        Control::Hold(args) => done::with_jobs(args, Deed::HOLD)?,
        Control::Release(args) => done::with_jobs(args, Deed::RELEASE)?,
        Control::Cancel(args) => done::with_jobs(args, Deed::CANCEL)?,
        Control::Restart(args) => done::with_jobs(args, Deed::RESTART)?,
        Control::Stop(args) => done::with_printers(args, Deed::STOP)?,
        Control::Start(args) => done::with_printers(args, Deed::START)?,
        Control::Move(args) => change::move_jobs(args)?,
        Control::Printer(args) => change::printer(args)?,
        Control::Class(args) => change::class(args)?,
    };
    output.print(&report).map_err(unwritten)?;
    report.failure().map_or(Ok(()), |failure| Err(failure.into()))
}

/// Action on jobs or printers.
#[derive(Clone, Copy, Debug)]
struct Deed {
    operation: Operation,
    past: &'static str,
    /// Set of a printer's jobs that the action applies to.
    which: &'static str,
}

impl Deed {
    const HOLD: Self = Self::of(Operation::HOLD_JOB, "held");
    const RELEASE: Self = Self::of(Operation::RELEASE_JOB, "released");
    const CANCEL: Self = Self::of(Operation::CANCEL_JOB, "canceled");
    const RESTART: Self = Self { which: OVER, ..Self::of(Operation::RESTART_JOB, "restarted") };
    const STOP: Self = Self::of(Operation::PAUSE_PRINTER, "stopped");
    const START: Self = Self::of(Operation::RESUME_PRINTER, "started");

    const fn of(operation: Operation, past: &'static str) -> Self {
        Self { operation, past, which: WAITING }
    }
}

/// Returns an error of the server with advice.
fn failed(doing: String, error: &windlass_print::Error) -> Failure {
    use windlass_print::Error;
    let failure = Failure::new(doing, error);
    match error {
        Error::Http { status: 401, .. } => failure.advise(login::ADVICE),
        Error::Http { status: 426, .. } => failure.advise("Write the server as ipps://HOST."),
        // The error itself advises --trust.
        Error::Dial(wrong) if wrong.to_string().contains("--trust") => failure,
        Error::Dial(_) => failure.advise(
            "Give its address with --server HOST:PORT; windlass spool serve prints it at the start.",
        ),
        _ => failure,
    }
}
