//! The command line.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};
use tokio::runtime::Runtime;

use crate::cluster::{executor, scheduler};
use crate::commands::{add, compact, files, retain};
use crate::{report, sql};

/// Explains thousands of captures into tables, each once, and queries them with SQL.
///
/// An archive is a folder or a prefix of a bucket, and its log names its content. So readers see
/// whole captures only, even while others write or after a writer was killed.
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
                                       explain each capture below /captures once
  windlass-archive sql --from archive \"select count(*) from connections\"
  windlass-archive report --from archive -o report.html
  windlass-archive compact archive     join small files into large ones
  windlass-archive retain archive --older-than 90d

Exit codes:
  0  done
  1  something was found or failed
  2  the command line was wrong

Environment:
  AWS_REGION, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, …
             server, region and login of the buckets of s3://…
  TMPDIR     folder of temporary files
  NO_COLOR   no colour"
)]
pub struct Cli {
    /// The command.
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
    /// PATH is a capture, a folder with all folders below, or s3://BUCKET/PREFIX. Compressed files
    /// are read, and a .tar or .zip counts as a folder. A file with the path, size and time of a
    /// known one is not read again; other files are compared by their content. A damaged file, or
    /// one that is not a capture, becomes a row with the reason. After Ctrl-C or a kill, the same
    /// command continues.
    Add(add::AddArgs),
    /// Query an archive with SQL
    Sql(sql::SqlArgs),
    /// Report on the limits in an archive
    ///
    /// The report has the share of each limit by network and hour; devices limited by their window,
    /// worst first, with the gain of a change; pairs of hosts whose limit changed in the last seven
    /// days; and the slowest hours.
    Report(report::ReportArgs),
    /// Join an archive's small files into files of 128 to 512 MB
    ///
    /// Readers and writers may run meanwhile. The joined files are deleted later: by the first
    /// compact or retain after --grace.
    Compact(compact::CompactArgs),
    /// Drop captures older than an age
    ///
    /// The age of a capture is that of its last packet, or of its file if it has no dates. Dropped
    /// captures come back if add finds their files again: see add --newer-than.
    Retain(retain::RetainArgs),
    /// List the files of an archive's tables, for other readers
    ///
    /// A folder of an archive may also hold files that are not valid yet, or no longer; these are
    /// not listed.
    Files(files::FilesArgs),
    /// Distribute the work of add and sql to executors on many machines
    ///
    /// A cluster has one scheduler. It reads, writes and keeps nothing: after a restart, run
    /// unfinished jobs again. Ctrl-C or SIGTERM stop it.
    Scheduler(scheduler::SchedulerArgs),
    /// Run the tasks of a scheduler
    ///
    /// Start one executor per machine. It must see captures and archives by the same paths as the
    /// client. Ctrl-C or SIGTERM stop it; its tasks move to other executors.
    Executor(executor::ExecutorArgs),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the command fails.
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
        // Both executors are configured alike, and the ports are those exposed.
        assert!(file.contains("executor-1: &executor") && file.contains("executor-2: *executor"));
        let container = include_str!("../cluster/Containerfile");
        assert!(container.contains("EXPOSE 50050 50051"));
    }
}
