//! A report of a run that was kept.

use windlass_base::Failure;
use windlass_runs::{Run, RunId, Selector, Store, Summary};

use super::markdown;
use crate::commands::run_page;
use crate::commands::runs::{command_line, result, second};
use crate::page::Html;

/// What is reported on: a capture, or a run by its name.
///
/// # Errors
/// Where it is neither, and the store says why.
pub(super) fn named(name: &str, store: &Store) -> Result<Vec<RunId>, Failure> {
    let Ok(selector) = name.parse::<Selector>() else { return Ok(Vec::new()) };
    let runs = store.list()?.runs;
    Ok(selector.of(&runs)?.into_iter().map(|run| run.id).collect())
}

/// What a report on it is called.
pub(super) fn title(run: &Run) -> String {
    run_page::title(run, &Summary::of(run))
}

/// As a part of a page.
pub(super) fn html(out: &mut String, run: &Run, is_alone: bool) {
    let summary = Summary::of(run);
    let mut html = Html::new("");
    html.raw("<section class=\"run\">\n");
    if !is_alone {
        html.element("h2", &run_page::title(run, &summary));
    }
    run_page::found(&mut html, run, &summary);
    html.raw("</section>\n");
    out.push_str(&html.part());
}

/// As a part of a ticket: what it came to, how it was made, and what it printed.
pub(super) fn markdown(out: &mut String, run: &Run) {
    let summary = Summary::of(run);
    let escaped = markdown::escaped;
    out.push_str(&format!("\n## {}\n\n| | |\n|---|---|\n", escaped(&title(run))));
    let mut row = |name: &str, value: &str| {
        out.push_str(&format!("| {name} | {} |\n", escaped(value)));
    };
    row("result", &result(&summary).plain());
    for verdict in &summary.verdicts {
        row("limit", &verdict.cause);
    }
    row("command", &format!("windlass {}", command_line(&run.arguments)));
    row(
        "when",
        &format!("{} UTC, for {}", second(run.start_time), run.end_time.since(run.start_time)),
    );
    let host = &run.host;
    row("host", &format!("{}: {}, {} processors", host.name, host.system, host.processors));
    row("windlass", &run.program_version);
    if let Some(failure) = &run.failure {
        row("failed", failure);
    }
    for note in &run.notes {
        row("note", &note.text);
    }
    for kept in &run.records {
        // Indented, nothing in it is markup.
        out.push('\n');
        for line in kept.text.lines() {
            out.push_str(&format!("    {line}\n"));
        }
    }
}
