//! `windlass spool jobs`, `printers` and what is done with them: questions to a
//! spool server, by IPP. CUPS answers them, too.

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

/// What a server is asked.
#[derive(Clone, Debug, Subcommand)]
pub enum Control {
    /// List the jobs of a spool
    Jobs(JobsArgs),

    /// List the printers of a spool, how they are and how many jobs wait
    Printers(PrintersArgs),

    /// Tell why printing is slow: where the time of a job or of a printer's jobs goes
    ///
    /// For each job that was forwarded: how long it waited in its queue, for the device to take the
    /// connection, for the data to be sent, and for the device to say that it has the job; and what
    /// held the data back, by this host's kernel, with what to change.
    Why(WhyArgs),

    /// Hold jobs: they wait until they are released
    Hold(JobArgs),

    /// Release jobs that are held
    Release(JobArgs),

    /// Cancel jobs
    Cancel(JobArgs),

    /// Print jobs again that are over; the spool has to keep their documents
    Restart(JobArgs),

    /// Stop printers: they end the job that they have and take no other up
    Stop(PrinterArgs),

    /// Start printers that are stopped; one whose device fails tries at once
    Start(PrinterArgs),

    /// Move jobs to another printer: some, or all of a printer
    Move(MoveArgs),

    /// Add, change and remove printers of a spool that runs
    Printer(ChangePrinterArgs),

    /// Add, change and remove classes: printers that share their jobs
    Class(ChangeClassArgs),
}

/// Where the spool is.
#[derive(Args, Clone, Debug)]
pub struct ServerArgs {
    /// Where the spool server speaks IPP: HOST[:PORT], a URI, or the path of a Unix socket as
    /// /run/cups/cups.sock
    #[arg(long, short = 's', value_name = "SERVER")]
    #[arg(default_value = "127.0.0.1:8631")]
    pub server: String,

    /// Who asks [default: the user who runs windlass]
    #[arg(long, short = 'U', value_name = "NAME")]
    pub user: Option<String>,

    /// How long an answer may take
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "30s")]
    pub patience: Span,

    /// Who asks, and who is trusted.
    #[command(flatten)]
    pub login: LoginArgs,
}

/// Jobs that are not over, and those that are, in IPP's words.
const WAITING: &str = "not-completed";
const OVER: &str = "completed";

/// Which jobs.
const WHICH: [(&str, &str, &str); 3] = [
    (WAITING, "Those that are not over", WAITING),
    (OVER, "Those that are over", OVER),
    ("all", "All that are known", "all"),
];

/// The arguments of `windlass spool jobs`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool jobs                      jobs that wait, of all printers
  windlass spool jobs office --which completed
                                           what the printer office has done
  windlass spool jobs --limit 20 --json    the first 20, for programs
  windlass spool jobs -s 192.0.2.9:631     of CUPS on another host
  windlass spool jobs -s /run/cups/cups.sock
                                           of CUPS on this host, as whom the kernel says
  windlass spool jobs -s ipps://print.example.org --user ann --password-file FILE
                                           encrypted, with a password")]
pub struct JobsArgs {
    /// Whose jobs [default: all printers']
    #[arg(value_name = "PRINTER")]
    pub printer: Option<String>,

    /// Which of them
    #[arg(long, value_name = "WHICH", value_parser = one_of(&WHICH))]
    #[arg(default_value = WAITING)]
    pub which: &'static str,

    /// The most that are told of
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
  windlass spool printers                  all printers, and how they are
  windlass spool printers office lab       these two")]
pub struct PrintersArgs {
    /// These alone
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
  windlass spool why 17                    where the time of job 17 goes, and what holds it back
  windlass spool why office                the same of the last jobs of the printer office
  windlass spool why office --last 1000 --json
                                           of more of them, for programs")]
pub struct WhyArgs {
    /// A job, by number, or a printer, by name
    #[arg(value_name = "JOB|PRINTER")]
    pub what: String,

    /// How many of the printer's last jobs are looked at
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub last: u32,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The arguments of what is done with jobs.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool hold 17 18                jobs 17 and 18 wait until they are released
  windlass spool cancel --printer office   cancel all jobs of a printer")]
pub struct JobArgs {
    /// Jobs, by number
    #[arg(value_name = "JOB", required_unless_present = "printer")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Vec<u32>,

    /// All jobs of this printer that are not over; may be given again
    #[arg(long, short = 'p', value_name = "PRINTER", conflicts_with = "jobs")]
    pub printer: Vec<String>,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The arguments of what is done with printers.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool stop office               office ends its job and takes no other up
  windlass spool start 'dummy{0..279}'     280 printers go on")]
pub struct PrinterArgs {
    /// Printers, by name; dummy{0..279} stands for many
    #[arg(value_name = "PRINTER", required = true)]
    pub printers: Vec<String>,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Asks the server, and tells what it said.
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

/// What can be done with jobs or printers.
#[derive(Clone, Copy, Debug)]
struct Deed {
    operation: Operation,
    past: &'static str,
    /// Of which jobs of a printer it is asked for.
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

/// An error of the server, as people need it.
fn failed(doing: String, error: &windlass_print::Error) -> Failure {
    use windlass_print::Error;
    let failure = Failure::new(doing, error);
    match error {
        Error::Http { status: 401, .. } => failure.advise(login::ADVICE),
        Error::Http { status: 426, .. } => failure.advise("Write the server as ipps://HOST."),
        // It says itself what to do.
        Error::Dial(wrong) if wrong.to_string().contains("--trust") => failure,
        Error::Dial(_) => failure.advise(
            "Say where it is with --server HOST:PORT; windlass spool serve tells its address.",
        ),
        _ => failure,
    }
}
