//! The TCP connections of this host, from `windlass top`.
//!
//! A separate `windlass top` runs beside any measurement, for a minute at a time: a page without
//! readers leaves none running.

use std::time::Duration;

use serde::Deserialize;
use windlass_base::figures::RoughSize;
use windlass_base::{Bytes, Rate, Span};
use windlass_output::html::Html;
use windlass_output::{Page, Style, Table, Text, figures};
use windlass_ui::{Fields, Jobs, Stage, StartError};
use windlass_wire::escape;

use super::forms::{Problem, Reader, words};
use super::parts::{Form, complaint, complaints};

/// Intervals of one `windlass top`, a second each.
const INTERVALS: &str = "--count=60";

/// The most connections of the table.
const ROWS: &str = "--rows=60";

/// The time for which a failure is shown before the next attempt.
const RETRY: Duration = Duration::from_secs(10);

/// Orders of the table: the command's value, and the text for people.
const ORDERS: [(&str, &str); 7] = [
    ("rate", "Rate"),
    ("sent", "Sent"),
    ("received", "Received"),
    ("rtt", "RTT"),
    ("retransmissions", "Retransmissions"),
    ("unsent", "Unsent"),
    ("process", "Process"),
];

/// The fields of the form.
const FIELDS: [&str; 4] = ["sort", "process", "port", "idle"];

/// The shown fields of an interval of `windlass top --json`.
#[derive(Debug, Deserialize)]
struct Interval {
    from_seconds: Span,
    to_seconds: Span,
    totals: Totals,
    connections: Vec<Connection>,
    left_out: u64,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Totals {
    open: u64,
    moved: u64,
    sent_bytes: Bytes,
    received_bytes: Bytes,
}

#[derive(Debug, Deserialize)]
struct Connection {
    process: Option<Process>,
    local: String,
    peer: String,
    sent_bytes_per_second: Rate,
    received_bytes_per_second: Rate,
    retransmissions: u64,
    rtt_seconds: Option<Span>,
    congestion_window_bytes: Option<Bytes>,
    peer_window_bytes: Option<Bytes>,
    unsent_bytes: Option<Bytes>,
    now: Option<HoldingLimit>,
}

#[derive(Debug, Deserialize)]
struct Process {
    pid: u32,
    name: String,
}

#[derive(Debug, Deserialize)]
struct HoldingLimit {
    limit: String,
    because: Option<String>,
    share: f64,
}

/// Returns the arguments of `windlass top` for these fields.
pub(super) fn arguments(fields: &Fields) -> Result<Vec<String>, Vec<Problem>> {
    let mut reader = Reader::new(fields);
    let mut arguments =
        ["top", "--json", "--interval=1s", INTERVALS, ROWS].map(str::to_owned).to_vec();
    let sort = match fields.text("sort") {
        "" => "rate",
        _ => reader.one_of("sort", words(&ORDERS)),
    };
    arguments.push(format!("--sort={sort}"));
    let process = fields.text("process");
    if process.len() > 64 || process.chars().any(char::is_control) {
        reader.no("process", "give the name of a process, or a PID");
    } else if !process.is_empty() {
        arguments.push(format!("--process={process}"));
    }
    arguments.extend(reader.port("port"));
    if fields.text("idle") == "yes" {
        arguments.push("--all".to_owned());
    }
    reader.finish(arguments)
}

/// Returns the page; `part` is its changing part.
pub(super) fn page(base: &str, fields: &Fields, problems: &[Problem], part: &str) -> String {
    let query: Vec<String> = FIELDS
        .iter()
        .filter(|name| !fields.text(name).is_empty())
        .map(|name| format!("{name}={}", escape::segment(fields.text(name))))
        .collect();
    let query = windlass_output::html::escaped(&query.join("&"));
    let again = "<noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>\n";
    let mut html = Html::page_with(base, "Connections", "connections", again);
    complaints(&mut html, problems);
    let form = Form { fields, problems };
    html.raw(&format!(
        "<form method=\"get\" action=\"{base}/connections\">\n<div class=\"form\">\n"
    ));
    form.field("process", "Process", "Exact name or PID", "").line(&mut html, "");
    form.field("port", "Port", "Port of either end", "").line(&mut html, "inputmode=\"numeric\"");
    form.field("sort", "Sort by", "", "rate").choice(&mut html, &ORDERS);
    form.field("idle", "Show", "", "")
        .choice(&mut html, &[("", "Active connections"), ("yes", "All connections")]);
    html.raw("</div>\n<div class=\"buttons\"><button>Filter</button></div>\n</form>\n");
    if problems.is_empty() {
        html.element("p class=\"status\" id=\"status\" role=\"status\"", "");
        html.raw(&format!(
            "<div id=\"live\" data-from=\"{base}/connections/live?{query}\">\n{part}</div>\n"
        ));
    }
    html.finish()
}

/// Returns the changing part of the page: the newest interval of these arguments. Starts a
/// `windlass top` if none runs, and shows the error of a failed one.
pub(super) fn live(base: &str, jobs: &Jobs<Vec<String>>, arguments: &[String]) -> String {
    let all = jobs.all();
    let mut own = all.iter().filter(|job| job.of == arguments);
    let newest = own.clone().next();
    let failure = newest.and_then(|job| match job.stage() {
        Stage::Ended(Some(0)) | Stage::Runs | Stage::Stops => None,
        Stage::Ended(_) if job.began.elapsed() > RETRY => None,
        Stage::Ended(_) => Some(complaint(&job.output().said)),
    });
    // A `windlass top` with an old filter makes room for the new one.
    for other in all.iter().filter(|job| job.of != arguments && !job.is_over()) {
        other.stop();
    }
    let mut html = Html::new(base);
    html.raw("<div data-over=\"false\" data-status=\"\">\n");
    if let Some((wrong, tip)) = failure {
        html.element(
            "p class=\"bad\"",
            &wrong.unwrap_or_else(|| "windlass top failed.".to_owned()),
        );
        html.element("p", &tip.unwrap_or_default());
    } else if newest.is_none_or(|job| job.is_over()) {
        match jobs.start(arguments, arguments.to_vec()) {
            Ok(_) | Err(StartError::Busy(_) | StartError::Closed) => {}
            Err(StartError::Failed(error)) => {
                html.element("p class=\"bad\"", &format!("windlass cannot be started: {error}"));
            }
        }
    }
    let last = own.find_map(|job| job.last_line());
    match last.and_then(|line| serde_json::from_str::<Interval>(&line).ok()) {
        Some(interval) => interval.write(&mut html),
        None => html.element("p class=\"soft\"", "The first interval takes a second."),
    }
    html.raw("</div>\n");
    html.part()
}

impl Interval {
    fn write(&self, html: &mut Html) {
        let span = self.to_seconds - self.from_seconds;
        let Totals { open, moved, sent_bytes, received_bytes } = &self.totals;
        let both = |bytes: &Bytes| figures::both(bytes.per(span)).plain();
        html.cards([
            ("", "open".to_owned(), Some(figures::count(*open))),
            ("", "active".to_owned(), Some(figures::count(*moved))),
            ("best", "out".to_owned(), Some(both(sent_bytes))),
            ("best", "in".to_owned(), Some(both(received_bytes))),
        ]);
        if self.connections.is_empty() {
            html.element("p", "No connection was active in the last second.");
        } else {
            let mut table = Table::headed(
                "process | local address | peer address | out: | in: | RTT: | congestion window: | \
                 peer's window: | unsent: | retransmissions: | limit",
            );
            for connection in &self.connections {
                table.push(connection.cells());
            }
            let mut page = Page::html();
            page.table(&table);
            // Addresses of IPv6 take more than a page has.
            html.raw(
                "<div class=\"scrolls\" tabindex=\"0\" role=\"region\" \
                 aria-label=\"Connections\">\n",
            );
            html.raw(&page.finish());
            html.raw("</div>\n");
        }
        if self.left_out > 0 {
            let more = figures::counted(self.left_out, "more connection").plain();
            html.element("p class=\"soft\"", &format!("{more} are not listed."));
        }
        for note in &self.notes {
            html.element("p class=\"warn\"", note);
        }
    }
}

impl Connection {
    fn cells(&self) -> Vec<Text> {
        let rate = |rate: Rate| {
            if rate.bytes_per_second() > 0.0 { figures::both(rate) } else { Text::from("-") }
        };
        let size =
            |bytes: Option<Bytes>| Text::known(bytes.map(|bytes| RoughSize(bytes).to_string()));
        let process = match &self.process {
            Some(Process { pid, name }) => Text::from(format!("{name} {pid}")),
            None => Text::from("-"),
        };
        let held = self.now.as_ref().map(|HoldingLimit { limit, because, share }| {
            let because = because.as_ref().map(|one| format!(" / {one}")).unwrap_or_default();
            format!("{limit}{because} {}", figures::percent(*share).plain())
        });
        vec![
            process,
            Text::from(self.local.as_str()),
            Text::from(self.peer.as_str()),
            rate(self.sent_bytes_per_second),
            rate(self.received_bytes_per_second),
            Text::known(self.rtt_seconds),
            size(self.congestion_window_bytes),
            size(self.peer_window_bytes),
            size(self.unsent_bytes),
            Text::rare(self.retransmissions, Style::Warn),
            Text::known(held),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_command_and_no_field_an_option() {
        let asked = |form: &str| arguments(&Fields::read(form));
        let usual = asked("").unwrap();
        assert_eq!(usual[..2], ["top", "--json"]);
        assert!(usual.contains(&"--sort=rate".to_owned()), "{usual:?}");
        let all = asked("sort=rtt&process=--once&port=9100&idle=yes").unwrap();
        assert_eq!(all[5..], ["--sort=rtt", "--process=--once", "--port=9100", "--all"]);
        for (form, field) in [("sort=x", "sort"), ("port=x", "port"), ("process=a%0ab", "process")]
        {
            assert_eq!(asked(form).unwrap_err()[0].field, field, "{form}");
        }
    }

    #[test]
    fn an_interval_reads_in_bytes_and_bits() {
        let interval: Interval = serde_json::from_str(
            r#"{"from_seconds": 0.0, "to_seconds": 2.0, "left_out": 2, "notes": ["<b>"],
                "totals": {"open": 3, "moved": 1, "sent_bytes": 2000000, "received_bytes": 0},
                "connections": [{"process": {"pid": 7, "name": "<i>"}, "local": "192.0.2.1:5",
                "peer": "192.0.2.2:9100", "sent_bytes_per_second": 1e6,
                "received_bytes_per_second": 0.0, "retransmissions": 4, "rtt_seconds": 0.02,
                "congestion_window_bytes": 14480, "peer_window_bytes": null, "unsent_bytes": 0,
                "now": {"limit": "receiver-window", "because": null, "share": 0.75}}]}"#,
        )
        .unwrap();
        let mut html = Html::new("");
        interval.write(&mut html);
        let text = html.part().replace('\u{a0}', " ");
        for told in ["1 MB/s = 8 Mbit/s", "receiver-window 75 %", "14.5 kB", "2 more connections"] {
            assert!(text.contains(told), "{told}: {text}");
        }
        assert!(!text.contains("<i>") && !text.contains("<b>"), "{text}");
    }
}
