//! A verdict for people: what holds, the law, the evidence, and what to change.

use windlass_base::verdict::{Confidence, Input, Remedy, Unit, Verdict};
use windlass_base::{Because, Bytes, Limit, Rate, Span};

use super::{Page, Rows, Style, Text, figures};

/// How many packets of one piece of evidence are named.
const PACKETS: usize = 8;

/// The limit, and why: `receiver-window / ack-latency`.
#[must_use]
pub fn cause(verdict: &Verdict) -> String {
    limit_and_cause(verdict.limit, verdict.because)
}

/// The same of the two by themselves.
#[must_use]
pub fn limit_and_cause(limit: Limit, because: Option<Because>) -> String {
    match because {
        Some(because) => format!("{limit} / {because}"),
        None => limit.to_string(),
    }
}

/// The limit, its share, how sure that is and the sentence, where several
/// transfers follow each other.
pub fn in_short(page: &mut Page, verdict: &Verdict) {
    page.paragraph(
        Text::styled(Style::Bad, cause(verdict))
            .and(", ")
            .and(share(verdict))
            .and("; confidence ")
            .and(verdict.confidence.id())
            .and(". ")
            .and(Text::from(&verdict.sentence)),
    );
}

/// What to change first, where there is something.
pub fn first_remedy(page: &mut Page, verdict: &Verdict) {
    let Some(remedy) = verdict.remedies.first() else { return };
    let mut text = Text::styled(Style::Good, remedy.side.id()).and(": ");
    text = text.and(Text::from(&remedy.action));
    if let Some(rate) = remedy.expected_bytes_per_second {
        text = text.and("; expect ").strong(rate);
    }
    page.paragraph(text);
}

/// All of a verdict: its head and its sentence, what is `between`, and its rows.
pub fn whole(page: &mut Page, verdict: &Verdict, between: impl FnOnce(&mut Page)) {
    page.line(head(verdict));
    page.paragraph(Text::from(&verdict.sentence));
    page.gap();
    between(page);
    page.gap();
    page.rows(&rows(verdict));
    page.gap();
}

/// The limit, its reason, its share and how sure that is, in one line.
fn head(verdict: &Verdict) -> Text {
    let confidence = match verdict.confidence {
        Confidence::High => Style::Good,
        Confidence::Medium => Style::Warn,
        Confidence::Low => Style::Bad,
    };
    Text::styled(Style::Bad, cause(verdict))
        .and(", ")
        .and(share(verdict))
        .and("; confidence ")
        .with(confidence, verdict.confidence.id())
}

/// The share of the cause, and that of its limit where other reasons of it took time.
fn share(verdict: &Verdict) -> Text {
    let own = figures::percent(verdict.share).and(" of the time");
    if verdict.limit_share < verdict.share + 0.005 {
        return own;
    }
    own.and(format!(" ({} in all ", verdict.limit))
        .and(figures::percent(verdict.limit_share))
        .and(")")
}

/// The law with its rate, the evidence, and what to change.
fn rows(verdict: &Verdict) -> Rows {
    let mut rows = Rows::new();
    law(&mut rows, verdict);
    for (place, evidence) in verdict.evidence.iter().enumerate() {
        let name = if place == 0 { "evidence" } else { "" };
        rows.push(name, packets(&evidence.packets).and(Text::from(&evidence.shows)));
    }
    if let Some(nothing) = nothing(verdict) {
        rows.push("to change", nothing);
    }
    for (place, remedy) in verdict.remedies.iter().enumerate() {
        let name = if place == 0 { "to change" } else { "" };
        rows.push(name, remedy_text(remedy));
    }
    rows
}

/// Why nothing is to be changed; `None` where that is not known, as without packets.
fn nothing(verdict: &Verdict) -> Option<&'static str> {
    let captured = verdict.evidence.iter().any(|evidence| !evidence.packets.is_empty());
    match verdict.limit {
        _ if !captured || !verdict.remedies.is_empty() => None,
        Limit::Unknown => None,
        Limit::PathCapacity => {
            Some("nothing in TCP: the path is full, and only a faster path helps")
        }
        Limit::Application => Some("nothing in TCP: the programs set the pace"),
        _ => Some("nothing that is known would bring a tenth more"),
    }
}

fn law(rows: &mut Rows, verdict: &Verdict) {
    let Some(law) = &verdict.law else {
        let why = match (verdict.limit, verdict.because) {
            (Limit::Application, _) => "none: no law says how fast a program is",
            (Limit::PathCapacity, _) => "none: what a path carries is measured",
            (_, Some(Because::WindowBelowMss)) => {
                "none: no law says how long a window below a segment stays so"
            }
            _ => "none: a number that it needs was not measured",
        };
        rows.push("law", why);
        return;
    };
    let mut text = Text::from(format!("{}: {}", law.name, law.formula));
    for (place, input) in law.inputs.iter().enumerate() {
        text = text.and(if place == 0 { " with " } else { ", " });
        text = text.and(format!("{} = ", input.symbol)).and(amount(input));
    }
    rows.push("law", text);
    if let Some(predicted) = verdict.predicted_bytes_per_second {
        rows.push(
            "predicted",
            Text::default()
                .strong(predicted)
                .and("; measured ")
                .strong(verdict.measured_bytes_per_second),
        );
    }
}

fn amount(input: &Input) -> Text {
    value(input.value, input.unit)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "amounts saturate")]
fn value(value: f64, unit: Unit) -> Text {
    match unit {
        Unit::Bytes => Bytes::new(value.max(0.0) as u64).into(),
        Unit::Seconds => Span::from_seconds(value).into(),
        Unit::BytesPerSecond => Rate::from_bytes_per_second(value).into(),
        Unit::Share => figures::fine_percent(value),
        Unit::Count => (value.max(0.0) as u64).into(),
    }
}

fn packets(numbers: &[u64]) -> Text {
    if numbers.is_empty() {
        return Text::default();
    }
    let mut text = String::from(if numbers.len() == 1 { "packet " } else { "packets " });
    for (place, number) in numbers.iter().take(PACKETS).enumerate() {
        if place > 0 {
            text.push_str(", ");
        }
        text.push_str(&number.to_string());
    }
    if numbers.len() > PACKETS {
        text.push_str(", …");
    }
    text.push_str(": ");
    Text::styled(Style::Strong, text)
}

fn remedy_text(remedy: &Remedy) -> Text {
    let mut text = Text::styled(Style::Good, remedy.side.id()).and(": ");
    text = text.and(Text::from(&remedy.action));
    if let Some(rate) = remedy.expected_bytes_per_second {
        text = text.and("; expect ").strong(rate);
        if let Some(then) = remedy.then {
            text = text.and(format!(", then {then}"));
        }
    }
    text
}
