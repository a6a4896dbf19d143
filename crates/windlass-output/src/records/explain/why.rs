//! Reasons of a verdict, as text.

use std::collections::BTreeSet;

use windlass_base::figures::Share;
use windlass_trace::{AskedRule, Reasons, WaitReasons};

use crate::{Page, Rows, Text, figures, verdict};

/// Prints the reasons of one connection.
pub(super) fn why(page: &mut Page, why: &Reasons) {
    page.line(
        Text::from("Why ")
            .strong(why.cause.to_string())
            .and(", ")
            .and(verdict::confidence(why.confidence)),
    );
    page.indented(|page| {
        page.rows(&causes(why));
        page.gap();
        waits(page, why);
        page.gap();
        page.rows(&confidence(why));
        page.gap();
        page.rows(&facts(why));
        page.gap();
        page.rows(&thresholds(why));
    });
}

/// Returns the causes that the rules named, each with the chains of rules behind its time.
fn causes(why: &Reasons) -> Rows {
    let mut rows = Rows::new();
    for cause in &why.causes {
        let head =
            Text::from(cause.seconds).and(" (").and(Text::whole(&Share(cause.share).to_string()));
        let chains = cause.rules.iter().map(|chain| {
            let rules = Text::from(chain.rules.join(", then "));
            match chain.waits {
                0 => rules.and(" (").and(chain.seconds).and(")"),
                waits => rules.and(" (").and(figures::counted(waits, "wait")).and(")"),
            }
        });
        let chains: Vec<Text> = chains.collect();
        let by = if chains.is_empty() { Text::from("no wait") } else { Text::joined(chains, "; ") };
        rows.push(cause.cause.to_string(), head.and("): ").and(by));
    }
    rows
}

/// Writes the waits, each with the rules that were tested. A wait with the same results as an
/// earlier one omits the rules that failed.
fn waits(page: &mut Page, why: &Reasons) {
    let shown = why.waits.len() as u64;
    let head = match shown {
        0 => {
            Text::from("there is no such wait: the last is ").and(figures::count(why.waits_in_all))
        }
        1 if why.waits_in_all == 1 => "its one wait".into(),
        _ if shown == why.waits_in_all => {
            figures::counted(shown, "wait").and(", the costliest first")
        }
        1 => Text::from("1 wait of ").and(figures::count(why.waits_in_all)),
        _ => Text::from("the ")
            .and(figures::count(shown))
            .and(" costliest of ")
            .and(figures::counted(why.waits_in_all, "wait")),
    };
    page.line(head);
    let mut told = BTreeSet::new();
    for wait in &why.waits {
        page.paragraph(wait_line(wait));
        let way: Vec<(&str, bool)> =
            wait.asked.iter().map(|rule| (rule.rule, rule.holds)).collect();
        let is_new = told.insert(way);
        page.indented(|page| {
            let mut rows = Rows::new();
            for rule in
                wait.asked.iter().filter(|rule| rule.holds || is_new && !rule.checks.is_empty())
            {
                rows.push(rule.rule, asked(rule));
            }
            page.rows(&rows);
        });
    }
}

fn wait_line(wait: &WaitReasons) -> Text {
    let parts = wait
        .parts
        .iter()
        .map(|part| Text::from(part.seconds).and(" ").strong(part.cause.to_string()));
    Text::from(format!("wait {}, {}: ", wait.number, wait.kind))
        .and(Text::joined(parts, ", "))
        .dim(format!(" (packets {} to {})", wait.first_packet, wait.last_packet))
}

/// Returns whether a rule held, and by which conditions.
fn asked(rule: &AskedRule) -> Text {
    let holds = if rule.holds { "yes" } else { "no" };
    let checks = rule.checks.iter().map(|check| Text::from(&check.text));
    let checks: Vec<Text> = checks.collect();
    if checks.is_empty() {
        let rest = if rule.holds { ": no other rule holds" } else { "" };
        return Text::from(format!("{holds}{rest}"));
    }
    Text::from(format!("{holds}: ")).and(Text::joined(checks, "; "))
}

/// Returns the doubts that apply, and the alternatives that were considered.
fn confidence(why: &Reasons) -> Rows {
    let mut rows = Rows::new();
    let applied = |rule: &&AskedRule| why.doubts.iter().any(|doubt| doubt.doubt == rule.rule);
    let doubts: Vec<&AskedRule> = why.doubts_asked.iter().filter(applied).collect();
    let others = why.doubts_asked.len() - doubts.len();
    for doubt in &why.doubts {
        let rule = doubts.iter().find(|rule| rule.rule == doubt.doubt);
        let reason = rule.map_or_else(Text::new, |rule| asked(rule));
        let leaves = Text::from("lowers it to ").and(verdict::confidence(doubt.leaves));
        let reason = if reason.is_empty() { leaves } else { leaves.and(": ").and(reason) };
        rows.push(doubt.doubt, reason);
    }
    rows.push("other doubts", Text::from(figures::count(others as u64)).and(" do not apply"));
    for rival in &why.rivals {
        let says = rival.says.as_ref();
        let says = says.map(|says| Text::from("may explain it as well: ").and(says));
        rows.push(rival.rival, says.unwrap_or_else(|| "does not explain it".into()));
    }
    rows
}

/// Returns the facts, a row for each group, without zeros.
fn facts(why: &Reasons) -> Rows {
    let mut rows = Rows::new();
    let known = why.facts.iter().filter(|fact| fact.value != 0.0);
    let known: Vec<(&str, Text)> = known
        .map(|fact| {
            let (group, name) = fact.name.split_once('.').unwrap_or(("", &fact.name));
            let value = Text::from(format!("{name} ")).and(figures::plain(fact.value, fact.unit));
            let error = fact.error.filter(|error| *error > 0.0);
            let error = error.map(|error| Text::from(" ± ").and(figures::plain(error, fact.unit)));
            (group, value.and(error.unwrap_or_default()))
        })
        .collect();
    for group in known.chunk_by(|(one, _), (next, _)| one == next) {
        let facts = group.iter().map(|(_, fact)| fact.clone());
        rows.push(group[0].0, Text::joined(facts, ", "));
    }
    rows
}

fn thresholds(why: &Reasons) -> Rows {
    let mut rows = Rows::new();
    for line in &why.thresholds {
        rows.push(line.name, figures::plain(line.value, line.unit).and(": ").and(line.meaning));
    }
    rows
}
