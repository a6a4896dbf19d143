//! `windlass runs list`.

use clap::Args;
use serde::Serialize;
use windlass_base::Schema;
use windlass_runs::{Store, Summary};

use super::FilterArgs;
use super::figures::{RunRow, limit, result, second};
use crate::commands::unwritten;
use crate::print::{Column, Output, Page, Record, Style, Table, Text, figures};

/// The arguments of `windlass runs list`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs list                       the last twenty
  windlass runs list --command sweep --since 2026-11-01 --all
                                           all sweeps of a month
  windlass runs list --tag baseline --json | jq '.runs[].figures'")]
pub struct ListArgs {
    /// Which of them.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// So many at the most, the newest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, conflicts_with = "all")]
    pub limit: usize,

    /// All of them
    #[arg(long)]
    pub all: bool,
}

/// The runs.
#[derive(Debug, Serialize)]
struct List {
    schema: Schema,
    /// The folder in which they are.
    store: String,
    /// The oldest first.
    runs: Vec<RunRow>,
    /// Older ones that were asked for and are not among them.
    left_out: usize,
    /// Files that cannot be read as runs.
    unreadable: Vec<UnreadableFile>,
    #[serde(skip)]
    summaries: Vec<Summary>,
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
        let has_tags = self.summaries.iter().any(|run| !run.tags.is_empty());
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
        for run in &self.summaries {
            let style = if run.exit_code == 0 { Style::Plain } else { Style::Bad };
            let failed = if run.exit_code == 0 { "" } else { ", failed" };
            let when = second(run.start_time);
            let cells = [
                Text::styled(Style::Strong, run.id.short()),
                when.get(..16).unwrap_or(&when).into(),
                run.command.as_str().into(),
                Text::known(run.target.as_deref()),
                Text::styled(style, result(run).and(failed)),
                limit(run),
            ];
            let tags = has_tags.then(|| Text::from(run.tags.join(" ")));
            table.push(cells.into_iter().chain(tags));
        }
        if self.summaries.is_empty() {
            page.line(format!("There is no such run in {}.", self.store));
        } else {
            page.table(&table);
        }
        if self.left_out > 0 {
            page.line(
                figures::counted(self.left_out as u64, "older run")
                    .and(": --all lists them, --limit N so many"),
            );
        }
        for one in self.unreadable.iter().take(MAX_TOLD) {
            page.paragraph(format!("cannot read {}: {}", one.file, one.why));
        }
        if self.unreadable.len() > MAX_TOLD {
            let more = (self.unreadable.len() - MAX_TOLD) as u64;
            page.line(Text::from("and ").and(figures::counted(more, "file")).and(" more"));
        }
    }
}

/// So many files that cannot be read are named.
const MAX_TOLD: usize = 5;

/// Runs the command.
pub(super) fn run(args: &ListArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    let filter = args.filter.filter();
    // Without a filter it need not know of older ones what they are.
    let is_simple = !args.all && args.filter.is_empty();
    let listing = if is_simple { store.newest(args.limit)? } else { store.list()? };
    let older = listing.older;
    let mut summaries: Vec<Summary> =
        listing.runs.into_iter().filter(|run| filter.passes(run)).collect();
    let keep = if args.all { summaries.len() } else { args.limit };
    let more = summaries.len().saturating_sub(keep);
    summaries.drain(..more);
    let left_out = more + older;
    let unreadable = listing.unreadable.into_iter();
    let unreadable =
        unreadable.map(|one| UnreadableFile { file: one.file.display().to_string(), why: one.why });
    let list = List {
        schema: List::SCHEMA,
        store: store.folder().display().to_string(),
        runs: summaries.iter().map(RunRow::from).collect(),
        left_out,
        unreadable: unreadable.collect(),
        summaries,
    };
    output.print(&list).map_err(unwritten)
}
