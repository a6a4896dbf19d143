//! `windlass-archive add`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tokio::runtime::Runtime;
use windlass_base::figures::RoughSize;
use windlass_base::{Bytes, Failure, Schema};
use windlass_tables::PathPattern;

use super::{age, counted, print};
use crate::add::{AddProgress, Job, Summary, add};
use crate::cluster::{self, ClusterArgs};
use crate::progress;
use crate::store::Place;

/// Captures to add, and the archive.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass-archive add upload.pcap --into archive
  windlass-archive add /captures --into archive --path-pattern '{site}/{date}/*'
  windlass-archive add s3://captures/2026 --into s3://tables/archive
  windlass-archive add /captures --into /archive --cluster scheduler.example")]
pub struct AddArgs {
    /// Captures, folders of captures, or s3://BUCKET/PREFIX
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,

    /// Archive: a folder, which is created if it is missing, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "DIR")]
    into: String,

    /// Pattern of paths, such as '{site}/{date}/*': each field becomes a column of captures. It
    /// matches the last parts of a path; * is any text, and {date} a date such as 2026-11-23
    #[arg(long, value_name = "PATTERN")]
    path_pattern: Option<String>,

    /// Skip files changed longer ago than this, such as 90d
    #[arg(long, value_name = "AGE", value_parser = age)]
    newer_than: Option<Duration>,

    /// Number of files to explain at once [default: number of processors plus one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[arg(conflicts_with = "cluster")]
    jobs: Option<u16>,

    /// Maximum number of captures in a batch: with smaller batches a kill loses less, but there
    /// is more to compact
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,

    /// Read all files, even with a known path, size and time
    #[arg(long)]
    reread: bool,

    /// Print the results as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    cluster: ClusterArgs,
}

/// File that could not be explained.
#[derive(Debug, Serialize)]
struct FailedFile {
    file: String,
    error: String,
}

/// Record of `windlass-archive add`.
#[derive(Debug, Serialize)]
struct Report {
    schema: Schema,
    archive: String,
    /// Files that were found.
    found: u64,
    /// Files that were in the archive already and were not read.
    known: u64,
    explained: u64,
    damaged: u64,
    copies: u64,
    failed: u64,
    /// First files that failed.
    failures: Vec<FailedFile>,
    /// Size of the files that were read.
    file_bytes: u64,
    /// Files whose names do not match; null without a pattern.
    unmatched: Option<u64>,
    /// Captures that an older version had explained.
    replaced: u64,
    stopped: bool,
}

const SCHEMA: Schema = Schema { name: "windlass.archive-add", version: 1 };

/// Returns a flag that Ctrl-C and SIGTERM set; the second signal ends the program.
fn listen() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(SIGINT, 1, Arc::clone(&stop))?;
    flag::register(SIGINT, Arc::clone(&stop))?;
    flag::register(SIGTERM, Arc::clone(&stop))?;
    Ok(stop)
}

pub fn run(args: &AddArgs, runtime: &Runtime) -> anyhow::Result<()> {
    let pattern = args.path_pattern.as_deref().map(|text| {
        text.parse::<PathPattern>().map_err(|wrong| {
            Failure::usage(format!("cannot use --path-pattern {text:?}"), wrong)
                .advise("A pattern is a path with fields, such as '{site}/{date}/*'.")
        })
    });
    let pattern = pattern.transpose()?;
    let into = Place::made(&args.into, "cannot make the archive")?;
    let stop = listen().map_err(|error| Failure::new("cannot listen for Ctrl-C", error))?;
    let job = Job {
        paths: &args.paths,
        into: &into,
        pattern: pattern.as_ref(),
        newer_than: args.newer_than,
        at_once: args.jobs.map_or(0, usize::from),
        batch: usize::try_from(args.batch).unwrap_or(usize::MAX),
        reread: args.reread,
    };
    let mut line = progress::Progress::default();
    let on_progress = |AddProgress { files, of_files, bytes, of_bytes }| {
        line.tell(|| format!("{files} of {}", counted(of_files as u64, "file")), bytes, of_bytes);
    };
    let summary = match args.cluster.cluster()? {
        Some(cluster) => {
            let pattern = args.path_pattern.as_deref();
            cluster::add::add(&cluster, &job, pattern, &stop, runtime.handle(), on_progress)
        }
        None => add(&job, &stop, runtime.handle(), on_progress),
    };
    drop(line);
    let summary = summary?;
    let stopped = summary.stopped;
    let report = Report::new(args, summary);
    print(&report, args.json, || report.text())?;
    if stopped {
        return Err(Failure::new(format!("cannot add all to {into}"), "it was stopped")
            .advise("The reported captures are kept; run the command again to continue.")
            .into());
    }
    Ok(())
}

impl Report {
    fn new(args: &AddArgs, summary: Summary) -> Self {
        let Summary { found, there, counts, bytes, unmatched, replaced, stopped, problems } =
            summary;
        let failed =
            |problem: crate::add::Problem| FailedFile { file: problem.file, error: problem.wrong };
        Self {
            schema: SCHEMA,
            archive: args.into.clone(),
            found,
            known: there,
            explained: counts.explained,
            damaged: counts.damaged,
            copies: counts.copies,
            failed: counts.failed,
            failures: problems.into_iter().map(failed).collect(),
            file_bytes: bytes,
            unmatched: args.path_pattern.as_ref().map(|_| unmatched),
            replaced,
            stopped,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} into {}: ", counted(self.found, "file"), self.archive);
        let mut parts = vec![format!("{} explained", self.explained)];
        if self.damaged > 0 {
            parts.push(format!("{} of them damaged, up to the damage", self.damaged));
        }
        if self.copies > 0 {
            parts.push(format!("{} copies of others", self.copies));
        }
        if self.known > 0 {
            parts.push(format!("{} already in the archive", self.known));
        }
        if self.replaced > 0 {
            let rows = counted(self.replaced, "row");
            parts.push(format!("{rows} of an older version replaced"));
        }
        text += &parts.join(", ");
        if self.file_bytes > 0 {
            text += &format!("; {} read", RoughSize(Bytes::new(self.file_bytes)));
        }
        text += ".\n";
        if self.failed > 0 {
            text += &format!("\n{} could not be explained:\n", counted(self.failed, "file"));
            for FailedFile { file, error } in &self.failures {
                text += &format!("- {}: {error}\n", crate::sql::visible(file));
            }
            let more = self.failed.saturating_sub(self.failures.len() as u64);
            if more > 0 {
                text += &format!("- and {more} more; the table captures has all\n");
            }
        }
        if let Some(unmatched) = self.unmatched.filter(|unmatched| *unmatched > 0) {
            let does = if unmatched == 1 { "does" } else { "do" };
            let names = counted(unmatched, "name");
            text +=
                &format!("\n{names} {does} not match the pattern: the fields are null there.\n");
        }
        text
    }
}
