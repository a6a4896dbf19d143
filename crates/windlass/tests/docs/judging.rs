//! The pages on judging have the rules, the doubts, the rivals and the thresholds of the code.
//!
//! `cargo test -p windlass --test docs -- --ignored write_limits` writes them. Names, order and
//! words come from the source files, values from the table of thresholds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use windlass_base::thresholds::{self, Line, ThresholdUnit};
use windlass_base::{Cause, Limit};
use windlass_output::figures::plain;

use windlass_testkit::{marked, repository};

const RULES: &str = "docs/rules.md";
const THRESHOLDS: &str = "docs/thresholds.md";

/// The folder of the code that judges.
const JUDGE: &str = "crates/windlass-trace/src/judge";

/// The folder of the table of thresholds, whose comments head its groups. Its files do not count
/// among the users of thresholds.
const OF_THRESHOLDS: &str = "crates/windlass-base/src/thresholds";

/// The folder that paths in the table of thresholds are relative to.
const TRACE: &str = "crates/windlass-trace/src/";

/// A generated part of a page, between two markers.
struct Part {
    page: &'static str,
    name: &'static str,
    text: String,
}

/// A constant of a source file.
struct Constant {
    /// The file's name without its ending.
    file: String,
    name: String,
    kind: String,
    /// The doc comment.
    about: String,
    /// The text behind the equals sign.
    text: String,
}

/// An item of a list in a source file.
struct Item {
    /// The comment above it.
    above: String,
    text: String,
}

/// A row on a reason to doubt, with the causes that it is about.
#[derive(PartialEq)]
struct Row {
    name: String,
    about: String,
    causes: Vec<String>,
}

/// The constants of the code that judges.
struct Code(Vec<Constant>);

impl Part {
    fn marks(&self) -> [String; 2] {
        let name = self.name;
        [
            format!("<!-- {name}: written by `write_limits` -->\n"),
            format!("<!-- end of {name} -->\n"),
        ]
    }
}

impl Constant {
    /// Returns the text behind a key, up to its end.
    fn field(&self, key: &str, end: char) -> &str {
        let (_, behind) = self.text.split_once(key).unwrap_or_default();
        behind.split(end).next().unwrap_or_default()
    }

    /// Returns the name that `--why` prints.
    fn id(&self) -> &str {
        self.field("name: \"", '"')
    }

    /// Returns the words about it: the doc comment, or its name where it has none.
    fn words(&self) -> String {
        words(&self.about, self.id())
    }
}

impl Code {
    fn read() -> Self {
        let mut found = Vec::new();
        for (path, text) in sources(JUDGE) {
            let file = Path::new(&path).file_stem().unwrap().to_string_lossy();
            found.extend(constants(&file, &text));
        }
        Self(found)
    }

    /// Returns the constant that a path names in a file: its own, that of another module, or the
    /// one of that name.
    fn named(&self, path: &str, file: &str) -> &Constant {
        let mut parts = path.rsplit("::");
        let name = parts.next().unwrap_or_default();
        let file = parts.next().unwrap_or(file);
        let same = || self.0.iter().filter(|one| one.name == name);
        let found = same().find(|one| one.file == file).or_else(|| same().next());
        found.unwrap_or_else(|| panic!("{path} of {file} is not among the constants of {JUDGE}"))
    }

    /// Returns the hypotheses, in the order of their causes.
    fn hypotheses(&self) -> Vec<(String, &Constant)> {
        let all = self.0.iter().filter(|one| one.kind == "Hypothesis");
        let mut all: Vec<(Cause, &Constant)> =
            all.map(|one| (cause(one.field("cause: Cause::", ',')), one)).collect();
        all.sort_by_key(|(cause, _)| Cause::ALL.iter().position(|one| one == cause));
        all.into_iter().map(|(cause, one)| (cause.to_string(), one)).collect()
    }

    /// Returns the rules that name waits, a table for each group.
    fn rules(&self) -> String {
        let mut text = String::new();
        for Item { above, text: path } in items(&self.named("NAMES", "rules").text) {
            if !above.is_empty() || text.is_empty() {
                let _ = write!(text, "\n{above}\n\n| rule | names | when |\n|---|---|---|\n");
            }
            let rule = self.named(&path, "rules");
            let cause = cause(rule.field("cause: Cause::", ','));
            text.push_str(&row(&[code(rule.id()), code(&cause.to_string()), rule.words()]));
        }
        text
    }

    /// Returns the rules that take time from a cause, in the order in which a wait goes through
    /// them.
    fn takings(&self) -> String {
        let naming = fs::read_to_string(repository(JUDGE).join("naming.rs")).unwrap();
        let asked = naming.split("rules::take(").skip(1);
        let lists = asked.filter_map(|call| {
            let list = call.split(", cause").next().unwrap_or_default().trim();
            let is_name = list.chars().all(|one| one.is_ascii_uppercase() || one == '_');
            let list = if is_name { &self.named(list, "rules").text } else { list };
            list.contains('[').then(|| items(list))
        });
        let asked = (1..).zip(lists).flat_map(|(step, list)| {
            list.into_iter().map(move |item| (step.to_string(), self.named(&item.text, "rules")))
        });
        // A rule that no list names stands behind the others.
        let all = self.0.iter().filter(|one| one.kind == "TakeoverRule");
        let asked = asked.chain(all.map(|taking| (String::new(), taking)));
        let mut text =
            "\n| step | rule | takes from | gives to | when |\n|---|---|---|---|---|\n".to_owned();
        let mut told = BTreeSet::new();
        for (step, taking) in asked {
            if told.insert((&taking.file, &taking.name)) {
                let (_, from) = taking.text.split_once("from: ").unwrap_or_default();
                let from = causes(from.split(" to: ").next().unwrap_or_default());
                let to = code(&cause(taking.field(" to: Cause::", ',')).to_string());
                text.push_str(&row(&[step, code(taking.id()), from, to, taking.words()]));
            }
        }
        text
    }

    /// Returns the doubts: those about any verdict, then those about some causes.
    fn doubts(&self) -> String {
        let mut text = "\n| doubt | leaves | verdicts | why |\n|---|---|---|---|\n".to_owned();
        for (list, leaves) in [("LOW", "low"), ("MEDIUM", "medium")] {
            for Item { above, text: item } in items(&self.named(list, "confidence").text) {
                let (name, about) = match item.split('"').nth(1) {
                    Some(name) => (name.to_owned(), words(&above, name)),
                    None => {
                        let doubt = self.named(&item, "confidence");
                        (doubt.id().to_owned(), doubt.words())
                    }
                };
                text.push_str(&row(&[code(&name), leaves.to_owned(), "any".to_owned(), about]));
            }
        }
        for Row { name, about, causes } in self.of_causes("doubts: &") {
            text.push_str(&row(&[code(&name), "medium".to_owned(), causes.join(", "), about]));
        }
        text
    }

    /// Returns the rivals, by the causes that they stand against.
    fn rivals(&self) -> String {
        let mut text = "\n| rival | verdicts | what it says |\n|---|---|---|\n".to_owned();
        for Row { name, about, causes } in self.of_causes("rivals: &") {
            text.push_str(&row(&[code(&name), causes.join(", "), about]));
        }
        text
    }

    /// Returns a row for each constant that the hypotheses list under a key.
    fn of_causes(&self, key: &str) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for (cause, hypothesis) in self.hypotheses() {
            for Item { text: path, .. } in items(hypothesis.field(key, ']')) {
                let one = self.named(&path, &hypothesis.file);
                let (name, about) = (one.id().to_owned(), one.words());
                match rows.iter_mut().find(|row| row.name == name && row.about == about) {
                    Some(row) => row.causes.push(code(&cause)),
                    None => rows.push(Row { name, about, causes: vec![code(&cause)] }),
                }
            }
        }
        rows
    }
}

/// Returns the thresholds, a table for each group, with the files that use them.
fn table_of_thresholds() -> String {
    let groups = groups();
    let users: Vec<(String, String)> = sources("crates")
        .into_iter()
        .filter(|(path, text)| !path.starts_with(OF_THRESHOLDS) && text.contains("thresholds"))
        .collect();
    let mut text = String::new();
    let mut last = None;
    for Line { name, value, unit, meaning } in thresholds::all() {
        let group = groups.get(name).map_or("", String::as_str);
        if last != Some(group) {
            let _ = write!(text, "\n## {group}\n\n| name | value | meaning | used in |\n");
            text.push_str("|---|---|---|---|\n");
            last = Some(group);
        }
        let users = users.iter().filter(|(_, text)| uses(text, name));
        let users: Vec<String> = users.map(|(path, _)| code(path)).collect();
        let users = match users.join(", ").replace(TRACE, "") {
            none if none.is_empty() => "no rule".to_owned(),
            users => users,
        };
        let value = plain(value, (unit == ThresholdUnit::Seconds).then_some("s")).plain();
        let value = if unit == ThresholdUnit::Ratio && value.contains('.') {
            value.trim_end_matches('0').to_owned()
        } else {
            value
        };
        text.push_str(&row(&[code(name), value, words(meaning, name), users]));
    }
    text
}

/// Returns the group of each threshold.
fn groups() -> BTreeMap<String, String> {
    let (mut groups, mut group, mut is_open) = (BTreeMap::new(), String::new(), false);
    for line in sources(OF_THRESHOLDS).iter().flat_map(|(_, source)| source.lines()) {
        if let Some(comment) = line.strip_prefix("    // ") {
            group = if is_open { format!("{group} {comment}") } else { comment.to_owned() };
            is_open = true;
            continue;
        }
        is_open = false;
        let name = line.trim_start().split(':').next().unwrap_or_default();
        groups.insert(name.to_owned(), group.trim_end_matches('.').to_owned());
    }
    groups
}

/// Returns whether a source file uses a threshold, and has no constant of its own by that name.
fn uses(source: &str, name: &str) -> bool {
    let is_part = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let is_word = source.match_indices(name).any(|(at, _)| {
        !source[..at].ends_with(is_part) && !source[at + name.len()..].starts_with(is_part)
    });
    is_word && !source.contains(&format!("const {name}:"))
}

/// Returns the source files below a folder without their tests, by path.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(repository(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            if entry.path().is_dir() {
                // Of a crate only its sources.
                let is_crate = folder.matches('/').count() == 1;
                if name != "tests" && (!is_crate || name == "src") {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = fs::read_to_string(entry.path()).unwrap();
                let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
                found.push((path, text.to_owned()));
            }
        }
    }
    found.sort();
    found
}

/// Returns the constants of a source file.
fn constants(file: &str, source: &str) -> Vec<Constant> {
    let mut found: Vec<Constant> = Vec::new();
    let (mut about, mut is_open) = (String::new(), false);
    for line in source.lines() {
        if line.is_empty() || line.starts_with([' ', '}', ']', ')']) {
            if is_open && let Some(last) = found.last_mut() {
                let _ = writeln!(last.text, "{line}");
            }
        } else if let Some(doc) = line.strip_prefix("///") {
            is_open = false;
            about = format!("{about} {}", doc.trim());
        } else if !line.starts_with("#[") {
            let declared = line.split_once("const ").filter(|(before, _)| {
                before.is_empty() || before.starts_with("pub") && !before.contains("//")
            });
            let declared = declared.and_then(|(_, rest)| rest.split_once(": "));
            is_open = declared.is_some();
            if let Some((name, rest)) = declared {
                let (kind, text) = rest.split_once(" =").unwrap_or((rest, ""));
                found.push(Constant {
                    file: file.to_owned(),
                    name: name.to_owned(),
                    kind: kind.to_owned(),
                    about: about.trim().to_owned(),
                    text: format!("{}\n", text.trim_start()),
                });
            }
            about.clear();
        }
    }
    found
}

/// Returns the items of a list, each with the comment above it.
fn items(list: &str) -> Vec<Item> {
    let inner = list.trim().trim_end_matches(';').trim_end_matches(']');
    let inner = inner.split_once('[').map_or("", |(_, inner)| inner);
    let (mut found, mut above, mut text) = (Vec::new(), String::new(), String::new());
    let mut depth = 0;
    for line in inner.lines() {
        if let Some(comment) = line.trim_start().strip_prefix("// ") {
            if depth == 0 {
                above = format!("{above} {comment}").trim().to_owned();
            }
            continue;
        }
        for one in line.chars() {
            match one {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                _ => {}
            }
            if one == ',' && depth == 0 {
                found
                    .push(Item { above: std::mem::take(&mut above), text: text.trim().to_owned() });
                text.clear();
            } else {
                text.push(one);
            }
        }
    }
    if !text.trim().is_empty() {
        found.push(Item { above, text: text.trim().to_owned() });
    }
    found
}

/// Returns the cause that the code calls so.
fn cause(name: &str) -> Cause {
    let found = Cause::ALL.iter().find(|one| format!("{one:?}") == name);
    *found.unwrap_or_else(|| panic!("there is no Cause::{name}"))
}

/// Returns the causes that a piece of code names.
fn causes(source: &str) -> String {
    let named = |name: &str, of: &str| {
        let end = of.find(|one: char| !one.is_ascii_alphanumeric()).unwrap_or(of.len());
        of[..end] == *name
    };
    let mut found = Vec::new();
    for cause in Cause::ALL {
        let name = format!("{cause:?}");
        if source.split("Cause::").skip(1).any(|behind| named(&name, behind)) {
            found.push(code(&cause.to_string()));
        }
    }
    for limit in Limit::ALL {
        let name = format!("{limit:?}");
        if source.split("Limit::").skip(1).any(|behind| named(&name, behind)) {
            found.push(code(limit.id()));
        }
    }
    let is_negated = source.contains("!=") || source.contains("!matches!");
    match found.join(", ") {
        all if all.is_empty() => "any".to_owned(),
        all if is_negated => format!("any but {all}"),
        all => all,
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Returns a comment as a cell has it, or the name in its place where there is none.
fn words(comment: &str, name: &str) -> String {
    let comment = comment.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if comment.is_empty() { name.replace('-', " ") } else { comment };
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let text: String = first.chain(letters).collect();
    let text = text.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
    if text.ends_with('.') { text } else { format!("{text}.") }
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn parts() -> [Part; 5] {
    let code = Code::read();
    let part = |page, name, text: String| Part { page, name, text: format!("{text}\n") };
    [
        part(RULES, "rules", code.rules()),
        part(RULES, "takings", code.takings()),
        part(RULES, "doubts", code.doubts()),
        part(RULES, "rivals", code.rivals()),
        part(THRESHOLDS, "thresholds", table_of_thresholds()),
    ]
}

#[test]
fn the_pages_have_the_rules_and_thresholds_of_the_code() {
    for part in parts() {
        let page = fs::read_to_string(repository(part.page)).unwrap();
        let marks = part.marks();
        let there = marked::part(&page, marks.each_ref().map(String::as_str));
        let again = "cargo test -p windlass --test docs -- --ignored write_limits";
        let (page, name) = (part.page, part.name);
        assert!(there == part.text, "{page} has other {name} than the code; write them: {again}");
    }
}

#[test]
#[ignore = "writes the tables of docs/rules.md and docs/thresholds.md again"]
fn write_limits() {
    for part in parts() {
        let page = fs::read_to_string(repository(part.page)).unwrap();
        let marks = part.marks();
        let text = marked::with_part(&page, marks.each_ref().map(String::as_str), &part.text);
        fs::write(repository(part.page), text).unwrap();
    }
}
