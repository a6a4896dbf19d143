//! The table of contents of a report on several captures: results with links.

use windlass_output::html::{escaped, marked};
use windlass_output::{Text, figures, verdict};

use super::CaptureContents;
use super::markdown;

/// The table of a report's connections and runs.
#[derive(Debug, Default)]
pub(super) struct Contents {
    rows: Vec<ContentsRow>,
}

/// A connection or a run.
#[derive(Debug)]
struct ContentsRow {
    /// The capture or run, and its part of the page.
    subject: (String, String),
    /// The connection, and its part; `None` for a run.
    connection: Option<(String, String)>,
    data: Text,
    rate: Text,
    limit: String,
    share: Text,
    confidence: Text,
}

/// The heads of its columns.
const COLUMNS: [&str; 7] =
    ["capture", "connection", "data", "rate", "limit", "share of time", "confidence"];

/// The number of columns, from the left, that hold words.
const WORDS: usize = 2;

/// Returns the part of a page for a capture or a run, by its index in the report.
pub(super) fn section(place: usize) -> String {
    format!("part{}", place + 1)
}

/// Returns the part of a page for a connection.
pub(super) fn connection_section(place: usize, number: u64) -> String {
    format!("capture{}-connection{number}", place + 1)
}

impl Contents {
    /// Adds the connections of a capture.
    pub(super) fn capture(&mut self, place: usize, reported: &CaptureContents) {
        for report in &reported.reports {
            let ends = format!("{}: {} → {}", report.number, report.sender, report.receiver);
            let verdict = &report.verdict;
            self.rows.push(ContentsRow {
                subject: (reported.capture.file.clone(), section(place)),
                connection: Some((ends, connection_section(place, report.number))),
                data: report.bytes.into(),
                rate: figures::both(report.bytes_per_second),
                limit: verdict::cause(verdict.cause),
                share: figures::percent(verdict.share),
                confidence: verdict::confidence(verdict.confidence),
            });
        }
    }

    /// Adds a run with its result and limit.
    pub(super) fn run(&mut self, place: usize, title: String, result: Text, limit: String) {
        self.rows.push(ContentsRow {
            subject: (title, section(place)),
            connection: None,
            data: Text::new(),
            rate: result,
            limit,
            share: Text::new(),
            confidence: Text::new(),
        });
    }

    /// Returns the table as a part of a page.
    pub(super) fn html(&self) -> String {
        let mut out = String::from(
            "<section class=\"contents\" id=\"contents\">\n<h2>Contents</h2>\n<table>\n<thead><tr>",
        );
        for (place, name) in COLUMNS.iter().enumerate() {
            let class = if place < WORDS { " class=\"word\"" } else { "" };
            out.push_str(&format!("<th scope=\"col\"{class}>{name}</th>"));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (place, (name, cell)) in COLUMNS.iter().zip(row.cells()).enumerate() {
                let class = if place < WORDS { "class=\"word\" " } else { "" };
                out.push_str(&format!("<td {class}data-name=\"{name}\">{cell}</td>"));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table>\n</section>\n");
        out
    }

    /// Returns the table as Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut out = format!("\n| {} |\n|{}\n", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len()));
        for row in &self.rows {
            let connection = row.connection.as_ref().map(|(name, _)| name.clone());
            let cells = [
                row.subject.0.clone(),
                connection.unwrap_or_default(),
                row.data.plain(),
                row.rate.plain(),
                row.limit.clone(),
                row.share.plain(),
                row.confidence.plain(),
            ];
            let cells: Vec<String> = cells.iter().map(|cell| markdown::escaped(cell)).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        out
    }
}

impl ContentsRow {
    /// Its cells as HTML.
    fn cells(&self) -> [String; COLUMNS.len()] {
        let link =
            |(name, to): &(String, String)| format!("<a href=\"#{to}\">{}</a>", escaped(name));
        let text = |text: &Text| marked(text, "strong");
        [
            link(&self.subject),
            self.connection.as_ref().map(link).unwrap_or_default(),
            text(&self.data),
            text(&self.rate),
            escaped(&self.limit),
            text(&self.share),
            text(&self.confidence),
        ]
    }
}
