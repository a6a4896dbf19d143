//! Sets of verdicts whose truth is known, as tables for the documentation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A verdict beside the truth.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) truth: String,
    pub(crate) named: String,
    pub(crate) confidence: String,
    pub(crate) right: bool,
    /// Source of the verdict.
    pub(crate) of: String,
}

/// Verdicts of one source.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) name: &'static str,
    what: &'static str,
    all: Vec<Judged>,
}

const CONFIDENCES: [&str; 3] = ["high", "medium", "low"];

impl Set {
    pub(crate) fn new(name: &'static str, what: &'static str) -> Self {
        Self { name, what, all: Vec::new() }
    }

    pub(crate) fn add(&mut self, judged: Judged) {
        self.all.push(judged);
    }

    /// Returns the number of right verdicts of this confidence, and of all.
    pub(crate) fn of(&self, confidence: &str) -> (u64, u64) {
        let of = self.all.iter().filter(|one| one.confidence == confidence);
        of.fold((0, 0), |(right, all), one| (right + u64::from(one.right), all + 1))
    }

    /// The wrong ones of this confidence.
    pub(crate) fn wrong(&self, confidence: &str) -> String {
        let wrong = self.all.iter().filter(|one| one.confidence == confidence && !one.right);
        wrong
            .map(|Judged { truth, named, of, .. }| format!("{truth}, not {named}: {of}\n"))
            .collect()
    }

    /// By truth: how many are right, and what the rest was called.
    fn confusion(&self) -> BTreeMap<&str, Row<'_>> {
        let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
        for one in &self.all {
            let row = rows.entry(&one.truth).or_default();
            row.all += 1;
            if one.right {
                row.right += 1;
            } else if one.named == "unknown" {
                row.unknown += 1;
            } else {
                *row.others.entry((&one.named, &one.confidence)).or_default() += 1;
            }
        }
        rows
    }
}

#[derive(Default)]
struct Row<'a> {
    all: u64,
    right: u64,
    unknown: u64,
    others: BTreeMap<(&'a str, &'a str), u64>,
}

/// Returns the table of all sets, by confidence.
pub(crate) fn by_confidence(sets: &[Set]) -> String {
    let mut text = String::from(
        "Right verdicts by confidence:\n\n| set | what | high | medium | low |\n\
         |---|---|---|---|---|\n",
    );
    for set in sets {
        let cells = CONFIDENCES.map(|confidence| {
            let (right, all) = set.of(confidence);
            if all == 0 {
                "none".to_owned()
            } else {
                format!("{right} of {all}, {:.1} %", 100.0 * right as f64 / all as f64)
            }
        });
        let _ = writeln!(text, "| {} | {} | {} |", set.name, set.what, cells.join(" | "));
    }
    text
}

/// Returns the table of each set: what the transfers of each truth were named.
pub(crate) fn named(sets: &[Set]) -> String {
    let mut text = String::new();
    for set in sets.iter().filter(|set| !set.all.is_empty()) {
        let _ = writeln!(
            text,
            "\n## {}\n\n| truth | all | right | `unknown` | other, with its \
             confidence |\n|---|---|---|---|---|",
            set.name
        );
        for (truth, row) in set.confusion() {
            let others = row
                .others
                .iter()
                .map(|((named, confidence), count)| format!("{count} × `{named}` ({confidence})"));
            let others: Vec<String> = others.collect();
            let Row { all, right, unknown, .. } = row;
            let _ = writeln!(
                text,
                "| `{truth}` | {all} | {right} | {unknown} | {} |",
                others.join(", ")
            );
        }
    }
    text
}
