//! What may be said to `windlass spool load`.

use std::path::PathBuf;

use clap::Args;
use windlass_base::values::{bytes, span};
use windlass_base::{Bytes, Span};
use windlass_print::Protocol;
use windlass_print::load::Program;

use crate::arguments::one_of;
use crate::commands::login::LoginArgs;
use crate::commands::measuring::MeasuringArgs;

/// What a queue speaks, and whether the program lp is run for each job.
pub type Spoken = (Protocol, bool);

/// How jobs are handed to the spooler.
const PROTOCOLS: [(&str, &str, Spoken); 4] = [
    ("ipp", "IPP over connections that are kept (RFC 8010, RFC 8011)", (Protocol::Ipp, false)),
    ("lpr", "LPR, a connection for each job (RFC 1179)", (Protocol::Lpr, false)),
    ("raw", "The data alone, a connection for each job", (Protocol::Raw, false)),
    ("lp", "The program lp, run for each job, as scripts do", (Protocol::Ipp, true)),
];

/// What is run for each job.
const PROGRAMS: [(&str, &str, Program); 2] = [
    ("lp", "lp -h HOST:PORT -d QUEUE FILE", Program::Lp),
    ("lpr", "lpr -H HOST:PORT -P QUEUE FILE", Program::Lpr),
];

/// The arguments of `windlass spool load`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool load ipp://127.0.0.1/printers/dummy --jobs 15000 --size 1011712
                                           15,000 files of 1 MB, as fast as they are taken
  windlass spool load 'ipp://127.0.0.1:8631/printers/dummy{0..279}' --jobs 201600 --payload pdf
                                           201,600 jobs over 280 queues: sample PDFs in turn
  windlass spool load 127.0.0.1 --protocol lpr --queues 1..280 --connections 8
                                           by LPR, eight at once, to queues called 1 to 280
  windlass spool load ipp://127.0.0.1/printers/dummy --hold --size 10kB
                                           stop the printer first, queue, and let it go then
  windlass spool load ipp://127.0.0.1/printers/dummy --watch-process cupsd --syscalls
                                           and what its daemon asks of the kernel meanwhile
  windlass spool load ipp://127.0.0.1/printers/dummy --protocol lp --jobs 200
                                           with a process of lp for each job
  windlass spool load ipp://127.0.0.1/printers/dummy --retry-full 60s --watch-process cupsd
                                           go on when a full spool takes jobs again
  windlass spool load ipp://127.0.0.1/printers/dummy --json > before.json
  windlass spool load ipp://127.0.0.1/printers/dummy --compare before.json
                                           what a setting of cupsd that was changed between brought

Queues:
  {0..279} stands for the numbers from 0 to 279, {a,b} for a and b; {000..279} keeps three digits.
  They may be in TARGET, or in --queues: names with commas between them, or 1..280 alone. With {} in
  TARGET the names go there.

Job files:
  text, zeros and random are one file of --size. pdf is eleven documents from 2 kB to 3 MB, made
  here. A name of anything else is a file of yours, or a folder of them; files are sent in turn.
  They are made, and copied to where jobs are sent --from, before the first job; both are timed.

What is counted:
  Each job once: acknowledged, refused by the server, failed before the server had all of it,
  unknown where it had all and never answered, or not sent. Then what became of those that were
  acknowledged: completed, aborted, canceled, missing or unknown. Rates to process are of completed
  jobs, and anything else is exit code 1. The time to queue lasts from the first byte of the first
  job to the last answer; the time to process from then until none waits any more.
  docs/spool-load.md has the details.

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct LoadArgs {
    /// Where to.
    #[arg(value_name = "TARGET")]
    #[arg(
        help = "A host, or a URI: ipp://HOST:PORT/printers/QUEUE, lpd://HOST/QUEUE, socket://HOST:PORT"
    )]
    pub target: String,

    /// How jobs are handed over; a URI says it already, but for lp
    #[arg(long, value_name = "PROTOCOL", value_parser = one_of(&PROTOCOLS))]
    pub protocol: Option<Spoken>,

    /// The queues: names, dummy{0..279}, or 1..280
    #[arg(long, short = 'q', value_name = "NAMES")]
    pub queues: Option<String>,

    /// How many jobs
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    #[arg(help_heading = "The load")]
    pub jobs: u64,

    /// The size of each
    #[arg(long, short = 's', value_name = "SIZE", value_parser = bytes, help_heading = "The load")]
    #[arg(default_value = "1011712")]
    pub size: Bytes,

    /// What they are: text, zeros, random, pdf, or a file or folder of yours; may be given again
    #[arg(long, value_name = "KIND|FILE", default_value = "text", help_heading = "The load")]
    pub payload: Vec<PathBuf>,

    /// Where job files are sent from: memory, or copies in this folder
    #[arg(long, value_name = "memory|FOLDER", help_heading = "The load")]
    pub from: Option<PathBuf>,

    /// How many jobs are handed over at once, each on a connection of its own
    #[arg(long, short = 'c', value_name = "N", default_value_t = 1, help_heading = "The load")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub connections: u16,

    /// Stop the printers first, queue all, and let them go then
    #[arg(long, help_heading = "The load")]
    pub hold: bool,

    /// Leave the printers stopped, with the jobs queued
    #[arg(long, requires = "hold", help_heading = "The load")]
    pub keep_held: bool,

    /// Do not wait until the jobs are processed
    #[arg(long, conflicts_with = "hold", help_heading = "The load")]
    pub no_wait: bool,

    /// Try a job again that a full spool refused, for so long
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "The load")]
    pub retry_full: Option<Span>,

    /// Where the spooler speaks IPP, to ask how many jobs wait and to stop printers where jobs go
    /// another way: ipp://HOST:PORT
    #[arg(long, value_name = "URI", help_heading = "The load")]
    pub control: Option<String>,

    /// Whose jobs they are [default: the one of the URI, or the user who runs windlass]
    #[arg(long, value_name = "NAME", help_heading = "The jobs")]
    pub user: Option<String>,

    /// How long nothing may move, an answer may take, and no job may be processed
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "60s")]
    #[arg(help_heading = "The jobs")]
    pub patience: Span,

    /// Create each job first and send its document after it (Create-Job, Send-Document)
    #[arg(long, help_heading = "The jobs")]
    pub create_job: bool,

    /// What documents are [default: application/octet-stream, by which the spooler finds out]
    #[arg(long, value_name = "TYPE", help_heading = "The jobs")]
    pub format: Option<String>,

    /// The program that is run for each job
    #[arg(long, value_name = "NAME", value_parser = one_of(&PROGRAMS), help_heading = "The jobs")]
    pub program: Option<Program>,

    /// Compare with the report of an earlier run, of --json: what a change brought
    #[arg(long, value_name = "FILE", help_heading = "The measurement")]
    pub compare: Option<PathBuf>,

    /// How often it is looked how many jobs wait, at the most
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "The measurement")]
    pub interval: Span,

    /// Who asks, and who is trusted.
    #[command(flatten)]
    pub login: LoginArgs,

    /// What is done beside the measurement, and with it.
    #[command(flatten)]
    pub measuring: MeasuringArgs,
}
