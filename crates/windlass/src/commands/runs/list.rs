//! `windlass runs list`.

use clap::Args;
use serde::Serialize;
use windlass_base::Schema;
use windlass_output::records::runs::{limit, result, rows, second};
use windlass_output::{Column, Format, Output, Page, Record, Style, Table, Text, figures};
use windlass_runs::{Listing, Row, Store, Summary};

use super::FilterArgs;
use crate::commands::unwritten;

/// The arguments of `windlass runs list`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs list                       the newest twenty
  windlass runs list --command sweep --since 2026-11-01 --all
                                           all sweeps since 1 November
  windlass runs list --tag baseline --json | jq '.runs[].figures'")]
pub struct ListArgs {
    /// Filter of the runs.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// List at most this many runs, the newest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, conflicts_with = "all")]
    pub limit: usize,

    /// List all runs
    #[arg(long)]
    pub all: bool,
}

/// The runs.
#[derive(Debug, Serialize)]
struct List {
    schema: Schema,
    /// Folder of the runs.
    store: String,
    /// The oldest first.
    runs: Runs,
    /// Number of matching older runs that are not listed.
    left_out: usize,
    /// Files that cannot be read as runs.
    unreadable: Vec<UnreadableFile>,
}

/// Runs as they are printed. There may be very many: each is held in one form only.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Runs {
    /// For programs.
    Whole(#[serde(serialize_with = "rows")] Vec<Summary>),
    /// For people.
    #[serde(skip)]
    Table(Table),
}

/// Returns the cells of a run; the last one has its tags.
fn cells(run: &Row<'_>) -> [Text; 7] {
    let style = if run.exit_code == 0 { Style::Plain } else { Style::Bad };
    let failed = if run.exit_code == 0 { "" } else { ", failed" };
    let when = second(run.start_time);
    [
        Text::styled(Style::Strong, run.id.short()),
        when.get(..16).unwrap_or(&when).into(),
        (*run.command).into(),
        Text::known(run.target.as_deref()),
        Text::styled(style, result(run).and(failed)),
        limit(run),
        run.tags.iter().map(|tag| &**tag).collect::<Vec<_>>().join(" ").into(),
    ]
}

/// Returns a table of runs, which are in order.
fn table(rows: Vec<[Text; 7]>) -> Table {
    let has_tags = rows.iter().any(|[.., tags]| !tags.is_empty());
    let columns = [
        Column::left("run"),
        Column::left("when (UTC)"),
        Column::left("command"),
        Column::left("target").flexible(),
        Column::right("result"),
        Column::left("limit").flexible(),
    ];
    let tags = has_tags.then(|| Column::left("tags").flexible());
    let mut table = Table::new(columns.into_iter().chain(tags));
    for cells in rows {
        table.push(cells.into_iter().take(if has_tags { 7 } else { 6 }));
    }
    table
}

/// A file that cannot be read as a run.
#[derive(Debug, Serialize)]
struct UnreadableFile {
    file: String,
    why: String,
}

impl List {
    /// The shape of the JSON, described by `schemas/runs.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.runs", version: 1 };
}

impl Record for List {
    fn text(&self, page: &mut Page) {
        let Runs::Table(table) = &self.runs else { return };
        if table.is_empty() {
            page.line(format!("No runs found in {}.", self.store));
        } else {
            page.table(table);
        }
        if self.left_out > 0 {
            page.line(
                figures::counted(self.left_out as u64, "older run")
                    .and(": list them with --all, or --limit N"),
            );
        }
        for one in self.unreadable.iter().take(MAX_TOLD) {
            page.paragraph(format!("cannot read {}: {}", one.file, one.why));
        }
        if self.unreadable.len() > MAX_TOLD {
            let more = (self.unreadable.len() - MAX_TOLD) as u64;
            page.line(Text::from("and ").and(figures::counted(more, "more file")));
        }
    }
}

/// Maximum number of unreadable files that are named.
const MAX_TOLD: usize = 5;

/// Runs the command.
pub(super) fn run(args: &ListArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    let filter = args.filter.filter();
    let count = if args.all { usize::MAX } else { args.limit };
    // Without a filter, older runs need not be read.
    let looked_at = if filter.is_empty() { count } else { usize::MAX };
    let (runs, left_out, unreadable) = match output.format() {
        Format::Text => {
            let listing = store.rows(looked_at, Some(&filter), cells)?;
            let (rows, left_out, unreadable) = newest(listing, count);
            (Runs::Table(table(rows)), left_out, unreadable)
        }
        Format::Json => {
            let is_simple = filter.is_empty();
            let listing =
                if is_simple { store.newest(looked_at)? } else { store.matching(&filter)? };
            let (runs, left_out, unreadable) = newest(listing, count);
            (Runs::Whole(runs), left_out, unreadable)
        }
    };
    let list = List {
        schema: List::SCHEMA,
        store: store.folder().display().to_string(),
        runs,
        left_out,
        unreadable,
    };
    output.print(&list).map_err(unwritten)
}

/// Returns the newest `count` of a listing, and the number of older ones.
fn newest<T>(listing: Listing<T>, count: usize) -> (Vec<T>, usize, Vec<UnreadableFile>) {
    let mut runs = listing.runs;
    let more = runs.len().saturating_sub(count);
    runs.drain(..more);
    let unreadable = listing.unreadable.into_iter();
    let unreadable =
        unreadable.map(|one| UnreadableFile { file: one.file.display().to_string(), why: one.why });
    (runs, more + listing.older, unreadable.collect())
}
