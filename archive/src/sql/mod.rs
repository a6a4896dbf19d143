//! `windlass-archive sql`.

pub mod functions;
mod output;
mod prompt;
mod session;
mod table;

use std::fs;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use futures::StreamExt as _;
use tokio::runtime::Runtime;
use windlass_base::{Bytes, Failure};

pub use output::{Format, Sink, aligned, cells, visible};
pub use session::{Session, context, store_url};
pub use table::{ArchiveTable, Part};

use crate::cluster::ClusterArgs;
use crate::place;

/// Maximum length of a script in bytes; no script written by hand is longer.
const MOST_TEXT: u64 = 16 << 20;

/// Query of an archive, and format of the answer.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Tables: captures, connections, intervals, verdicts, rtt. `show tables` and
`describe connections` list tables and columns; docs/archive.md has more.

Functions in addition to SQL's:
  in_subnet(address, '10.0.0.0/8')    true if the address, as text or binary, is in it
  limit_name(\"limit\")                 a limit in words
  rtt_quantile(bucket_seconds, bucket_segments, 0.99)
                                      quantile over rows of rtt, weighted by segments

Examples:
  windlass-archive sql --from archive \"select count(*) from connections\"
  windlass-archive sql --from s3://captures/tables < docs/queries/limits.sql
  windlass-archive sql --from archive --format csv -o slow.csv \\
      \"select sender, receiver, bytes_per_second from connections order by 3 limit 20\"
  windlass-archive sql --from archive   a prompt")]
pub struct SqlArgs {
    /// Query [default: statements from standard input, with a prompt on a terminal]
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,

    #[command(flatten)]
    from: FromArgs,

    /// Format of the answer
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    format: Format,

    /// Write the answer to FILE, which appears when it is complete
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Archive to query, and its memory limit.
#[derive(Args, Clone, Debug)]
pub struct FromArgs {
    /// Archive: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "DIR")]
    from: String,

    /// Memory limit of queries; more data goes to the folder of temporary files
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    #[arg(value_parser = windlass_base::values::bytes)]
    memory: Bytes,
}

impl FromArgs {
    /// Returns the name of the archive as given.
    pub fn name(&self) -> &str {
        &self.from
    }

    /// Opens the archive.
    ///
    /// # Errors
    /// Returns an error if it is not an archive.
    pub fn open(&self, runtime: &Runtime) -> Result<Session, Failure> {
        let place = place(&self.from, "cannot query")?;
        runtime.block_on(Session::open(&place, self.memory))
    }
}

fn unwritten(path: Option<&Path>, error: io::Error) -> anyhow::Error {
    // A closed pipe is no failure, and must stay recognizable.
    match path {
        Some(path) => Failure::new(format!("cannot write {}", path.display()), error).into(),
        None => anyhow::Error::from(error).context("cannot write the answer"),
    }
}

/// Answers one query, several, or a prompt.
///
/// # Errors
/// Returns an error if a query is refused or fails, or the answer cannot be written.
pub fn run(args: &SqlArgs, runtime: &Runtime) -> anyhow::Result<()> {
    let to_terminal = args.output.is_none() && io::stdout().is_terminal();
    if args.format == Format::Parquet && to_terminal {
        let wrong = "Parquet cannot be printed on a terminal";
        return Err(Failure::usage("cannot print the answer", wrong)
            .advise("Add -o FILE, or pipe the output to a program.")
            .into());
    }
    let mut session = args.from.open(runtime)?;
    if let Some(cluster) = args.cluster.cluster()? {
        runtime.block_on(cluster.scheduler())?;
        session = session.on(cluster);
    }
    let text = match &args.query {
        Some(query) => query.clone(),
        None if io::stdin().is_terminal() => {
            if args.output.is_some() || args.format == Format::Parquet {
                let wrong = "a prompt prints its answers on the terminal";
                return Err(Failure::usage("cannot use --output here", wrong)
                    .advise("Give the query as an argument, or on standard input.")
                    .into());
            }
            return prompt::run(&mut session, args.format, runtime);
        }
        None => read_all()?,
    };
    let statements = session.statements(&text)?;
    if statements.is_empty() {
        return Err(Failure::usage("cannot query the archive", "there is no query")
            .advise("Give a query, such as \"select count(*) from connections\".")
            .into());
    }
    if args.format == Format::Parquet && statements.len() > 1 {
        let wrong = format!("there are {} statements", statements.len());
        return Err(Failure::usage("cannot write the answer as one Parquet file", wrong)
            .advise("Run them one after the other.")
            .into());
    }
    let path = args.output.as_deref();
    let mut sink = match path {
        Some(path) => Sink::file(path)?,
        None => Sink::Out(io::stdout()),
    };
    for (place, statement) in statements.into_iter().enumerate() {
        if place > 0 && args.format == Format::Table {
            use io::Write as _;
            writeln!(sink).map_err(|error| unwritten(path, error))?;
        }
        let answered = answer(&session, statement, args.format, &mut sink, path);
        let Some(answered) = runtime.block_on(until_signal(answered)) else {
            runtime.block_on(session.cancel());
            return Err(Failure::new("cannot answer", "it was stopped").into());
        };
        answered?;
    }
    sink.finish().map_err(|error| unwritten(path, error))
}

/// Writes the result of a statement.
async fn answer(
    session: &Session,
    statement: datafusion::sql::parser::Statement,
    format: Format,
    sink: &mut Sink,
    path: Option<&Path>,
) -> anyhow::Result<()> {
    let mut rows = session.run(statement).await?;
    let failed = |error| unwritten(path, error);
    let mut writing = output::ResultWriter::new(format, &rows.schema(), sink).map_err(failed)?;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(|error| session.failure(&error))?;
        writing.write(&batch).map_err(failed)?;
    }
    writing.finish().map_err(failed)
}

/// Returns the result of work, or `None` if Ctrl-C or SIGTERM comes first: then its temporary files
/// are deleted with it.
pub(crate) async fn until_signal<T>(work: impl Future<Output = T>) -> Option<T> {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return Some(work.await) };
    tokio::select! {
        done = work => Some(done),
        _ = tokio::signal::ctrl_c() => None,
        _ = terminate.recv() => None,
    }
}

fn read_all() -> Result<String, Failure> {
    let failed = |wrong: &dyn std::fmt::Display| {
        Failure::new("cannot read the query from standard input", wrong)
            .advise("Give SQL as text, or the query as an argument.")
    };
    let mut text = String::new();
    let read = io::stdin().lock().take(MOST_TEXT + 1).read_to_string(&mut text);
    match read {
        Ok(count) if count as u64 > MOST_TEXT => Err(failed(&"the query is larger than 16 MB")),
        Ok(_) => Ok(text),
        Err(error) => Err(failed(&error)),
    }
}

/// Returns the folder of the user's history.
fn state_folder() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let folder = state.filter(|path| path.is_absolute()).or_else(home)?.join("windlass");
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}
