//! Figures of runs as text and as JSON.

use serde::{Serialize, Serializer};
use windlass_base::figures::FineShare;
use windlass_base::{Bytes, Rate, Span, Timestamp, whole_part};
use windlass_runs::{
    Figure, FigureName, Preference, Row, Run, RunId, Summary, Unit, VerdictSummary,
};

use crate::{Rows, Style, Text, figures};

/// Returns a value in its unit.
pub fn value(value: f64, unit: Unit) -> Text {
    match unit {
        Unit::BytesPerSecond => Rate::from_bytes_per_second(value).into(),
        Unit::Seconds => Span::from_seconds(value).into(),
        Unit::Bytes => Bytes::new(whole_part(value)).into(),
        Unit::Share => FineShare(value).into(),
        Unit::JobsPerSecond => figures::per_second(value, "job"),
        Unit::PacketsPerSecond => figures::per_second(value, "packet"),
        Unit::Count => figures::whole(value),
    }
}

/// Returns name, command, time and host of a run.
pub fn facts(run: &Run) -> Rows {
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

/// Returns a time to the second, in UTC: `2026-11-26 11:17:31`.
pub fn second(time: Timestamp) -> String {
    let text = time.to_string().replace('T', " ");
    text.get(..19).unwrap_or(&text).to_owned()
}

/// Returns a command line in a shell's syntax.
pub fn command_line(arguments: &[String]) -> String {
    let plain = |one: char| one.is_alphanumeric() || "-_./:=,+@%".contains(one);
    let quoted = arguments.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            // Escape characters that would end the line or colour it.
            let word: String = word.chars().flat_map(char::escape_default).collect();
            format!("'{}'", word.replace("\\'", "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Serializes runs as rows of a list.
pub fn rows<S: Serializer>(runs: &[Summary], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(runs.iter().map(RunRow::from))
}

/// Run in a list.
#[derive(Debug, Serialize)]
struct RunRow<'a> {
    id: RunId,
    command: &'a str,
    arguments: &'a [String],
    target: Option<&'a str>,
    peers: &'a [String],
    host: &'a str,
    start_time: Timestamp,
    end_time: Timestamp,
    exit_code: u8,
    tags: &'a [String],
    notes: usize,
    figures: Vec<FigureRow<'a>>,
    verdicts: Vec<VerdictRow<'a>>,
    captures: &'a [String],
}

/// Figure with its unit.
#[derive(Debug, Serialize)]
struct FigureRow<'a> {
    name: FigureName,
    of: Option<&'a str>,
    value: f64,
    unit: Unit,
    better: Preference,
}

/// Verdict in a list.
#[derive(Debug, Serialize)]
struct VerdictRow<'a> {
    of: Option<&'a str>,
    cause: &'a str,
    confidence: Option<&'a str>,
}

impl<'a> From<&'a VerdictSummary> for VerdictRow<'a> {
    fn from(verdict: &'a VerdictSummary) -> Self {
        let VerdictSummary { of, cause, confidence } = verdict;
        Self { of: of.as_deref(), cause, confidence: confidence.as_deref() }
    }
}

impl<'a> From<&'a Figure> for FigureRow<'a> {
    fn from(figure: &'a Figure) -> Self {
        let Figure { name, of, value } = figure;
        let (unit, better) = (name.unit(), name.better());
        Self { name: *name, of: of.as_deref(), value: *value, unit, better }
    }
}

impl<'a> From<&'a Summary> for RunRow<'a> {
    fn from(run: &'a Summary) -> Self {
        Self {
            id: run.id,
            command: &run.command,
            arguments: &run.arguments,
            target: run.target.as_deref(),
            peers: &run.peers,
            host: &run.host,
            start_time: run.start_time,
            end_time: run.end_time,
            exit_code: run.exit_code,
            tags: &run.tags,
            notes: run.notes,
            figures: run.figures.iter().map(FigureRow::from).collect(),
            verdicts: run.verdicts.iter().map(VerdictRow::from).collect(),
            captures: &run.captures,
        }
    }
}

/// Returns the result of a run: its first figure, and the number of other rows with such a figure.
pub fn result(run: &Row<'_>) -> Text {
    let Some((name, first)) = run.result.first else { return Text::from("-") };
    let text = value(first, name.unit());
    match run.result.more {
        0 => text,
        more => text.and(format!(" +{more}")),
    }
}

/// Returns the limit of a run without its reason, if it has one. Of several rows it is the first
/// one's, with the number of rows with another limit.
pub fn limit(run: &Row<'_>) -> Text {
    let Some(first) = &run.limit.first else { return Text::from("-") };
    match run.limit.others {
        0 => Text::from(&**first),
        others => Text::from(format!("{} +{others}", &**first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_pasted() {
        let words = ["send", "192.0.2.9", "--note", "it's slow", "", "a\x1b[31m"];
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(command_line(&words), "send 192.0.2.9 --note 'it'\\''s slow' '' 'a\\u{1b}[31m'");
    }

    #[test]
    fn values_read_in_their_units() {
        let read = |of, unit| value(of, unit).plain();
        assert_eq!(read(24_801.0, Unit::BytesPerSecond), "24.8 kB/s");
        assert_eq!(read(0.117_695, Unit::Seconds), "117.7 ms");
        assert_eq!(read(0.000_12, Unit::Share), "0.012 %");
        assert_eq!(read(65_536.0, Unit::Bytes), "65,536 B");
        assert_eq!(read(13.62, Unit::JobsPerSecond), "13.62 jobs/s");
    }
}
