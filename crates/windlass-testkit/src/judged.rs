//! Captures with the verdicts that are right for each, listed in a file beside them.

use std::path::{Path, PathBuf};

use super::captures::shared_if_there;

/// Entry of a file `LIST`.
#[derive(Debug)]
pub struct JudgedCapture {
    /// File name of the capture.
    pub file: String,
    /// Path of the capture.
    pub path: PathBuf,
    /// Pattern of the correct verdicts, for [`matches()`].
    pub wanted: String,
}

/// Returns the captures of a folder, in the order of its `LIST`.
pub fn listed(folder: &Path) -> Vec<JudgedCapture> {
    let text = std::fs::read_to_string(folder.join("LIST")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut fields = line.split('\t');
            let (file, wanted) = (fields.next().unwrap(), fields.next().unwrap());
            JudgedCapture {
                file: file.to_owned(),
                path: folder.join(file),
                wanted: wanted.trim().to_owned(),
            }
        })
        .collect()
}

/// Returns the captures that others made; none if they are missing.
pub fn wild() -> Vec<JudgedCapture> {
    shared_if_there("captures/wild").map_or_else(Vec::new, |folder| listed(&folder))
}

/// Returns a verdict in the form of the patterns: `limit/because`, or `limit/` without a cause.
pub fn named(limit: &str, because: Option<&str>) -> String {
    format!("{limit}/{}", because.unwrap_or_default())
}

/// Returns whether `text` matches a shell pattern.
///
/// `*` matches any text. `@(a|b)` matches one of `a` and `b`, which may be patterns themselves.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return text.is_empty() };
    if let Some(group) = pattern.strip_prefix("@(") {
        let (choices, rest) = choices(group);
        return choices.iter().any(|choice| matches(&format!("{choice}{rest}"), text));
    }
    let pattern = &pattern[first.len_utf8()..];
    if first == '*' {
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        return ends.into_iter().any(|at| matches(pattern, &text[at..]));
    }
    text.strip_prefix(first).is_some_and(|text| matches(pattern, text))
}

/// Splits a group at its bars, up to the closing bracket. Returns the choices, and the rest after
/// the bracket.
fn choices(group: &str) -> (Vec<&str>, &str) {
    let (mut found, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => {
                found.push(&group[from..at]);
                return (found, &group[at + 1..]);
            }
            '|' if depth == 0 => {
                found.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    panic!("a group without an end: {group}");
}
