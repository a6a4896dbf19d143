//! `windlass-archive files`.

use clap::Args;
use serde::Serialize;
use tokio::runtime::Runtime;
use windlass_base::{Failure, Schema};
use windlass_tables::Table;

use super::print;
use crate::place;
use crate::store::{Place, State};

/// Whose files are named.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass-archive files archive --table connections
  windlass-archive files archive --json | jq -r '.files[] | select(.table == \"rtt\").file'")]
pub struct FilesArgs {
    /// The archive
    #[arg(value_name = "ARCHIVE")]
    archive: String,

    /// Those of this table only: captures, connections, intervals, verdicts or rtt
    #[arg(long, value_name = "TABLE", value_parser = table)]
    table: Option<Table>,

    /// Print them with their sizes and rows as JSON
    #[arg(long)]
    json: bool,
}

fn table(text: &str) -> Result<Table, String> {
    let all = || Table::ALL.map(Table::id).join(", ");
    Table::ALL
        .into_iter()
        .find(|table| table.id() == text)
        .ok_or_else(|| format!("one of {}", all()))
}

/// A file.
#[derive(Debug, Serialize)]
struct File {
    table: Table,
    file: String,
    rows: u64,
    file_bytes: u64,
}

/// The record of `windlass-archive files`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: Schema,
    archive: &'a str,
    /// The entry of the log behind which it is so.
    entry: u64,
    files: Vec<File>,
}

const SCHEMA: Schema = Schema { name: "windlass.archive-files", version: 1 };

/// The whole name of an object.
fn whole(place: &Place, name: &str) -> String {
    match place.folder() {
        Some(folder) => folder.join(name).display().to_string(),
        None => format!("{place}/{name}"),
    }
}

pub fn run(args: &FilesArgs, runtime: &Runtime) -> anyhow::Result<()> {
    let place = place(&args.archive, "cannot list")?;
    let state = runtime.block_on(State::read(&place))?;
    if state.number() == 0 {
        let wrong = "it is no archive: it has no log";
        return Err(Failure::usage(format!("cannot list {place}"), wrong)
            .advise("Make one with windlass-archive add PATH --into DIR.")
            .into());
    }
    let mut files = Vec::new();
    let wanted = |table: &Table| args.table.is_none_or(|only| only == *table);
    for table in Table::ALL.into_iter().filter(wanted) {
        for batch in state.seen() {
            let Some(object) = batch.object(table) else { continue };
            let file = whole(&place, &batch.name(table));
            files.push(File { table, file, rows: object.rows, file_bytes: object.bytes });
        }
    }
    let report = Report { schema: SCHEMA, archive: &args.archive, entry: state.number(), files };
    print(&report, args.json, || {
        report.files.iter().map(|file| format!("{}\n", file.file)).collect()
    })
}
