//! Verdict for people: the limit, the law, the evidence, and what to change.

use windlass_base::thresholds::ESTIMATE_ERROR;
use windlass_base::verdict::{
    BoundSource, Caveat, CaveatId, Confidence, Evidence, Remedy, Unit, Verdict, is_telling,
};
use windlass_base::{Bytes, Cause, Limit, LimitReason, Rate, Span, whole_part};

use super::{Page, Rows, Style, Text, figures};

/// Maximum number of packets that are named for one piece of evidence.
const PACKETS: usize = 8;

/// Columns for the settings of a remedy: one line of a page of 80, after its name.
const HOW_COLUMNS: usize = 66;

/// Returns the limit and its reason: `receiver-window / ack-latency`.
pub fn cause(cause: Cause) -> String {
    limit_and_cause(cause.limit(), cause.because())
}

/// Returns a limit and a cause as text.
pub fn limit_and_cause(limit: Limit, because: Option<LimitReason>) -> String {
    match because {
        Some(because) => format!("{limit} / {because}"),
        None => limit.to_string(),
    }
}

/// Writes the limit, its share, the confidence and the sentence, for one of several transfers.
pub fn in_short(page: &mut Page, verdict: &Verdict) {
    let head = head(verdict).and(verdict.confidence.id());
    page.paragraph(head.and(". ").and(&verdict.sentence));
}

/// Writes the first change, if there is one.
pub fn first_remedy(page: &mut Page, verdict: &Verdict) {
    let Some(remedy) = verdict.remedies.first() else { return };
    page.paragraph(remedy_text(remedy, verdict.measured_bytes_per_second));
}

/// Writes a whole verdict: its head and its sentence, then `between`, and its rows.
pub fn whole(page: &mut Page, verdict: &Verdict, between: impl FnOnce(&mut Page)) {
    answer(page, verdict, between);
    page.rows(&rows(verdict));
    page.gap();
}

/// Writes the answer of a verdict: its head and its sentence, then `between`.
pub fn answer(page: &mut Page, verdict: &Verdict, between: impl FnOnce(&mut Page)) {
    page.line(headline(verdict));
    page.paragraph(&verdict.sentence);
    if let Some(others) = alternative(verdict) {
        page.paragraph(others);
    }
    page.gap();
    between(page);
    page.gap();
}

/// Returns other causes that also fit, and the test that would decide; `None` if there are none.
pub fn alternative(verdict: &Verdict) -> Option<Text> {
    let others = verdict.between.iter().filter(|other| **other != verdict.cause);
    let others: Vec<String> = others.map(|other| cause(*other)).collect();
    if others.is_empty() || verdict.cause == Cause::Unknown {
        return None;
    }
    let why = verdict.caveats.iter().find(|caveat| caveat.id == CaveatId::OtherPace);
    let why = why.map_or_else(
        || Text::from("the measurement cannot tell them apart; run windlass top on both hosts"),
        |caveat| Text::from(&caveat.text),
    );
    Some(Text::from("or ").and(Text::styled(Style::Warn, others.join(" or "))).and(": ").and(why))
}

/// Returns the caveats except the one in [`alternative`].
pub fn caveats(verdict: &Verdict) -> Vec<&Caveat> {
    let told = alternative(verdict).is_some();
    let others = verdict.caveats.iter();
    others.filter(|caveat| !(told && caveat.id == CaveatId::OtherPace)).collect()
}

/// Returns the headline of a verdict, beside another verdict on this transfer; it says if both name
/// one cause.
pub fn beside(verdict: &Verdict, other: Option<&Verdict>) -> Text {
    let same = other.is_some_and(|other| other.cause == verdict.cause);
    let text = Text::from(if same { "says the same: " } else { "" });
    text.and(headline(verdict))
}

/// Returns the limit, its reason, its share, and the confidence.
pub fn headline(verdict: &Verdict) -> Text {
    head(verdict).and(confidence(verdict.confidence))
}

/// Returns the confidence.
pub fn confidence(confidence: Confidence) -> Text {
    let style = match confidence {
        Confidence::High => Style::Good,
        Confidence::Medium => Style::Warn,
        Confidence::Low => Style::Bad,
    };
    Text::styled(style, confidence.id())
}

/// Returns the limit, its reason and its share; the caller adds the confidence.
fn head(verdict: &Verdict) -> Text {
    let names: Vec<String> = verdict.between.iter().map(|one| cause(*one)).collect();
    let name = match verdict.cause {
        Cause::Unknown if !names.is_empty() => {
            format!("{} between {}", Limit::Unknown, names.join(" and "))
        }
        named => cause(named),
    };
    Text::styled(Style::Bad, name).and(", ").and(share(verdict)).and("; confidence ")
}

/// Returns the share of the cause, and that of its limit if other reasons of the limit took time.
fn share(verdict: &Verdict) -> Text {
    let own = figures::percent(verdict.share).and(" of the time");
    if verdict.limit_share < verdict.share + 0.005 {
        return own;
    }
    own.and(format!(" ({} in all ", verdict.cause.limit()))
        .and(figures::percent(verdict.limit_share))
        .and(")")
}

/// Returns the law with its rate, the evidence, and what to change.
pub fn rows(verdict: &Verdict) -> Rows {
    let mut rows = Rows::new();
    law(&mut rows, verdict);
    let shown = |evidence: &Evidence| packets(&evidence.packets).and(&evidence.shows);
    rows.list("evidence", verdict.evidence.iter().map(shown));
    rows.append(&changes(verdict, usize::MAX));
    rows
}

/// Returns the first changes that would raise the rate, with their settings and their effect; or
/// the reason why there are none.
pub fn changes(verdict: &Verdict, most: usize) -> Rows {
    let mut rows = Rows::new();
    if let Some(nothing) = nothing(verdict) {
        rows.push("to change", nothing);
    }
    let then = |remedy: &Remedy| {
        let text = remedy_text(remedy, verdict.measured_bytes_per_second);
        match remedy.expected_bytes_per_second.and(remedy.then) {
            Some(then) => text.and(format!(", then {then}")),
            None => text,
        }
        .and(second_text(remedy, verdict.measured_bytes_per_second))
    };
    let mut name = "to change";
    for remedy in verdict.remedies.iter().take(most) {
        rows.push(name, then(remedy));
        name = "";
        if let Some(how) = remedy.how.line(HOW_COLUMNS) {
            rows.push("how", how);
            name = "to change";
        }
    }
    rows
}

/// Returns the reason why nothing needs to change; `None` if unknown, for instance without packets.
fn nothing(verdict: &Verdict) -> Option<&'static str> {
    let captured = verdict.evidence.iter().any(|evidence| !evidence.packets.is_empty());
    match verdict.cause.limit() {
        _ if !captured || !verdict.remedies.is_empty() => None,
        Limit::Unknown => None,
        Limit::PathCapacity => {
            Some("nothing in TCP: the path is full, and only a faster path helps")
        }
        Limit::Application => Some("nothing in TCP: the programs set the pace"),
        _ => Some("no known change would bring 10 % more"),
    }
}

fn law(rows: &mut Rows, verdict: &Verdict) {
    let Some(law) = &verdict.law else {
        let why = match (verdict.cause.limit(), verdict.cause.because()) {
            (Limit::Application, _) => "none: no law predicts the rate of a program",
            (Limit::PathCapacity, _) => "none: the capacity of a path is measured",
            (Limit::Loss, Some(LimitReason::Timeout)) => {
                "none: no law predicts the length of an outage"
            }
            (_, Some(LimitReason::WindowBelowMss)) => {
                "none: no law predicts how long a window stays below a segment"
            }
            _ => "none: a number that it needs was not measured",
        };
        rows.push("law", why);
        return;
    };
    let mut text = Text::from(format!("{}: {}", law.name, law.formula));
    if !law.inputs.is_empty() {
        let inputs = law.inputs.iter().map(|input| {
            Text::from(format!("{} = ", input.symbol)).and(amount(input.value, input.unit))
        });
        text = text.and(" with ").and(Text::joined(inputs, ", "));
    }
    rows.push("law", text);
    if let Some(predicted) = verdict.predicted_bytes_per_second {
        rows.push(
            "predicted",
            Text::default()
                .strong(figures::both(predicted))
                .and("; measured ")
                .strong(figures::both(verdict.measured_bytes_per_second)),
        );
    }
}

/// Returns an amount of a law, in its unit.
pub fn amount(value: f64, unit: Unit) -> Text {
    match unit {
        Unit::Bytes => Bytes::new(whole_part(value)).into(),
        Unit::Seconds => Span::from_seconds(value).into(),
        Unit::BytesPerSecond => Rate::from_bytes_per_second(value).into(),
        Unit::Share => figures::fine_percent(value),
        Unit::Count => whole_part(value).into(),
    }
}

/// Returns numbers of packets, as the start of a piece of evidence; empty if there are none.
pub fn packets(numbers: &[u64]) -> Text {
    if numbers.is_empty() {
        return Text::default();
    }
    let noun = if numbers.len() == 1 { "packet" } else { "packets" };
    let named: Vec<String> = numbers.iter().take(PACKETS).map(u64::to_string).collect();
    let more = if numbers.len() > PACKETS { ", …" } else { "" };
    Text::styled(Style::Strong, format!("{noun} {}{more}: ", named.join(", ")))
}

/// Returns the side, the change and the promise, for a transfer with this measured rate.
pub fn remedy_text(remedy: &Remedy, measured: Rate) -> Text {
    let text = Text::styled(Style::Good, remedy.side.id()).and(": ").and(&remedy.action);
    match (remedy.expected_bytes_per_second, remedy.at_most_bytes_per_second) {
        (Some(rate), _) => text.and("; expect ").and(estimate(rate)),
        (None, Some(most)) => text.and("; ").and(bound(most, remedy.at_most_by, measured)),
        (None, None) => text,
    }
}

/// Returns the change that is needed after this one, and the effect of both together; empty if none
/// is.
fn second_text(remedy: &Remedy, measured: Rate) -> Text {
    let Some(second) = &remedy.second else { return Text::default() };
    let both = match (second.expected_bytes_per_second, second.at_most_bytes_per_second) {
        (Some(rate), _) => Text::from("expect ").and(estimate(rate)),
        (None, Some(most)) => bound(most, second.at_most_by, measured),
        (None, None) => return Text::default(),
    };
    Text::from("; together with ").and(Text::whole(&second.what_if)).and(" ").and(both)
}

/// Returns a rate with its interval.
pub fn estimate(rate: Rate) -> Text {
    let error = Text::whole(&format!(" ± {:.0} %", ESTIMATE_ERROR.get() * 100.0));
    Text::default().strong(figures::both(rate)).and(error)
}

/// Returns a bound with its source; or the test to run, if the bound is too far above the measured
/// rate.
pub fn bound(most: Rate, source: Option<BoundSource>, measured: Rate) -> Text {
    if !is_telling(most, measured) {
        return Text::from(
            "this capture does not tell what that brings: windlass send over this path measures \
             its capacity",
        );
    }
    Text::from("at most ").strong(figures::both(most)).and(match source {
        Some(BoundSource::Path) => " (the path's capacity was not seen)",
        Some(BoundSource::Window) => ", by the receiver's window",
        Some(BoundSource::SlowStart) => ", by slow start",
        None => "",
    })
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::TELLING_BOUND;

    use super::*;

    #[test]
    fn a_bound_tells_its_source() {
        let rate = Rate::from_bytes_per_second(1e6);
        let text = |source| bound(rate, source, rate).plain().replace('\u{a0}', " ");
        assert_eq!(
            text(Some(BoundSource::Path)),
            "at most 1 MB/s = 8 Mbit/s (the path's capacity was not seen)"
        );
        let most = "at most 1 MB/s = 8 Mbit/s";
        assert_eq!(text(Some(BoundSource::Window)), format!("{most}, by the receiver's window"));
        assert_eq!(text(Some(BoundSource::SlowStart)), format!("{most}, by slow start"));
        assert_eq!(text(None), most);
    }

    #[test]
    fn a_bound_far_above_the_measured_rate_names_a_test() {
        let most = 1e3 * TELLING_BOUND.get();
        let [measured, most, more] = [1e3, most, most + 1.0].map(Rate::from_bytes_per_second);
        assert!(bound(most, None, measured).plain().starts_with("at most "));
        assert!(bound(more, None, measured).plain().contains("windlass send"));
    }
}
