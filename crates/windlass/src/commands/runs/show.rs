//! `windlass runs show`.

use clap::Args;
use serde::Serialize;
use windlass_output::records::runs::{facts, second};
use windlass_output::{Output, Page, Record, Style, Text};
use windlass_runs::{Note, Run, Selector, Store};

use super::all;
use crate::commands::unwritten;

/// The arguments of `windlass runs show`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs show last                  the last run
  windlass runs show k2f9ab --json | jq '.records[].record.intervals'")]
pub struct ShowArgs {
    /// Run: the beginning of its name, last, or last~1
    #[arg(value_name = "RUN")]
    pub run: Selector,
}

/// A complete run.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct ShownRun {
    run: Run,
}

impl Record for ShownRun {
    fn text(&self, page: &mut Page) {
        let run = &self.run;
        let mut rows = facts(run);
        let note = |note: &Note| format!("{}: {}", second(note.time), note.text);
        rows.list("note", run.notes.iter().map(note));
        if let Some(failure) = &run.failure {
            rows.push("failed", Text::styled(Style::Bad, failure.as_str()));
        }
        page.rows(&rows);
        for kept in &run.records {
            page.gap();
            for line in kept.text.lines() {
                page.line(line);
            }
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &ShowArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    let id = args.run.one(&all(store)?)?;
    for run in store.read([id])? {
        output.print(&ShownRun { run: run? }).map_err(unwritten)?;
    }
    Ok(())
}
