//! Prints a line for the largest connection of each capture: its verdict, confidence, share,
//! rate and the rates that its remedies promise by law. Compare the output of two source trees with
//! `diff`.
//!
//!     cargo run --release -p windlass-capture --example verdicts -- tests/corpus/*.pcap.gz
//!
//! With `--each-threshold` first, each threshold of the table is set to 0.8 and to 1.2 times its
//! value, one at a time. A row counts the captures whose cause, confidence, or promise changes
//! (crates/windlass-trace/notes.md has the output).
//!
//! With `--facts` first, each line has all facts as `name=value`, instead of the rates.
//!
//! A file named `LIST` has a line for each capture of its folder: the file, a tab, and the right
//! verdicts as a shell pattern. Each output line then begins with `right` or `wrong`, and a summary
//! follows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use windlass_base::Cause;
use windlass_base::thresholds::{self, Line, ThresholdUnit};
use windlass_capture::{ReadCapture, ReadSettings, read};
use windlass_trace::report::{Remedy, Verdict};
use windlass_trace::{Analysis, Keep, Reasons, Transfer, WaitSelection};
use windlass_wire::{ConnectionFilter, PacketRange};

fn main() {
    if std::env::args().nth(1).is_some_and(|first| first == "--each-threshold") {
        return each_threshold();
    }
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let tells_facts = arguments.first().is_some_and(|first| first == "--facts");
    if tells_facts {
        arguments.remove(0);
    }
    let mut tally: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for argument in arguments {
        for (path, pattern) in captures(Path::new(&argument)) {
            let name =
                path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
            let Some((transfer, read)) = largest(&path) else {
                println!("{name}\tno connection");
                continue;
            };
            let verdict = verdict(&transfer, &read);
            let cause = verdict.cause.to_string();
            let named = if cause.contains('/') { cause.clone() } else { format!("{cause}/") };
            let line = if tells_facts {
                facts(&verdict, &reasons(&transfer, &read))
            } else {
                line(&verdict)
            };
            let Some(pattern) = pattern else {
                println!("{name}\t{line}");
                continue;
            };
            let mark = if matches(&pattern, &named) { "right" } else { "wrong" };
            let confidence = format!("{:?}", verdict.confidence).to_lowercase();
            *tally.entry((mark, confidence)).or_default() += 1;
            println!("{mark}\t{name}\t{line}");
        }
    }
    for ((mark, confidence), count) in tally {
        println!("{mark}, {confidence}: {count}");
    }
}

/// Prints what each threshold decides.
fn each_threshold() {
    let arguments: Vec<_> = std::env::args_os().skip(2).collect();
    let files = arguments.iter().flat_map(|argument| captures(Path::new(argument)));
    let files: Vec<PathBuf> = files.map(|(path, _)| path).collect();
    let judge = || -> Vec<Option<Verdict>> {
        files.iter().map(|file| largest(file).map(|(one, read)| verdict(&one, &read))).collect()
    };
    let usual = judge();
    println!("| threshold | value | at 0.8: causes, confidences, promises | at 1.2 |");
    println!("|---|---|---|---|");
    for Line { name, value, unit, .. } in thresholds::all() {
        let changed = [0.8, 1.2].map(|factor| {
            // A count changes by one at least.
            let count = |value: f64| if factor < 1.0 { value.floor() } else { value.ceil() };
            let least = if factor < 1.0 { value - 1.0 } else { value + 1.0 };
            let other = match unit {
                ThresholdUnit::Count if count(value * factor) == value => least,
                ThresholdUnit::Count => count(value * factor),
                ThresholdUnit::Ratio | ThresholdUnit::Seconds => value * factor,
            };
            let now = thresholds::overriding(name, other, judge);
            differences(&usual, &now)
        });
        let [low, high] = changed
            .map(|[causes, confidences, promises]| format!("{causes}, {confidences}, {promises}"));
        println!(
            "| `{name}` | {value}{} | {low} | {high} |",
            if unit == ThresholdUnit::Seconds { " s" } else { "" }
        );
    }
}

/// Counts captures with another cause, else another confidence, else another promise.
fn differences(usual: &[Option<Verdict>], now: &[Option<Verdict>]) -> [u64; 3] {
    let mut found = [0; 3];
    for (one, other) in usual.iter().zip(now) {
        let (Some(one), Some(other)) = (one, other) else { continue };
        let promises = |verdict: &Verdict| line(verdict).rsplit('\t').next().map(str::to_owned);
        if one.cause != other.cause {
            found[0] += 1;
        } else if one.confidence != other.confidence {
            found[1] += 1;
        } else if promises(one) != promises(other) {
            found[2] += 1;
        }
    }
    found
}

/// Returns the captures that an argument names, with the right verdicts if a list has them.
fn captures(argument: &Path) -> Vec<(PathBuf, Option<String>)> {
    if argument.file_name().is_none_or(|name| name != "LIST") {
        return vec![(argument.to_owned(), None)];
    }
    let text = std::fs::read_to_string(argument).expect("the list can be read");
    let folder = argument.parent().unwrap_or(Path::new(""));
    let rows = text.lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let (file, pattern) = (columns.next()?, columns.next()?);
        Some((folder.join(file), Some(pattern.trim().to_owned())))
    });
    rows.collect()
}

/// Returns the largest connection, and its capture.
fn largest(path: &Path) -> Option<(Transfer, ReadCapture)> {
    let mut analysis = Analysis::new(Keep::Largest(1), ());
    let filter = ConnectionFilter::default();
    let reading = ReadSettings {
        file: path,
        filter,
        range: PacketRange::default(),
        follow: false,
        doing: "explain",
    };
    let stop = Arc::new(AtomicBool::new(false));
    let read = read(&reading, &stop, |_, _| {}, &mut analysis).ok()?;
    let (connections, _) = analysis.analyzer.finish();
    Some((connections.into_iter().next()?, read))
}

fn drops(transfer: &Transfer, read: &ReadCapture) -> Option<u64> {
    let (began, ended) = transfer.lived();
    read.info().drops_between(began, ended)
}

fn verdict(transfer: &Transfer, read: &ReadCapture) -> Verdict {
    transfer.report(|end| read.name(end), drops(transfer, read)).verdict
}

fn reasons(transfer: &Transfer, read: &ReadCapture) -> Reasons {
    transfer.why(|end| read.name(end), drops(transfer, read), WaitSelection::Costliest(0))
}

fn facts(verdict: &Verdict, reasons: &Reasons) -> String {
    let joined = |causes: &[Cause]| {
        let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
        causes.join("|")
    };
    let confidence = format!("{:?}", verdict.confidence).to_lowercase();
    let mut fields = vec![verdict.cause.to_string(), confidence, joined(&verdict.between)];
    let causes = reasons.causes.iter();
    fields.extend(causes.map(|one| format!("share.{}={:.4}", one.cause, one.share)));
    let rivals = reasons.rivals.iter().filter(|rival| rival.says.is_some());
    fields.extend(rivals.map(|one| format!("rival.{}=1", one.rival)));
    fields.extend(reasons.doubts.iter().map(|one| format!("doubt.{}=1", one.doubt)));
    fields.extend(reasons.facts.iter().map(|fact| format!("{}={:.6e}", fact.name, fact.value)));
    fields.join("\t")
}

fn line(verdict: &Verdict) -> String {
    let promised = |remedy: &Remedy| {
        let bound = remedy.at_most_bytes_per_second.map(|rate| format!("<={rate}"));
        remedy.expected_bytes_per_second.map(|rate| rate.to_string()).or(bound)
    };
    let promises: Vec<String> = verdict.remedies.iter().filter_map(promised).collect();
    format!(
        "{}\t{:?}\t{:.2}\t{}\t{}",
        verdict.cause,
        verdict.confidence,
        verdict.share,
        verdict.measured_bytes_per_second,
        promises.join(" ")
    )
}

/// Returns whether `text` matches a shell pattern. `*` matches anything, and `@(a|b)` matches `a`
/// or `b`, which may be patterns themselves.
fn matches(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return text.is_empty() };
    if let Some(group) = pattern.strip_prefix("@(") {
        let mut depth = 1;
        let mut from = 0;
        let mut choices = Vec::new();
        for (at, letter) in group.char_indices() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if depth == 0 || depth == 1 && letter == '|' {
                choices.push(&group[from..at]);
                from = at + 1;
            }
            if depth == 0 {
                break;
            }
        }
        return choices.iter().any(|choice| matches(&format!("{choice}{}", &group[from..]), text));
    }
    let pattern = &pattern[first.len_utf8()..];
    if first == '*' {
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        return ends.into_iter().any(|at| matches(pattern, &text[at..]));
    }
    text.strip_prefix(first).is_some_and(|text| matches(pattern, text))
}
