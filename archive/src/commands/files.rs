//! `windlass-archive files`.

use clap::Args;
use serde::Serialize;
use tokio::runtime::Runtime;
use windlass_base::{Failure, Schema};

use super::print;
use crate::place;
use crate::store::{self, Place, State};

/// Archive and table to list.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass-archive files archive --table connections
  windlass-archive files archive --json | jq -r '.files[] | select(.table == \"rtt\").file'")]
pub struct FilesArgs {
    /// Archive: a folder, or s3://BUCKET/PREFIX
    #[arg(value_name = "ARCHIVE")]
    archive: String,

    /// Only files of this table, such as connections
    #[arg(long, value_name = "TABLE", value_parser = table)]
    table: Option<&'static str>,

    /// Print the files with their sizes and rows as JSON
    #[arg(long)]
    json: bool,
}

fn table(text: &str) -> Result<&'static str, String> {
    let all = || store::tables().collect::<Vec<_>>().join(", ");
    store::tables().find(|table| *table == text).ok_or_else(|| format!("one of {}", all()))
}

/// File of a table.
#[derive(Debug, Serialize)]
struct File {
    table: &'static str,
    file: String,
    rows: u64,
    file_bytes: u64,
}

/// Record of `windlass-archive files`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: Schema,
    archive: &'a str,
    /// Log entry that this list reflects.
    entry: u64,
    files: Vec<File>,
}

const SCHEMA: Schema = Schema { name: "windlass.archive-files", version: 1 };

/// Returns the full name of an object.
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
        let wrong = "it is not an archive: it has no log";
        return Err(Failure::usage(format!("cannot list {place}"), wrong)
            .advise("Create one with windlass-archive add PATH --into DIR.")
            .into());
    }
    let mut files = Vec::new();
    let wanted = |table: &&str| args.table.is_none_or(|only| only == *table);
    for table in store::tables().filter(wanted) {
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
