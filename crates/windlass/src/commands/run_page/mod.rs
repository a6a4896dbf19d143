//! A run that was kept, as a part of a page: what it found, drawn and in words, what its machine
//! did meanwhile, and how it was made. Live pages and reports have the same.

pub(super) mod graph;
mod machine;
pub(super) mod shown;
mod verdict;

use windlass_runs::{Run, Summary};

use super::runs::{command_line, second};
use crate::page::Html;

/// How it looks, beside what all pages have.
pub(super) const STYLE: &str = include_str!("style.css");

/// What a page of a run is called.
pub(super) fn title(run: &Run, summary: &Summary) -> String {
    let target = summary.target.as_deref().unwrap_or_default();
    format!("Run {}: {} {target}", run.id.short(), run.command).trim_end().to_owned()
}

/// What a run found, and how it was made.
pub(super) fn found(html: &mut Html, run: &Run, summary: &Summary) {
    if let Some(failure) = &run.failure {
        html.element("p class=\"bad\"", failure);
    }
    shown::cards(html, summary);
    // Of a command that goes on and on the last one is drawn, and all are printed below.
    let last = run.records.last().map(|kept| serde_json::from_str(kept.record.get()));
    if let Some(Ok(record)) = last {
        shown::write(html, &record);
    }
    machine::write(html, run);
    html.element("h2", "How it was made");
    let lasted = run.end_time.since(run.start_time);
    let host = &run.host;
    let mut rows = vec![
        ("run", run.id.to_string()),
        ("command", format!("windlass {}", command_line(&run.arguments))),
        ("when", format!("{} UTC, for {lasted}", second(run.start_time))),
        ("host", format!("{}: {}, {} processors", host.name, host.system, host.processors)),
        ("windlass", run.program_version.clone()),
    ];
    if !run.tags.is_empty() {
        rows.push(("tags", run.tags.join(" ")));
    }
    rows.extend(run.notes.iter().map(|note| ("note", note.text.clone())));
    html.raw("<dl class=\"rows\">\n");
    for (name, text) in rows {
        html.element("dt", name);
        html.element("dd", &text);
    }
    html.raw("</dl>\n<details><summary>As it was printed</summary>\n");
    for kept in &run.records {
        // What is wider than the page is scrolled to, by keys as well.
        html.element(
            "pre class=\"printed\" tabindex=\"0\" role=\"region\" aria-label=\"As it was printed\"",
            &kept.text,
        );
    }
    html.raw("</details>\n");
}
