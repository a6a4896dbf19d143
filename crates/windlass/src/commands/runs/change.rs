//! `windlass runs note`, `tag` and `delete`.

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_host::now;
use windlass_output::records::runs::{command_line, second};
use windlass_output::{Output, Page, Record, figures};
use windlass_runs::{Note, RunId, Selector, Store, Summary};

use super::{FilterArgs, all, chosen};
use crate::commands::unwritten;
use crate::keeping;

/// The arguments of `windlass runs note`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs note last 'with the old cable'")]
pub struct NoteArgs {
    /// Run, or tag:WORD for all with a tag
    #[arg(value_name = "RUN")]
    pub run: Selector,

    /// Text of the note
    #[arg(value_name = "TEXT")]
    pub text: String,
}

/// The arguments of `windlass runs tag`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs tag last baseline
  windlass runs tag tag:baseline --remove baseline
                                           remove the tag from all runs")]
pub struct TagArgs {
    /// Run, or tag:WORD for all with a tag
    #[arg(value_name = "RUN")]
    pub run: Selector,

    /// Tags to give or remove
    #[arg(value_name = "WORD", required = true, value_parser = keeping::tag)]
    pub words: Vec<String>,

    /// Remove the tags
    #[arg(long)]
    pub remove: bool,
}

/// The arguments of `windlass runs delete`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs delete k2f9ab
  windlass runs delete --until 90d --dry-run
                                           list the runs older than 90 days
  windlass runs delete --until 90d         delete them")]
pub struct DeleteArgs {
    /// Runs, or tag:WORD for all with a tag
    #[arg(value_name = "RUN")]
    pub runs: Vec<Selector>,

    /// Filter of the named runs, or of all.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// List the runs, and delete none
    #[arg(long)]
    pub dry_run: bool,
}

/// Runs that were changed, and the change.
#[derive(Debug, Serialize)]
struct ChangeReport {
    schema: Schema,
    /// The change.
    done: &'static str,
    runs: Vec<ChangedRun>,
    #[serde(skip)]
    sentence: &'static str,
}

/// A run that was changed.
#[derive(Debug, Serialize)]
struct ChangedRun {
    id: RunId,
    tags: Vec<String>,
    notes: usize,
    #[serde(skip)]
    line: String,
}

impl ChangeReport {
    /// The shape of the JSON, described by `schemas/runs-change.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.runs-change", version: 1 };
}

impl Record for ChangeReport {
    fn text(&self, page: &mut Page) {
        for run in &self.runs {
            page.line(run.line.as_str());
        }
        page.line(figures::counted(self.runs.len() as u64, "run").and(" ").and(self.sentence));
    }
}

fn line(run: &Summary) -> String {
    let tags: String = run.tags.iter().map(|tag| format!(" [{tag}]")).collect();
    format!("{}  {}  {}{tags}", run.id, second(run.start_time), command_line(&run.arguments))
}

fn changed(run: &Summary) -> ChangedRun {
    ChangedRun { id: run.id, tags: run.tags.clone(), notes: run.notes, line: line(run) }
}

/// Changes each selected run.
fn each(
    selector: &Selector,
    store: &Store,
    change: impl Fn(&mut windlass_runs::Run),
) -> Result<Vec<ChangedRun>, Failure> {
    let runs = all(store)?;
    let ids = selector.of(&runs)?.into_iter().map(|run| run.id);
    let runs = store.change(ids, change)?;
    Ok(runs.iter().map(|run| changed(&Summary::of(run))).collect())
}

/// Runs `windlass runs note`.
pub(super) fn note(args: &NoteArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    let time = now();
    let add = |run: &mut windlass_runs::Run| {
        run.notes.push(Note { time, text: args.text.clone() });
    };
    let runs = each(&args.run, store, add)?;
    let changed =
        ChangeReport { schema: ChangeReport::SCHEMA, done: "noted", runs, sentence: "noted" };
    output.print(&changed).map_err(unwritten)
}

/// Runs `windlass runs tag`.
pub(super) fn tag(args: &TagArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    let change = |run: &mut windlass_runs::Run| {
        for word in &args.words {
            run.tags.retain(|tag| tag != word);
            if !args.remove {
                run.tags.push(word.clone());
            }
        }
    };
    let runs = each(&args.run, store, change)?;
    let done = if args.remove { "untagged" } else { "tagged" };
    output
        .print(&ChangeReport { schema: ChangeReport::SCHEMA, done, runs, sentence: done })
        .map_err(unwritten)
}

/// Runs `windlass runs delete`.
pub(super) fn delete(args: &DeleteArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    if args.runs.is_empty() && args.filter.filter().is_empty() {
        return Err(Failure::usage("cannot delete runs", "no run is selected")
            .advise("Name the runs, or select them: --until 90d, --tag WORD.")
            .into());
    }
    let runs = store.list()?.runs;
    let found = chosen(&args.runs, &args.filter, &runs)?;
    if !args.dry_run {
        store.remove(found.iter().map(|run| run.id))?;
    }
    let (done, sentence) =
        if args.dry_run { ("found", "would be deleted") } else { ("deleted", "deleted") };
    let runs = found.into_iter().map(changed).collect();
    let changed = ChangeReport { schema: ChangeReport::SCHEMA, done, runs, sentence };
    output.print(&changed).map_err(unwritten)
}
