//! The numbers that verdicts rest on are lines of the table of thresholds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use windlass_testkit::repository;

/// Factors and times that decide nothing about a verdict: the time for which a connection is known
/// after its end, the most that steps of a clock are followed, the least time that earns a note,
/// the error of sums, and a step of a search.
const LOCAL: &[&str] = &["LINGER", "MAX_STEPPED", "NOTABLE_LATENCY", "ROUNDING", "STEP"];

#[test]
fn factors_and_times_of_judging_are_lines_of_the_table_of_thresholds() {
    let mut found = BTreeSet::new();
    let trace = ["follow", "estimate", "quality", "judge", "report"];
    let trace = trace.map(|folder| format!("crates/windlass-trace/src/{folder}"));
    for folder in trace.into_iter().chain(["crates/windlass-base/src/live".to_owned()]) {
        for path in files(&repository(&folder)) {
            if path.ends_with("judge/fixture.rs") {
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            let (code, _) = source.split_once("\nmod tests {").unwrap_or((&source, ""));
            for line in code.lines() {
                let constant = line.split_once("const ").and_then(|(_, it)| it.split_once(": "));
                let Some((name, kind)) = constant else { continue };
                if kind.starts_with("f64 =") || kind.starts_with("Span =") {
                    let is_local = LOCAL.contains(&name);
                    assert!(is_local, "{}: {name} belongs to the table", path.display());
                    found.insert(name.to_owned());
                }
            }
        }
    }
    assert!(!found.is_empty(), "no constant was read");
}

/// Returns the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
