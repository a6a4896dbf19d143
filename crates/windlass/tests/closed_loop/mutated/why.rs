//! Invariants between a report and its reasons (`--why`), for any capture.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_base::Span;
use windlass_trace::Reasons;
use windlass_trace::report::{Confidence, ConnectionReport};

use super::audit::{Audit, PacketSums};

/// Sums of floating-point numbers may be off by so much.
const ROUNDING: f64 = 1e-6;
/// Times are cut to the nanosecond where a wait is parted.
const SLACK: Span = Span::from_micros(1);

/// The rules that the reasons of a report break.
pub(super) fn reasons(
    report: &ConnectionReport,
    why: &Reasons,
    seen: &PacketSums,
    audit: &mut Audit,
) {
    causes(report, why, audit);
    waits(why, seen, audit);
    doubts(report, why, audit);
    facts(why, audit);
    let json = serde_json::to_value(why).unwrap();
    unknown_figures(&json, audit);
}

/// The named cause and the causes with their times are those of the report.
fn causes(report: &ConnectionReport, why: &Reasons, audit: &mut Audit) {
    let named = (why.cause, why.confidence);
    let told = (report.verdict.cause, report.verdict.confidence);
    audit.holds(named == told, "reasons are of the verdict", || format!("{named:?}, not {told:?}"));
    for one in &why.causes {
        let share = report.causes.get(&one.cause.to_string()).copied().unwrap_or_default();
        let same = (share - one.share).abs() < ROUNDING;
        audit.holds(same, "causes of the reasons have their shares", || {
            format!("{} {}, not {share}", one.cause, one.share)
        });
        let through: Span = one.rules.iter().map(|rule| rule.seconds).sum();
        let off = (through - one.seconds).max(one.seconds - through);
        audit.holds(off <= SLACK, "a cause's time went through its rules", || {
            format!("{}: {through} of {} by {:?}", one.cause, one.seconds, one.rules)
        });
    }
    audit.holds(why.causes.len() == report.causes.len(), "all causes have reasons", || {
        format!("{} of {}", why.causes.len(), report.causes.len())
    });
}

fn waits(why: &Reasons, seen: &PacketSums, audit: &mut Audit) {
    let numbers: BTreeSet<u64> = why.waits.iter().map(|wait| wait.number).collect();
    let some = numbers.last().copied().unwrap_or_default() <= why.waits_in_all;
    audit.holds(some && numbers.len() == why.waits.len(), "a wait is told of once", || {
        format!("{} of {}, {} numbers", why.waits.len(), why.waits_in_all, numbers.len())
    });
    let charged = why.waits.iter().rev().map(|wait| wait.charged);
    audit.holds(charged.is_sorted(), "the costliest waits come first", || {
        format!("{:?}", why.waits)
    });
    for wait in &why.waits {
        let ordered = wait.end >= wait.start && wait.first_packet <= wait.last_packet;
        audit.holds(ordered, "a wait runs forwards", || format!("{wait:?}"));
        let parts: Span = wait.parts.iter().map(|part| part.seconds).sum();
        let within = wait.charged >= Span::ZERO && parts == wait.charged;
        audit.holds(within, "parts of a wait sum to it", || {
            format!("{parts} of {} of wait {}", wait.charged, wait.number)
        });
        let there = [wait.first_packet, wait.last_packet].map(|packet| seen.has(packet));
        audit.holds(there == [true; 2], "packets of a wait are its connection's", || {
            format!("{} and {} of wait {}", wait.first_packet, wait.last_packet, wait.number)
        });
        let named = wait.asked.iter().any(|asked| asked.rule == wait.rule && asked.holds);
        audit.holds(named, "the rule that named a wait held", || {
            format!("{} of wait {}", wait.rule, wait.number)
        });
    }
}

/// The confidence is what the doubts leave.
fn doubts(report: &ConnectionReport, why: &Reasons, audit: &mut Audit) {
    let left = why.doubts.iter().map(|doubt| doubt.leaves).min().unwrap_or(Confidence::High);
    audit.holds(why.confidence == left, "the confidence is what doubts leave", || {
        format!("{:?}, and {left:?} by {:?}", why.confidence, why.doubts)
    });
    let asked = why.doubts_asked.iter().filter(|doubt| doubt.holds).count();
    audit.holds(asked <= why.doubts.len(), "a doubt that holds applies", || {
        format!("{asked} hold of {:?}", why.doubts)
    });
    let explains = why.rivals.iter().any(|rival| rival.says.is_some());
    let told = report.verdict.caveats.iter();
    let told = told.filter(|caveat| caveat.id == windlass_base::verdict::CaveatId::OtherPace);
    audit.holds(explains == (told.count() > 0), "a rival that may hold is a caveat", || {
        format!("{:?}", why.rivals)
    });
}

fn facts(why: &Reasons, audit: &mut Audit) {
    let mut names = BTreeSet::new();
    for fact in &why.facts {
        let finite = fact.value.is_finite() && fact.error.is_none_or(f64::is_finite);
        audit.holds(finite, "a fact is a number", || format!("{fact:?}"));
        audit.holds(names.insert(&fact.name), "a fact has one name", || fact.name.clone());
    }
    let asked = why.waits.iter().flat_map(|wait| &wait.asked).chain(&why.doubts_asked);
    for check in asked.flat_map(|rule| &rule.checks) {
        let finite = [check.figure, check.bound].into_iter().flatten().all(f64::is_finite);
        audit.holds(finite, "a condition asks of numbers", || check.text.to_string());
        let known = check.threshold.is_none_or(|name| {
            why.thresholds.iter().any(|line| line.name == name && line.value.is_finite())
        });
        audit.holds(known, "a threshold that is named is told", || check.text.to_string());
    }
}

/// JSON has null for what is no number.
fn unknown_figures(json: &Value, audit: &mut Audit) {
    const NEVER_NULL: [&str; 6] = ["seconds", "share", "value", "start", "end", "charged"];
    match json {
        Value::Object(members) => {
            for (name, value) in members {
                let known = !value.is_null() || !NEVER_NULL.contains(&name.as_str());
                audit.holds(known, "figures of the JSON are numbers", || json.to_string());
                unknown_figures(value, audit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| unknown_figures(item, audit)),
        _ => {}
    }
}
