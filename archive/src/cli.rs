//! The command line: what may be said, without doing any of it.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};
use tokio::runtime::Runtime;

use crate::cluster::{executor, scheduler};
use crate::commands::{add, compact, files, retain};
use crate::{report, sql};

/// Explains thousands of captures into tables, each once, and asks them with SQL.
///
/// An archive is a folder or a prefix of a bucket. What is in it is said by its log: who reads it
/// sees whole captures only, whoever writes meanwhile, and whoever was killed.
#[derive(Debug, Parser)]
#[command(
    name = "windlass-archive",
    version,
    max_term_width = 100,
    styles = STYLES,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  windlass-archive add /captures --into archive
                                       explain every capture below /captures, once
  windlass-archive sql --from archive \"select count(*) from connections\"
  windlass-archive report --from archive -o report.html
  windlass-archive compact archive     small files into large ones
  windlass-archive retain archive --older-than 90d

Exit codes:
  0  done
  1  something was found or failed
  2  the command line was not understood

Environment:
  AWS_REGION, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, …
             where the buckets of s3://… are, and who asks
  TMPDIR     the folder of temporary files
  NO_COLOR   no colour"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::White.on_default().bold())
    .usage(AnsiColor::White.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Green.on_default());

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explain captures into an archive, each once
    ///
    /// PATH is a capture, a folder of them with all folders below, or s3://BUCKET/PREFIX. What is
    /// compressed is read as it is, and a .tar or .zip as a folder of its captures. A file whose
    /// path, size and time of change are in the archive is not read again; any other is known by
    /// its content. A file that is damaged or no capture becomes a row that says so. Ctrl-C keeps
    /// what is done, and so does being killed: the same command goes on where it was.
    Add(add::AddArgs),
    /// Ask an archive with SQL
    Sql(sql::SqlArgs),
    /// Answer the questions that most have of an archive
    ///
    /// The share of each limit by network and hour; devices that are limited by their window, the
    /// worst first, with what each would gain; pairs of hosts whose limit changed in the last seven
    /// days; and the slowest hours.
    Report(report::ReportArgs),
    /// Join an archive's small files into files of 128 to 512 MB
    ///
    /// Readers and writers go on meanwhile. What was joined is deleted when nobody reads it any
    /// more: by the first compact or retain after --grace.
    Compact(compact::CompactArgs),
    /// Drop captures that are older than an age
    ///
    /// A capture is as old as its last packet; one that does not say, as its file. Files that are
    /// still in folders that are added come back with the next add: see its --newer-than.
    Retain(retain::RetainArgs),
    /// Name the files of which an archive's tables are made, for other readers
    ///
    /// A folder of an archive may hold files that no longer count, or do not count yet; these do.
    Files(files::FilesArgs),
    /// Give out the work of add and sql to executors on many machines
    ///
    /// One for a cluster. It reads and writes nothing itself, and keeps nothing: where it is
    /// started anew, jobs that were not done are run again by who wants them. Ctrl-C or SIGTERM
    /// end it.
    Scheduler(scheduler::SchedulerArgs),
    /// Do work that a scheduler gives out
    ///
    /// One for a machine. It must see captures and archives by the same paths as who adds and
    /// asks. Ctrl-C or SIGTERM end it; others do what it was at.
    Executor(executor::ExecutorArgs),
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    /// Where it cannot.
    pub fn run(&self, runtime: &Runtime) -> anyhow::Result<()> {
        match self {
            Self::Add(args) => add::run(args, runtime),
            Self::Sql(args) => sql::run(args, runtime),
            Self::Report(args) => report::run(args, runtime),
            Self::Compact(args) => compact::run(args, runtime),
            Self::Retain(args) => retain::run(args, runtime),
            Self::Files(args) => files::run(args, runtime),
            Self::Scheduler(args) => scheduler::run(args, runtime),
            Self::Executor(args) => executor::run(args, runtime),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_the_compose_file_starts_is_understood() {
        let file = include_str!("../cluster/compose.yaml");
        let mut names = Vec::new();
        for line in file.lines() {
            let Some(list) = line.trim().strip_prefix("command: ") else { continue };
            let words: Vec<String> = serde_json::from_str(list).unwrap();
            let whole = std::iter::once("windlass-archive".to_owned()).chain(words.clone());
            match Cli::try_parse_from(whole) {
                Ok(_) => names.push(words[0].clone()),
                Err(error) => assert!(!error.use_stderr(), "{error}"),
            }
        }
        assert_eq!(names, ["scheduler", "executor"]);
        // Both executors are the same, and the ports those that are opened.
        assert!(file.contains("executor-1: &executor") && file.contains("executor-2: *executor"));
        let container = include_str!("../cluster/Containerfile");
        assert!(container.contains("EXPOSE 50050 50051"));
    }
}
