//! `windlass spool salvage`: recovery of jobs from a damaged spool.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use windlass_base::{Bytes, Failure, Schema, Timestamp};
use windlass_output::{Output, Page, Record, Style, Table, Text, figures};
use windlass_spool::store::{Error, Fate};
use windlass_spool::{JobSummary, SalvagedJob, SalvagedSpool, salvage};

use crate::commands::unwritten;

/// Maximum number of lines about damaged jobs.
const MAX_LINES: usize = 50;

/// The arguments of `windlass spool salvage`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool salvage /var/spool/windlass
                                           list the jobs that can be recovered; change nothing
  windlass spool salvage /var/spool/windlass --to /var/spool/windlass.new
                                           put the jobs that are whole into a new spool
  windlass spool serve --spool /var/spool/windlass.new --config spool.toml
                                           serve the new spool")]
pub struct SalvageArgs {
    /// Damaged spool; it is not changed
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,

    /// Put the jobs with whole documents into a new spool
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
}

/// Contents of a damaged spool.
#[derive(Debug, Serialize)]
struct SalvageReport {
    schema: Schema,
    folder: PathBuf,
    /// Folder of the new spool; null if none was made.
    to: Option<PathBuf>,
    /// Intact jobs.
    whole: u64,
    /// Unfinished jobs among them.
    waiting: u64,
    /// Jobs with complete documents whose newer state may be lost.
    uncertain: u64,
    /// Jobs whose documents are missing or altered.
    damaged: u64,
    /// Jobs of which only the number is known.
    lost: u64,
    journal: Journal,
    jobs: Vec<Job>,
}

#[derive(Debug, Serialize)]
struct Journal {
    whole: u64,
    damaged: u64,
    missing: u64,
    /// The end is not there.
    cut: bool,
}

#[derive(Debug, Serialize)]
struct Job {
    id: u32,
    fate: &'static str,
    /// Damage of its documents.
    why: Option<String>,
    /// From here on, fields of its record; null if the record is lost.
    printer: Option<String>,
    user: Option<String>,
    host: Option<String>,
    name: Option<String>,
    /// A word of RFC 8011.
    state: Option<&'static str>,
    bytes: Option<Bytes>,
    created: Option<Timestamp>,
}

/// Returns a text of a client in one line.
fn one_line(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}

impl Job {
    fn of(job: &SalvagedJob) -> Self {
        let (fate, why) = match &job.fate {
            Fate::Whole => ("whole", None),
            Fate::Uncertain => ("uncertain", None),
            Fate::Damaged(why) => ("damaged", Some(why.clone())),
            Fate::Lost => ("lost", None),
        };
        let told = job.told.as_ref();
        let text = |of: fn(&JobSummary) -> &str| told.map(|told| one_line(of(told)));
        let created = |millis: u64| {
            let nanos = i64::try_from(millis.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
            Timestamp::from_nanos(nanos)
        };
        Self {
            id: job.id,
            fate,
            why,
            printer: text(|told| &told.printer),
            user: text(|told| &told.user),
            host: text(|told| &told.host),
            name: text(|told| &told.name),
            state: told.map(|told| told.state.id()),
            bytes: told.map(|told| Bytes::new(told.bytes)),
            created: told.map(|told| created(told.created.0)),
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &SalvageArgs, output: &mut Output) -> anyhow::Result<()> {
    let salvaged =
        salvage(&args.folder, args.to.as_deref()).map_err(|error| failed(args, &error))?;
    let report = SalvageReport::new(args, &salvaged);
    output.print(&report).map_err(unwritten)?;
    if salvaged.is_whole {
        return Ok(());
    }
    let doing = format!("the spool in {} is damaged", args.folder.display());
    let wrong = match report.damaged + report.lost {
        0 => "the last jobs, or the last states of jobs, are lost".to_owned(),
        lost => format!("{} cannot be recovered", figures::counted(lost, "job").plain()),
    };
    let failure = Failure::new(doing, wrong);
    Err(match args.to {
        Some(_) => failure,
        None => failure.advise("Put the whole jobs into a new spool with --to FOLDER."),
    }
    .into())
}

fn failed(args: &SalvageArgs, error: &Error) -> Failure {
    let doing = format!("cannot salvage the spool in {}", args.folder.display());
    let failure = Failure::new(doing, error);
    match error {
        Error::Held { folder, .. } if *folder == args.folder => failure.advise(
            "A server uses this spool, so it is not damaged beyond use. End the server first.",
        ),
        Error::NotEmpty { .. } | Error::Held { .. } => {
            failure.advise("Give a folder that does not exist yet with --to.")
        }
        Error::Full(_) => failure.advise("Give a folder on another disk with --to."),
        _ => failure,
    }
}

impl SalvageReport {
    fn new(args: &SalvageArgs, salvaged: &SalvagedSpool) -> Self {
        let count = |of: &dyn Fn(&SalvagedJob) -> bool| {
            salvaged.jobs.iter().filter(|job| of(job)).count() as u64
        };
        let is_live = |job: &SalvagedJob| job.told.as_ref().is_some_and(|told| !told.is_over);
        Self {
            schema: Schema { name: "windlass.spool-salvage", version: 1 },
            folder: args.folder.clone(),
            to: args.to.clone(),
            whole: count(&|job| job.fate == Fate::Whole),
            waiting: count(&|job| job.fate == Fate::Whole && is_live(job)),
            uncertain: count(&|job| job.fate == Fate::Uncertain),
            damaged: count(&|job| matches!(job.fate, Fate::Damaged(_))),
            lost: count(&|job| job.fate == Fate::Lost),
            journal: Journal {
                whole: salvaged.records,
                damaged: salvaged.damaged,
                missing: salvaged.missing,
                cut: salvaged.is_cut,
            },
            jobs: salvaged.jobs.iter().map(Job::of).collect(),
        }
    }
}

impl Record for SalvageReport {
    fn text(&self, page: &mut Page) {
        let jobs = |number| figures::counted(number, "job");
        let Self { whole, waiting, uncertain, damaged, lost, journal, .. } = self;
        let whole = jobs(*whole).and(" whole, ").and(figures::count(*waiting).as_str());
        page.line(whole.and(if *waiting == 1 {
            " of them is unfinished"
        } else {
            " of them are unfinished"
        }));
        if *uncertain > 0 {
            let text = jobs(*uncertain).and(
                " uncertain: a newer state may be lost, so they may have been printed or canceled",
            );
            page.line(text.and(if self.to.is_some() { "; they are held" } else { "" }));
        }
        if *damaged > 0 {
            page.line(Text::styled(Style::Warn, jobs(*damaged).plain().as_str()).and(" damaged"));
        }
        if *lost > 0 {
            let text = Text::styled(Style::Warn, jobs(*lost).plain().as_str());
            page.line(text.and(" lost: only the job number is known"));
        }
        let end = if journal.cut { ", and its end is missing" } else { "" };
        page.line(format!(
            "the journal has {} whole, {} damaged and {} missing{end}",
            figures::counted(journal.whole, "record").plain(),
            figures::count(journal.damaged),
            figures::count(journal.missing),
        ));
        let broken: Vec<&Job> = self.jobs.iter().filter(|job| job.fate != "whole").collect();
        if !broken.is_empty() {
            let mut table = Table::headed("job: | state | printer | user | size: | name | damage");
            for job in broken.iter().take(MAX_LINES) {
                let text = |of: &Option<String>| Text::from(of.as_deref().unwrap_or_default());
                table.push([
                    Text::from(job.id.to_string().as_str()),
                    job.fate.into(),
                    text(&job.printer),
                    text(&job.user),
                    job.bytes.map_or_else(|| "".into(), Text::from),
                    text(&job.name),
                    job.why.as_deref().unwrap_or_default().into(),
                ]);
            }
            page.table(&table);
            if broken.len() > MAX_LINES {
                let more = figures::count((broken.len() - MAX_LINES) as u64);
                page.line(format!("… and {more} more; --json lists all"));
            }
        }
        if let Some(to) = &self.to {
            let brought = self.whole + self.uncertain;
            let to = to.display();
            page.line(
                jobs(brought)
                    .and(format!(" put into {to}: windlass spool serve --spool {to}").as_str()),
            );
        }
    }
}
