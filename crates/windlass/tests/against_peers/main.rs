//! Compares reports with what tshark and tcptrace say of the same captures:
//! the corpus, and the public captures where they are there.
//!
//! Agreement is asserted. Where a tool is known to read a capture otherwise,
//! `known.rs` names it with the reason; a disagreement that is not named fails,
//! and so does a name for what agrees.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod known;
mod tcptrace;
mod tshark;
mod wild;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use known::{KNOWN, KnownDifference};
use serde_json::Value;
use windlass_testkit::captures::{Findings, corpus, explained, figure, name, public_captures};

/// Relation that a figure of ours must have to a tool's.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// Equality.
    Same,
    /// Ours finds all that the tool finds, and may find more; within an amount.
    NoLess(f64),
    /// Ours leaves out what the tool does not.
    NoMore,
    /// Within a share, or within an amount.
    Near(f64, f64),
}

impl Rule {
    fn holds(self, ours: f64, theirs: f64) -> bool {
        match self {
            Self::Same => (ours - theirs).abs() < 1e-9,
            Self::NoLess(amount) => ours >= theirs - amount,
            Self::NoMore => ours <= theirs + 3e-6,
            Self::Near(share, amount) => {
                let off = (ours - theirs).abs();
                off <= amount || off <= share * theirs.abs()
            }
        }
    }
}

/// A figure by both.
struct ComparedFigure {
    figure: &'static str,
    rule: Rule,
    ours: f64,
    theirs: f64,
}

/// Figures of a tool for a capture, connection by connection.
type Connections<'a> = Vec<(&'a Value, Option<Vec<ComparedFigure>>)>;

fn captures() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = corpus().into_iter().map(|entry| entry.path).collect();
    files.extend(public_captures());
    files
}

/// Compares all captures with one tool; `reads` gives the tool's figures beside
/// ours, or `None` for a file that it cannot read.
fn compare(
    tool: &'static str,
    reads: impl for<'a> Fn(&Path, &'a Value) -> Option<Connections<'a>> + Sync,
) {
    let mut findings = Findings::default();
    // How often each known disagreement was met; the files that were compared.
    let mut met: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let mut compared = Vec::new();
    let mut agreed = 0;
    let files = captures();
    let records: Vec<Value> = files.iter().map(|file| explained(file)).collect();
    // The tools take long: some run at once.
    let next = AtomicUsize::new(0);
    let read = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(at) else { return };
                    let connections = reads(file, &records[at]);
                    read.lock().unwrap().extend(connections.map(|found| (at, found)));
                }
            });
        }
    });
    for (at, connections) in read.into_inner().unwrap() {
        let name = name(&files[at]);
        let mut differs = |figure: &str, ours: String, theirs: String| {
            let known = KNOWN.iter().position(|known| known.covers(tool, figure, &name));
            match known {
                Some(at) => *met.entry((at, name.clone())).or_default() += 1,
                None => findings.add(&name, format!("{figure} by {tool}"), theirs, ours),
            }
        };
        for (connection, figures) in connections {
            let Some(figures) = figures else {
                differs("connection", connection["number"].to_string(), "none".to_owned());
                continue;
            };
            for ComparedFigure { figure, rule, ours, theirs } in figures {
                if rule.holds(ours, theirs) {
                    agreed += 1;
                } else {
                    differs(figure, ours.to_string(), theirs.to_string());
                }
            }
        }
        compared.push(name);
    }
    for (at, KnownDifference { figure, files, why, .. }) in
        KNOWN.iter().enumerate().filter(|(_, known)| known.tool == tool)
    {
        for file in files.iter().filter(|file| compared.iter().any(|name| name == *file)) {
            if !met.contains_key(&(at, (*file).to_owned())) {
                findings.add(file, format!("{figure} by {tool}"), format!("other: {why}"), "same");
            }
        }
    }
    findings.assert_none();
    assert!(agreed >= 500, "{agreed} figures were compared");
}

/// A figure of a report that must be there.
fn ours(report: &Value, pointer: &str) -> f64 {
    figure(report, pointer).unwrap_or(f64::NAN)
}

#[test]
fn reports_agree_with_tshark() {
    let test = "reports_agree_with_tshark";
    if windlass_testkit::has("tshark", test) {
        compare("tshark", tshark::compared);
    }
}

#[test]
fn reports_agree_with_tcptrace() {
    let test = "reports_agree_with_tcptrace";
    if windlass_testkit::has("tcptrace", test) {
        let folder = tempfile::tempdir().unwrap();
        compare("tcptrace", |file, record| tcptrace::compared(file, record, folder.path()));
    }
}

#[test]
fn every_known_disagreement_has_a_reason_and_is_told_once() {
    let mut told = std::collections::BTreeSet::new();
    for KnownDifference { tool, figure, files, why } in KNOWN {
        assert!(why.len() > 20 && why.ends_with('.'), "{why}");
        for file in *files {
            assert!(told.insert((tool, figure, file)), "{tool}, {figure}, {file}");
        }
    }
}
