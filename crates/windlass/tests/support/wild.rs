//! The captures from the wild that are shared beside the repository, with the verdicts
//! that are right for each.

use std::path::PathBuf;

use super::captures::shared;

/// An entry of their `LIST`.
#[derive(Debug)]
pub struct Wild {
    pub file: String,
    pub path: PathBuf,
    /// Which verdicts are right, as a pattern ([`matches`]).
    pub wanted: String,
}

/// All of them, in the order of the list; none where they are not there, and the test says
/// that it is skipped.
pub fn wild(test: &str) -> Vec<Wild> {
    let Some(list) = shared("captures/wild/LIST", test) else { return Vec::new() };
    let folder = list.parent().unwrap().to_owned();
    let text = std::fs::read_to_string(list).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (file, wanted) = line.split_once('\t').unwrap();
            Wild {
                file: file.to_owned(),
                path: folder.join(file),
                wanted: wanted.trim().to_owned(),
            }
        })
        .collect()
}

/// A verdict as the list's patterns name it: `limit/because`, and `limit/` where there is
/// no reason.
pub fn named(limit: &str, because: Option<&str>) -> String {
    format!("{limit}/{}", because.unwrap_or_default())
}

/// Returns whether `text` matches a shell pattern: `*` matches anything, and `@(a|b)` matches one
/// of `a` and `b`, which may be patterns themselves.
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

/// Splits a group at its bars up to the closing bracket; returns the rest, too.
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
