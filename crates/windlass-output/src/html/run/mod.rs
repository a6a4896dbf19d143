//! A run that was kept, as a part of a page: what it found, drawn and in words, what its machine
//! did meanwhile, and how it was made. Live pages and reports have the same.

pub mod graph;
mod machine;
pub mod overlay;
mod processors;
pub mod shown;
mod verdict;

use serde_json::Value;
use windlass_runs::{Run, Summary};

use crate::Page;
use crate::html::{Figure, Html};
use crate::records::runs::facts;

/// What is drawn of a run: of what it found, and of its machine.
pub fn figures(run: &Run) -> Vec<Figure> {
    let found = last(run).map(|record| shown::drawn(&record)).unwrap_or_default();
    found.into_iter().chain(machine::figure(run)).collect()
}

/// The record of a run. Of a command that goes on and on the last one is drawn.
fn last(run: &Run) -> Option<Value> {
    serde_json::from_str(run.records.last()?.record.get()).ok()
}

/// What a page of a run is called.
pub fn title(run: &Run, summary: &Summary) -> String {
    let target = summary.target.as_deref().unwrap_or_default();
    format!("Run {}: {} {target}", run.id.short(), run.command).trim_end().to_owned()
}

/// What a run found, and how it was made.
pub fn found(html: &mut Html, run: &Run, summary: &Summary) {
    if let Some(failure) = &run.failure {
        html.element("p class=\"bad\"", failure);
    }
    shown::cards(html, summary);
    if let Some(record) = last(run) {
        shown::write(html, &record);
    }
    machine::write(html, run);
    html.element("h2", "How it was made");
    let mut page = Page::html();
    let mut rows = facts(run);
    rows.list("note", run.notes.iter().map(|note| note.text.as_str()));
    page.rows(&rows);
    html.raw(&page.finish());
    html.raw("<details><summary>As it was printed</summary>\n");
    for kept in &run.records {
        // What is wider than the page is scrolled to, by keys as well.
        html.element(
            "pre class=\"printed\" tabindex=\"0\" role=\"region\" aria-label=\"As it was printed\"",
            &kept.text,
        );
    }
    html.raw("</details>\n");
}
