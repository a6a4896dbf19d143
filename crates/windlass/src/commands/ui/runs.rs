//! The store: a list, a run, and runs side by side.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_base::Failure;
use windlass_output::html::run::{self, overlay};
use windlass_output::html::site::Field;
use windlass_output::html::{Html, escaped};
use windlass_output::records::runs::{limit, result, second};
use windlass_output::{Page, Record};
use windlass_runs::compare::Group;
use windlass_runs::{Filter, Row, Run, RunId, Store, Summary};
use windlass_ui::Fields;

use crate::commands::runs::{CompareReport, bare, is_redacted, members};

/// Number of runs that are listed at first.
const SOME: usize = 50;

/// Maximum number of runs that are listed.
const MOST: usize = 2_000;

/// The most runs that are compared at a time.
const MOST_COMPARED: usize = 20;

/// Commands whose runs are kept.
const COMMANDS: [(&str, &str); 9] = [
    ("", "All"),
    ("send", "send"),
    ("sweep", "sweep"),
    ("lab", "lab"),
    ("ping", "ping"),
    ("print", "print"),
    ("spool load", "spool load"),
    ("capture", "capture"),
    ("watch", "watch"),
];

/// Returns the list of runs that match the filter.
pub(super) fn list(base: &str, store: &Store, fields: &Fields) -> Result<String, Failure> {
    let some = |name| Some(fields.text(name)).filter(|text| !text.is_empty()).map(str::to_owned);
    let filter = Filter {
        command: some("command"),
        target: some("target"),
        tags: fields.text("tag").split_whitespace().map(str::to_owned).collect(),
        ..Filter::default()
    };
    let most = if fields.text("more").is_empty() { SOME } else { MOST };
    let listing = store.matching(&filter)?;
    let mut runs: Vec<&Summary> = listing.runs.iter().rev().collect();
    let all = runs.len();
    runs.truncate(most);
    let mut html = Html::page(base, "Runs", "runs");
    filters(&mut html, fields);
    if runs.is_empty() {
        let folder = store.folder().display();
        html.element("p", &format!("No runs found in {folder}."));
    } else {
        table(&mut html, &runs);
    }
    if all > runs.len() {
        let left = all - runs.len();
        html.element("p", &format!("{left} older runs are not listed here."));
        if most < MOST {
            let words = ["command", "target", "tag"].map(|name| {
                let value = windlass_wire::escape::segment(fields.text(name));
                format!("{name}={value}")
            });
            let query = escaped(&words.join("&"));
            html.raw(&format!(
                "<p><a href=\"{base}/runs?{query}&amp;more=yes\">Show more runs</a></p>\n"
            ));
        }
    }
    for one in listing.unreadable.iter().take(5) {
        html.element(
            "p class=\"warn\"",
            &format!("cannot read {}: {}", one.file.display(), one.why),
        );
    }
    Ok(html.finish())
}

fn filters(html: &mut Html, fields: &Fields) {
    html.raw(&format!(
        "<form method=\"get\" action=\"{}/runs\">\n<div class=\"form\">\n",
        html.base.clone()
    ));
    let field =
        |name, label, hint| Field { name, label, hint, value: fields.text(name), problem: None };
    field("command", "Command", "").choice(html, &COMMANDS);
    field("target", "Target", "Part of a name or an address").line(html, "");
    field("tag", "Tags", "With several tags, only runs that have all").line(html, "");
    html.raw("</div>\n<div class=\"buttons\"><button>Filter</button></div>\n</form>\n");
}

fn table(html: &mut Html, runs: &[&Summary]) {
    let base = html.base.clone();
    html.raw(&format!("<form method=\"get\" action=\"{base}/compare\">\n<table>\n<thead><tr>"));
    let columns = ["run", "when (UTC)", "command", "target", "result", "limit", "tags"];
    html.raw("<th scope=\"col\" class=\"word\">compare</th>");
    for column in columns {
        let class = if column == "result" { "" } else { " class=\"word\"" };
        html.element(&format!("th scope=\"col\"{class}"), column);
    }
    html.raw("</tr></thead>\n<tbody>\n");
    for run in runs {
        let (id, short) = (run.id, run.id.short());
        let failed = if run.exit_code == 0 { "" } else { ", failed" };
        html.raw(&format!(
            "<tr><td class=\"word\" data-name=\"compare\"><label class=\"choose\">\
             <input type=\"checkbox\" name=\"run\" value=\"{id}\" aria-label=\"compare {short}\">\
             </label></td>\
             <td class=\"word\" data-name=\"run\"><a href=\"{base}/runs/{id}\">{short}</a></td>"
        ));
        let when = second(run.start_time);
        let row = Row::from(*run);
        let cells = [
            ("when (UTC)", when.get(..16).unwrap_or(&when).to_owned()),
            ("command", run.command.clone()),
            ("target", run.target.clone().unwrap_or_else(|| "-".to_owned())),
            ("result", format!("{}{failed}", result(&row).plain())),
            ("limit", limit(&row).plain()),
            ("tags", run.tags.join(" ")),
        ];
        for (name, cell) in cells {
            let class = if name == "result" { "" } else { "class=\"word\" " };
            html.element(&format!("td {class}data-name=\"{name}\""), &cell);
        }
        html.raw("</tr>\n");
    }
    html.raw(
        "</tbody>\n</table>\n<div class=\"buttons\"><button>Compare the selected runs</button>\
         </div>\n</form>\n",
    );
}

/// Reads a run; `None` if no run has this name.
pub(super) fn read(store: &Store, name: &str) -> Result<Option<Run>, Failure> {
    let Ok(id) = name.parse::<RunId>() else { return Ok(None) };
    store.find(id)
}

/// Returns the page of a run.
pub(super) fn show(base: &str, store: &Store, run: &Run) -> String {
    let summary = Summary::of(run);
    let mut html = Html::page(base, &run::title(run, &summary), "runs");
    found(&mut html, store, run, &summary);
    html.finish()
}

/// Finds the previous run of the same command and target.
fn run_before(store: &Store, summary: &Summary) -> Option<RunId> {
    let (command, target) = (Some(summary.command.clone()), summary.target.clone());
    let listing = store.matching(&Filter { command, target, ..Filter::default() }).ok()?;
    let is_before = |one: &&Summary| {
        one.command == summary.command
            && one.target == summary.target
            && (one.start_time, one.id) < (summary.start_time, summary.id)
    };
    listing
        .runs
        .iter()
        .filter(is_before)
        .max_by_key(|one| (one.start_time, one.id))
        .map(|one| one.id)
}

/// Returns the arguments that repeat a run, for a page that shows the repeat.
pub(super) fn again(run: &Run) -> Result<Vec<String>, Failure> {
    let mut arguments = bare(&run.arguments);
    if is_redacted(&arguments) {
        let doing = format!("cannot run {} again", run.id.short());
        let wrong = "its arguments were not kept in full: one has a password, or is not text";
        return Err(Failure::usage(doing, wrong).advise("Fill in the form of the Measure page."));
    }
    // A test prints each interval at once; other commands print all at the end.
    let is_told = arguments.iter().any(|one| one.starts_with("--json"));
    let is_simulated = arguments.iter().any(|one| one.starts_with("--simulate"));
    let streams = ["send", "sweep"].contains(&run.command.as_str()) && !is_simulated;
    if !is_told {
        arguments.push(if streams { "--json-stream" } else { "--json" }.to_owned());
    }
    Ok(arguments)
}

/// Writes the findings of a run, its settings, and links to further pages.
pub(super) fn found(html: &mut Html, store: &Store, run: &Run, summary: &Summary) {
    let (base, id) = (html.base.clone(), run.id);
    html.raw("<div class=\"buttons\">\n");
    for (action, word) in [("again", "Run again"), ("report", "Make a report")] {
        html.raw(&format!(
            "<form method=\"post\" action=\"{base}/runs/{id}/{action}\">\
             <button>{word}</button></form>\n"
        ));
    }
    if let Some(before) = run_before(store, summary) {
        html.raw(&format!(
            "<a href=\"{base}/compare?run={before}&amp;run={id}\">Compare with previous run</a>\n"
        ));
    }
    html.raw("</div>\n");
    run::found(html, run, summary);
    html.raw(&format!("<p><a href=\"{base}/runs/{id}.json\">The whole run as JSON</a></p>\n"));
}

/// Returns the last record of each run, with the run's name.
fn records(store: &Store, ids: &[RunId]) -> Result<Vec<(String, Value)>, Failure> {
    let mut records = Vec::new();
    for run in store.read(ids.iter().copied())? {
        let run = run?;
        let record = run.records.last().map(|kept| serde_json::from_str(kept.record.get()));
        if let Some(Ok(record)) = record {
            let tags: Vec<String> = run.tags.iter().map(|tag| format!(", {tag}")).collect();
            records.push((format!("{}{}", run.id.short(), tags.concat()), record));
        }
    }
    Ok(records)
}

/// Runs side by side, as `windlass runs compare` has them: the first is the baseline.
pub(super) fn compare(base: &str, store: &Store, fields: &Fields) -> Result<String, Failure> {
    let doing = "cannot compare";
    let advice = "Select two to twenty runs in the list.";
    let mut seen = BTreeSet::new();
    let mut ids: Vec<RunId> = Vec::new();
    for name in fields.all("run") {
        let wrong = |why| Failure::usage(doing, why).advise(advice);
        let id: RunId = name.parse().map_err(|why: String| wrong(why))?;
        if seen.insert(id) {
            ids.push(id);
        }
    }
    if ids.len() < 2 || ids.len() > MOST_COMPARED {
        let why = format!("{} runs are selected", ids.len());
        return Err(Failure::usage(doing, why).advise(advice));
    }
    let mut all = members(store, ids)?;
    // The oldest run is the baseline.
    all.sort_by_key(|one| (one.summary.start_time, one.summary.id));
    let ids: Vec<RunId> = all.iter().map(|one| one.summary.id).collect();
    let groups = all
        .into_iter()
        .map(|one| Group { name: one.summary.id.short().to_owned(), members: vec![one] });
    let report = CompareReport::for_page(&groups.collect::<Vec<_>>());
    let mut page = Page::html();
    report.text(&mut page);
    let mut html = Html::page(base, "Runs side by side", "runs");
    for figure in overlay::figures(&records(store, &ids)?) {
        figure.write(&mut html);
    }
    // Its headings are of the second level here.
    html.raw(&page.finish().replace("h3>", "h2>"));
    html.raw("<ul>\n");
    for id in &ids {
        html.raw(&format!("<li><a href=\"{base}/runs/{id}\">Run {}</a></li>\n", id.short()));
    }
    html.raw("</ul>\n");
    Ok(html.finish())
}
