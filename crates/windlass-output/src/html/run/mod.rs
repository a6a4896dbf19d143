//! Stored run as a part of a page: its results as graphs and text, the load of its machine, and its
//! command. Live pages and reports use the same parts.

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

/// Returns the figures of a run: of its results, and of its machine.
pub fn figures(run: &Run) -> Vec<Figure> {
    let found = last(run).map(|record| shown::drawn(&record)).unwrap_or_default();
    found.into_iter().chain(machine::figure(run)).collect()
}

/// Returns the record of a run; the last one if the command wrote several.
fn last(run: &Run) -> Option<Value> {
    serde_json::from_str(run.records.last()?.record.get()).ok()
}

/// Returns the title of a run's page.
pub fn title(run: &Run, summary: &Summary) -> String {
    let target = summary.target.as_deref().unwrap_or_default();
    format!("Run {}: {} {target}", run.id.short(), run.command).trim_end().to_owned()
}

/// Writes the results of a run, and its command and host.
pub fn found(html: &mut Html, run: &Run, summary: &Summary) {
    if let Some(failure) = &run.failure {
        html.element("p class=\"bad\"", failure);
    }
    shown::cards(html, summary);
    if let Some(record) = last(run) {
        shown::write(html, &record);
    }
    machine::write(html, run);
    html.element("h2", "How the run was made");
    let mut page = Page::html();
    let mut rows = facts(run);
    rows.list("note", run.notes.iter().map(|note| note.text.as_str()));
    page.rows(&rows);
    html.raw(&page.finish());
    html.raw("<details><summary>As it was printed</summary>\n");
    for kept in &run.records {
        // Content wider than the page scrolls, by keys as well.
        html.element(
            "pre class=\"printed\" tabindex=\"0\" role=\"region\" aria-label=\"As it was printed\"",
            &kept.text,
        );
    }
    html.raw("</details>\n");
}
