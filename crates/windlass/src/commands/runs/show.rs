//! `windlass runs show`.

use clap::Args;
use serde::Serialize;
use windlass_base::Bytes;
use windlass_runs::{Note, Run, Selector, Store, Summary};

use super::all;
use super::figures::{command_line, second};
use crate::commands::unwritten;
use crate::print::{Output, Page, Record, Rows, Style, Text};

/// The arguments of `windlass runs show`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs show last                  the last run
  windlass runs show k2f9ab --json | jq '.records[].record.intervals'")]
pub struct ShowArgs {
    /// The run: the beginning of its name, last, or last~1
    #[arg(value_name = "RUN")]
    pub run: Selector,
}

/// A run, all of it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Shown {
    run: Run,
}

impl Record for Shown {
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

/// What a run was: its name and its command, and when and where it was made.
pub(in crate::commands) fn facts(run: &Run) -> Rows {
    let host = &run.host;
    let mut rows = Rows::new()
        .row("run", Text::styled(Style::Strong, run.id.to_string()))
        .row("command", format!("windlass {}", command_line(&run.arguments)))
        .row(
            "when",
            Text::from(second(run.start_time))
                .and(" UTC, for ")
                .and(run.end_time.since(run.start_time)),
        )
        .row(
            "host",
            Text::from(format!("{}: {}, {} processors", host.name, host.system, host.processors))
                .and(host.processor.as_ref().map(|one| format!(" ({one})")).unwrap_or_default())
                .and(", ")
                .and(Bytes::new(host.memory_bytes))
                .and(" of memory"),
        )
        .row("windlass", run.program_version.as_str());
    if let Some(control) = host.settings.get("net.ipv4.tcp_congestion_control") {
        rows.push("by default", format!("congestion control {control}"));
    }
    if !run.tags.is_empty() {
        rows.push("tags", run.tags.join(" "));
    }
    let captures = Summary::of(run).captures;
    rows.list("capture", captures);
    rows
}

/// Runs the command.
pub(super) fn run(args: &ShowArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    let id = args.run.one(&all(store)?)?;
    for run in store.read([id])? {
        output.print(&Shown { run: run? }).map_err(unwritten)?;
    }
    Ok(())
}
