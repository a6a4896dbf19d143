//! A command that was started from a page: its progress and its result.

use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;
use windlass_base::{Span, Timestamp};
use windlass_drive::report::Interval;
use windlass_output::figures;
use windlass_output::html::Html;
use windlass_output::html::run::graph::{self, Setting};
use windlass_output::html::run::shown;
use windlass_runs::shapes::is_measurement;
use windlass_runs::{Run, RunId, Store, Summary};
use windlass_ui::{Job, Output, Stage};

use super::captures::{CaptureFile, ReportFile};
use super::parts::complaint;
use super::runs::found;
use super::sweeping::SweepProgress;

/// A command that was started from a page.
#[derive(Debug)]
pub(super) struct StartedCommand {
    /// Title for people.
    pub(super) title: String,
    /// The page to which it belongs.
    pub(super) place: &'static str,
    /// Its arguments, as a run has them.
    pub(super) arguments: Vec<String>,
    /// Time of its start.
    pub(super) time: Timestamp,
    /// Its run, once it is over and was found.
    pub(super) run: OnceLock<RunId>,
    /// The result that it makes.
    pub(super) work: Work,
}

/// The result of a command.
#[derive(Debug)]
pub(super) enum Work {
    /// A measurement, which is kept among the runs.
    Measurement,
    /// A report on captures.
    Report(ReportFile),
    /// A capture on an interface, which is explained as it comes.
    Capture(CaptureFile),
}

impl StartedCommand {
    /// Returns whether there is a report to be shown.
    pub(super) fn has_report(&self, stage: Stage) -> bool {
        matches!(self.work, Work::Report(_)) && stage == Stage::Ended(Some(0))
    }
}

/// A line of `windlass send --json-stream`.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    Begins { transfer: Setting },
    Interval { interval: Box<Interval> },
}

/// Output of a command.
#[derive(Default)]
struct CommandOutput {
    transfer: Option<Setting>,
    intervals: Vec<Interval>,
    sweeping: SweepProgress,
    /// The record at the end.
    record: Option<Value>,
}

impl CommandOutput {
    fn of(output: &[u8]) -> Self {
        let mut printed = Self::default();
        let text = String::from_utf8_lossy(output);
        // A record may span several lines; a stream has one line for each event.
        if text.starts_with("{\n") {
            printed.record = serde_json::from_str(&text).ok();
            return printed;
        }
        for line in text.lines() {
            if let Ok(event) = serde_json::from_str(line) {
                match event {
                    Event::Begins { transfer } => printed.transfer = Some(transfer),
                    Event::Interval { interval } => printed.intervals.push(*interval),
                }
            } else if let Ok(event) = serde_json::from_str(line) {
                printed.sweeping.push(event);
            } else if is_measurement(line) {
                // A line that is incomplete now is complete at the next poll.
                printed.record = serde_json::from_str(line).ok();
            }
        }
        printed
    }
}

/// Finds the run that a command kept, by the record that it printed.
fn kept(store: &Store, started: &StartedCommand, record: &Value) -> Option<Run> {
    if let Some(id) = started.run.get() {
        return store.read([*id]).ok()?.next()?.ok();
    }
    // Other commands may have kept runs in the meantime.
    let newest = store.newest(20).ok()?.runs;
    let own = newest
        .into_iter()
        .rev()
        .filter(|run| run.arguments == started.arguments && run.start_time >= started.time);
    for summary in own {
        let run = store.read([summary.id]).ok()?.next()?.ok()?;
        let last = run.records.last()?.record.get();
        if serde_json::from_str::<Value>(last).ok().as_ref() == Some(record) {
            let _ = started.run.set(run.id);
            return Some(run);
        }
    }
    None
}

/// Returns the page of a started command. Its changing part is in [`live`], and is polled until the
/// command ends.
pub(super) fn page(base: &str, job: &Job<StartedCommand>, store: &Store) -> String {
    let (StartedCommand { title, place, .. }, id) = (&job.of, job.id);
    let is_over = job.is_over();
    // Without a script the page is loaded anew.
    let again = "<noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>\n";
    let head = if is_over { "" } else { again };
    let mut html = Html::page_with(base, title, place, head);
    let (status, part) = live(base, job, store);
    html.element("p class=\"status\" id=\"status\" role=\"status\"", &status);
    if !is_over {
        let word = match job.of.work {
            Work::Measurement => "Stop and show the results",
            Work::Report(_) => "Stop",
            Work::Capture(_) => "Stop and report",
        };
        html.raw(&format!(
            "<form method=\"post\" action=\"{base}/jobs/{id}/stop\" id=\"stop\">\n\
             <div class=\"buttons\"><button class=\"halt\">{word}</button></div>\n\
             </form>\n"
        ));
    }
    let from =
        if is_over { String::new() } else { format!(" data-from=\"{base}/jobs/{id}/live\"") };
    html.raw(&format!("<div id=\"live\"{from}>\n{part}</div>\n"));
    html.finish()
}

/// Returns the status of a command in words, and its output so far.
pub(super) fn live(base: &str, job: &Job<StartedCommand>, store: &Store) -> (String, String) {
    let Output { output, said, stage } = job.output();
    let printed = CommandOutput::of(&output);
    let mut html = Html::new(base);
    let is_report = matches!(job.of.work, Work::Report(_));
    let capture = match &job.of.work {
        Work::Capture(capture) => Some(capture),
        _ => None,
    };
    let status = match stage {
        Stage::Runs if is_report => "Reading the capture.".to_owned(),
        Stage::Runs if capture.is_some() => "Capturing packets.".to_owned(),
        Stage::Runs => "Measuring.".to_owned(),
        _ if job.of.has_report(stage) => "The report is ready.".to_owned(),
        Stage::Stops => "Stopping. Press Stop again to end it at once.".to_owned(),
        Stage::Ended(code) if capture.is_some() => {
            let text = String::from_utf8_lossy(&output);
            captured(&mut html, job.id, &text, &said, code)
        }
        Stage::Ended(code) => over(&mut html, job, store, &printed, &said, code),
    };
    let is_over = matches!(stage, Stage::Ended(_));
    if is_report && !is_over {
        let seconds = Span::from_seconds(job.began.elapsed().as_secs_f64().floor());
        html.element("p class=\"soft\"", &format!("Running for {seconds}."));
    } else if capture.is_some() && !is_over {
        let seconds = Span::from_seconds(job.began.elapsed().as_secs_f64().floor());
        html.element("p class=\"soft\"", &format!("Running for {seconds}; one line per second."));
        let text = String::from_utf8_lossy(&output);
        printed_text(&mut html, &newest_lines(&text));
    } else if !is_over {
        so_far(&mut html, job, &printed);
    }
    let next = if job.of.has_report(stage) {
        format!(" data-next=\"{base}/reports/{}\"", job.id)
    } else {
        String::new()
    };
    let part = html.part();
    let mut html = Html::new(base);
    let status_text = windlass_output::html::escaped(&status);
    html.raw(&format!(
        "<div data-over=\"{is_over}\" data-status=\"{status_text}\"{next}>\n{part}</div>\n"
    ));
    (status, html.part())
}

fn so_far(html: &mut Html, job: &Job<StartedCommand>, printed: &CommandOutput) {
    let seconds = Span::from_seconds(job.began.elapsed().as_secs_f64().floor());
    if printed.sweeping.has_begun {
        printed.sweeping.write(html, seconds);
        return;
    }
    let last = printed.intervals.iter().rev().find(|one| one.sender.is_some());
    let kernel = last.and_then(|one| one.sender);
    html.cards([
        (
            "best",
            "rate now".to_owned(),
            last.map(|one| figures::both(one.bytes_per_second).plain()),
        ),
        ("", "RTT".to_owned(), kernel.and_then(|one| one.rtt_seconds).map(|rtt| rtt.to_string())),
        (
            "",
            "congestion window".to_owned(),
            kernel.map(|one| one.congestion_window_bytes.to_string()),
        ),
        (
            "",
            "peer's window".to_owned(),
            kernel.and_then(|one| one.peer_window_bytes).map(|bytes| bytes.to_string()),
        ),
        ("", "since the start".to_owned(), Some(seconds.to_string())),
    ]);
    match printed.transfer {
        Some(transfer) => graph::write(html, &printed.intervals, transfer),
        None => {
            html.element("p class=\"soft\"", "The first figures appear after the first interval.");
        }
    }
}

/// Number of last lines that a page shows of a continuing output.
const SHOWN_LINES: usize = 40;

/// Returns the head of a table of intervals, and its newest lines.
fn newest_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let rest = lines.get(1..).unwrap_or_default();
    let rest = &rest[rest.len().saturating_sub(SHOWN_LINES)..];
    lines.first().into_iter().chain(rest).copied().collect::<Vec<_>>().join("\n")
}

/// Writes text as a terminal shows it.
fn printed_text(html: &mut Html, text: &str) {
    html.element(
        "pre class=\"printed\" tabindex=\"0\" role=\"region\" aria-label=\"As it was printed\"",
        text,
    );
}

/// Writes the result of a capture, and returns it in a line.
fn captured(html: &mut Html, id: u64, text: &str, said: &str, code: Option<i32>) -> String {
    if code != Some(0) {
        let (wrong, tip) = complaint(said);
        html.raw("<div class=\"problems\">\n");
        html.element(
            "p class=\"bad\"",
            &wrong.unwrap_or_else(|| "The command was ended at once.".to_owned()),
        );
        html.element("p", &tip.unwrap_or_default());
        html.raw("</div>\n");
    }
    let base = html.base.clone();
    html.raw(&format!(
        "<form method=\"post\" action=\"{base}/captures/{id}/report\">\n<div class=\"buttons\">\
         <button class=\"go\">Report with charts</button></div>\n</form>\n"
    ));
    if !text.is_empty() {
        printed_text(html, text);
    }
    if code == Some(0) { "Captured.".to_owned() } else { "Failed.".to_owned() }
}

/// Writes the result, and returns it in a line.
fn over(
    html: &mut Html,
    job: &Job<StartedCommand>,
    store: &Store,
    printed: &CommandOutput,
    said: &str,
    code: Option<i32>,
) -> String {
    let (wrong, tip) = complaint(said);
    let run = printed.record.as_ref().and_then(|record| kept(store, &job.of, record));
    if code != Some(0) {
        let unknown = || match code {
            Some(code) => format!("The command ended with exit code {code} and without a message."),
            None => "The command was ended at once.".to_owned(),
        };
        let wrong = wrong.clone().unwrap_or_else(unknown);
        html.raw("<div class=\"problems\">\n");
        html.element("p class=\"bad\"", &wrong);
        if let Some(tip) = &tip {
            html.element("p", tip);
        }
        html.raw("</div>\n");
    } else if let Some(warning) = &wrong {
        html.element("p class=\"warn\"", warning);
    }
    let is_true = |record: &Value| record["interrupted"] == true;
    if code == Some(0) && printed.record.as_ref().is_some_and(is_true) {
        html.element("p class=\"warn\"", "The measurement was stopped before its end.");
    }
    match (&run, &printed.record) {
        (Some(run), _) => {
            let summary = Summary::of(run);
            let (base, id) = (html.base.clone(), run.id);
            html.raw(&format!(
                "<p>Kept as <a href=\"{base}/runs/{id}\">run {}</a>.</p>\n",
                id.short()
            ));
            found(html, store, run, &summary);
            let limits: Vec<&str> =
                summary.verdicts.iter().map(|one| one.cause.as_str()).take(3).collect();
            let done = if code == Some(0) { "Done" } else { "Stopped or failed" };
            if limits.is_empty() {
                format!("{done}.")
            } else {
                format!("{done}: {}.", limits.join(", "))
            }
        }
        (None, Some(record)) => {
            html.element("p class=\"warn\"", "The run was not kept in the store.");
            shown::write(html, record);
            "Done, and not kept.".to_owned()
        }
        (None, None) => "Failed.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_half_there_are_left() {
        let whole = concat!(
            r#"{"schema":"windlass.send-stream/1","event":"begins","host":"h","transfer":{"streams":2,"pace":null}}"#,
            "\n{\"schema\":\"windlass.send-stream/1\",\"event\":\"inter"
        );
        let printed = CommandOutput::of(whole.as_bytes());
        assert!(printed.transfer.is_some() && printed.intervals.is_empty());
        assert!(printed.record.is_none());
        // A test that fails at once has begun, and no more.
        let begun = whole.split_inclusive('\n').next().unwrap();
        let printed = CommandOutput::of(begun.as_bytes());
        assert!(printed.transfer.is_some() && printed.record.is_none());
        let record = CommandOutput::of(b"{\n  \"schema\": \"windlass.lab/2\"\n}\n").record.unwrap();
        assert_eq!(record["schema"], "windlass.lab/2");
        let swept = concat!(
            r#"{"schema":"windlass.sweep-stream/1","event":"begins","name":"h","within_seconds":90.0}"#,
            "\n",
            r#"{"schema":"windlass.sweep-stream/1","event":"measurement","number":1,"direction":"up","#,
            r#""window_bytes":null,"streams":1,"asked_congestion":null,"repeat":1,"#,
            r#""bits_per_second":94e6,"rtt_seconds":0.002,"retransmissions":0,"congestion":"cubic","#,
            r#""verdict":null,"because":null,"spent_seconds":2.5}"#,
            "\n{\"schema\":\"windlass.sweep-st"
        );
        let printed = CommandOutput::of(swept.as_bytes());
        assert!(printed.sweeping.has_begun && printed.record.is_none());
        let mut html = Html::new("");
        printed.sweeping.write(&mut html, Span::from_seconds(3.0));
        let html = html.part();
        assert!(html.contains("94 Mbit/s") && html.contains("2.5 s of 90 s at most"), "{html}");
        assert!(html.contains("autotuned") && html.contains("cubic"), "{html}");
        assert!(
            CommandOutput::of(b"").record.is_none()
                && CommandOutput::of(b"\xff\n{").record.is_none()
        );
    }
}
