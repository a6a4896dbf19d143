//! Arguments of `windlass spool load`.

use std::path::PathBuf;

use clap::Args;
use windlass_base::values::{bytes, span};
use windlass_base::{Bytes, Span};
use windlass_print::Protocol;
use windlass_print::load::Program;

use crate::arguments::one_of;
use crate::commands::login::LoginArgs;
use crate::commands::measuring::MeasuringArgs;

/// Protocol of a queue, and true if the program lp is run for each job.
pub type SubmissionMethod = (Protocol, bool);

/// Ways to submit jobs to the spooler.
const PROTOCOLS: [(&str, &str, SubmissionMethod); 4] = [
    ("ipp", "IPP over persistent connections (RFC 8010, RFC 8011)", (Protocol::Ipp, false)),
    ("lpr", "LPR, a connection for each job (RFC 1179)", (Protocol::Lpr, false)),
    ("raw", "Raw data, a connection for each job", (Protocol::Raw, false)),
    ("lp", "The program lp, run for each job, as scripts do", (Protocol::Ipp, true)),
];

/// Programs that are run for each job.
const PROGRAMS: [(&str, &str, Program); 2] = [
    ("lp", "lp -h HOST:PORT -d QUEUE FILE", Program::Lp),
    ("lpr", "lpr -H HOST:PORT -P QUEUE FILE", Program::Lpr),
];

/// The arguments of `windlass spool load`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool load ipp://127.0.0.1/printers/dummy --jobs 15000 --size 1011712
                                           15,000 files of 1 MB, as fast as the spooler accepts them
  windlass spool load 'ipp://127.0.0.1:8631/printers/dummy{0..279}' --jobs 201600 --payload pdf
                                           201,600 jobs over 280 queues, sample PDFs in turn
  windlass spool load 127.0.0.1 --protocol lpr --queues 1..280 --connections 8
                                           LPR, eight jobs at once, to the queues 1 to 280
  windlass spool load ipp://127.0.0.1/printers/dummy --hold --size 10kB
                                           stop the printer, queue all jobs, then start it
  windlass spool load ipp://127.0.0.1/printers/dummy --watch-process cupsd --syscalls
                                           count the system calls of cupsd
  windlass spool load ipp://127.0.0.1/printers/dummy --protocol lp --jobs 200
                                           run lp for each job
  windlass spool load ipp://127.0.0.1/printers/dummy --retry-full 60s --watch-process cupsd
                                           wait while the spool is full
  windlass spool load ipp://127.0.0.1/printers/dummy --json > before.json
  windlass spool load ipp://127.0.0.1/printers/dummy --compare before.json
                                           compare with the run before a change of cupsd.conf

Queues:
  {0..279} stands for the numbers 0 to 279, {000..279} for numbers of three digits, {a,b} for a and
  b. Write them in TARGET or in --queues, which takes names separated by commas, or 1..280. Each
  name of --queues replaces {} in TARGET.

Job files:
  text, zeros and random are one generated file of --size. pdf is eleven generated documents from
  2 kB to 3 MB. Any other word is a file, or a folder of files. The files are sent in turn. They are
  generated, and copied to the place of --from, before the first job; both steps are timed.

Counts:
  Each job is counted once: acknowledged, refused by the server, failed (the server did not get the
  whole job), unknown (it got the whole job and never answered), or not sent. Acknowledged jobs are
  counted again by outcome: completed, aborted, canceled, missing or unknown. If any job is not
  completed, the exit code is 1. The time to queue lasts from the first byte of the first job to the
  last answer; the time to process lasts from then until no job waits. docs/spool-load.md has the
  details.

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct LoadArgs {
    /// Spooler, and its queues.
    #[arg(value_name = "TARGET")]
    #[arg(
        help = "Spooler: a host, or a URI: ipp://HOST:PORT/printers/QUEUE, lpd://HOST/QUEUE, socket://HOST:PORT"
    )]
    pub target: String,

    /// Way to submit jobs; not needed with a URI, except for lp
    #[arg(long, value_name = "PROTOCOL", value_parser = one_of(&PROTOCOLS))]
    pub protocol: Option<SubmissionMethod>,

    /// Queues: names separated by commas, dummy{0..279}, or 1..280
    #[arg(long, short_alias = 'q', value_name = "NAMES")]
    pub queues: Option<String>,

    /// Number of jobs
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    #[arg(help_heading = "The load")]
    pub jobs: u64,

    /// Size of each job file of text, zeros or random
    #[arg(long, short = 's', value_name = "SIZE", value_parser = bytes, help_heading = "The load")]
    #[arg(default_value = "1011712")]
    pub size: Bytes,

    /// Job files: text, zeros, random, pdf, or a file or folder; may be given again
    #[arg(long, value_name = "KIND|FILE", default_value = "text", help_heading = "The load")]
    pub payload: Vec<PathBuf>,

    /// Send job files from memory, or from copies in this folder [default: memory]
    #[arg(long, value_name = "memory|FOLDER", help_heading = "The load")]
    pub from: Option<PathBuf>,

    /// Number of jobs to submit at once, each on its own connection
    #[arg(
        long,
        short_alias = 'c',
        value_name = "N",
        default_value_t = 1,
        help_heading = "The load"
    )]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub connections: u16,

    /// Stop the printers, queue all jobs, then start the printers
    #[arg(long, help_heading = "The load")]
    pub hold: bool,

    /// Leave the printers stopped, with the jobs queued
    #[arg(long, requires = "hold", help_heading = "The load")]
    pub keep_held: bool,

    /// Do not wait until the jobs are processed
    #[arg(long, conflicts_with = "hold", help_heading = "The load")]
    pub no_wait: bool,

    /// Retry a job that a full spool refused, for up to this long
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "The load")]
    pub retry_full: Option<Span>,

    /// IPP address of the spooler, for LPR and raw jobs: to count waiting jobs and to stop
    /// printers, as ipp://HOST:PORT
    #[arg(long, value_name = "URI", help_heading = "The load")]
    pub control: Option<String>,

    /// Owner of the jobs [default: the user in the URI, or the user who runs windlass]
    #[arg(long, value_name = "NAME", help_heading = "The jobs")]
    pub user: Option<String>,

    /// Give up after this long without progress, without an answer, or without a processed job
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "60s")]
    #[arg(help_heading = "The jobs")]
    pub patience: Span,

    /// Create each job before sending its document (Create-Job, Send-Document)
    #[arg(long, help_heading = "The jobs")]
    pub create_job: bool,

    /// Media type of the documents [default: application/octet-stream: the spooler detects it]
    #[arg(long, value_name = "TYPE", help_heading = "The jobs")]
    pub format: Option<String>,

    /// Program to run for each job of --protocol lp [default: lp]
    #[arg(long, value_name = "NAME", value_parser = one_of(&PROGRAMS), help_heading = "The jobs")]
    pub program: Option<Program>,

    /// Compare with an earlier run's report, written with --json
    #[arg(long, value_name = "FILE", help_heading = "The measurement")]
    pub compare: Option<PathBuf>,

    /// Minimum time between counts of the waiting jobs
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "The measurement")]
    pub interval: Span,

    /// Login and trust.
    #[command(flatten)]
    pub login: LoginArgs,

    /// Options of every measurement.
    #[command(flatten)]
    pub measuring: MeasuringArgs,
}
