//! Captures whose facts are known, and what the program says of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{repository, skipped, told, windlass};

/// A file of the folder that is shared beside the repository or its worktrees.
/// Where it is missing, the test says that it is skipped.
pub fn shared(path: &str, test: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = ["../../../shared", "../../../../shared"]
        .iter()
        .map(|folder| root.join(folder).join(path))
        .find(|file| file.exists());
    if found.is_none() {
        skipped(test, &format!("shared/{path} is not there"));
    }
    found
}

/// The public captures, by name.
pub fn public_captures(test: &str) -> Vec<PathBuf> {
    let Some(folder) = shared("captures", test) else { return Vec::new() };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "pcap" || end == "pcapng"))
        .collect();
    files.sort();
    files
}

/// A file's name without its folders.
pub fn name(file: &Path) -> String {
    file.file_name().unwrap().to_string_lossy().into_owned()
}

/// Returns the record of `windlass explain --all --json` for a file, with `more` arguments.
pub fn explained_with(file: &Path, more: &[&str]) -> Value {
    let output = windlass().args(["explain", "--json"]).args(more).arg(file).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{}", file.display());
    serde_json::from_str(&stdout).unwrap()
}

/// Returns the record of `windlass explain --all --json` for a file.
pub fn explained(file: &Path) -> Value {
    explained_with(file, &["--all"])
}

/// The connection of this number.
pub fn connection(record: &Value, number: u64) -> &Value {
    let all = record["connections"].as_array().unwrap();
    all.iter().find(|one| one["number"] == number).unwrap()
}

/// A number by its JSON pointer; `None` where it is null or not there.
pub fn figure(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer).and_then(Value::as_f64)
}

/// `limit/because`, or `limit` alone.
pub fn verdict(connection: &Value) -> String {
    let verdict = &connection["verdict"];
    let limit = verdict["limit"].as_str().unwrap();
    match verdict["because"].as_str() {
        Some(because) => format!("{limit}/{because}"),
        None => limit.to_owned(),
    }
}

/// The ids of a connection's caveats.
pub fn caveats(connection: &Value) -> Vec<&str> {
    let caveats = connection["verdict"]["caveats"].as_array().unwrap();
    caveats.iter().map(|caveat| caveat["id"].as_str().unwrap()).collect()
}

/// A value with its tolerance, a share of it.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    pub value: f64,
    pub tolerance: f64,
}

impl Fact {
    pub fn fits(self, got: f64) -> bool {
        (got - self.value).abs() <= self.value.abs() * self.tolerance + 1e-12
    }
}

/// An entry of `tests/corpus/corpus.toml`.
#[derive(Debug)]
pub struct Entry {
    pub file: String,
    pub path: PathBuf,
    pub capture_point: String,
    pub expected: String,
    /// Verdicts that are right from this capture point, the expected one included.
    pub accepted: Vec<String>,
    pub caveats: Vec<String>,
    pub packets: u64,
    pub facts: BTreeMap<String, Fact>,
}

/// The corpus.
pub fn corpus() -> Vec<Entry> {
    let folder = repository("tests/corpus");
    let text = std::fs::read_to_string(folder.join("corpus.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["schema"].as_str(), Some("windlass.corpus/1"));
    let entries = table["capture"].as_array().unwrap();
    entries.iter().map(|entry| self::entry(entry.as_table().unwrap(), &folder)).collect()
}

fn entry(table: &toml::Table, folder: &Path) -> Entry {
    let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
    let list = |key: &str| {
        let items = table.get(key).and_then(toml::Value::as_array);
        let items = items.into_iter().flatten();
        items.map(|item| item.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let file = text("file").unwrap().to_owned();
    let limit = text("limit").unwrap();
    let expected = text("because").map_or(limit.to_owned(), |because| format!("{limit}/{because}"));
    let mut accepted = list("accept");
    accepted.push(expected.clone());
    let number = |value: &toml::Value| {
        value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).unwrap()
    };
    let facts = table["facts"].as_table().unwrap().iter().map(|(name, fact)| {
        let fact = Fact { value: number(&fact["value"]), tolerance: number(&fact["tolerance"]) };
        (name.clone(), fact)
    });
    Entry {
        path: folder.join(&file),
        capture_point: text("capture_point").unwrap().to_owned(),
        expected,
        accepted,
        caveats: list("caveat"),
        packets: u64::try_from(table["packets"].as_integer().unwrap()).unwrap(),
        facts: facts.collect(),
        file,
    }
}

/// Errors that a test found, reported at the end as one table.
#[derive(Debug, Default)]
pub struct Findings(Vec<[String; 4]>);

#[allow(clippy::needless_pass_by_value, reason = "callers hand over what they made for it")]
impl Findings {
    pub fn add(
        &mut self,
        file: &str,
        what: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
    ) {
        self.0.push([file.to_owned(), what.into(), expected.to_string(), got.to_string()]);
    }

    /// Adds a finding unless `holds`.
    pub fn check(
        &mut self,
        holds: bool,
        file: &str,
        what: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
    ) {
        if !holds {
            self.add(file, what, expected, got);
        }
    }

    /// Fails with everything that was found.
    pub fn assert_none(&self) {
        let heads = ["capture", "what", "expected", "got"].map(str::to_owned);
        let rows: Vec<&[String; 4]> = std::iter::once(&heads).chain(&self.0).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths = [0, 1, 2, 3].map(|column| width(column).unwrap_or(0));
        let mut table = String::new();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let _ = write!(line, "{cell:width$}  ");
            }
            let _ = writeln!(table, "{}", line.trim_end());
        }
        assert!(self.0.is_empty(), "{} findings:\n{table}", self.0.len());
    }
}

/// Timelines of more intervals may have gaps from rounding.
const FEW_INTERVALS: usize = 200;

/// Checks what holds of every report: shares sum to 1, the timeline covers the
/// transfer without gaps, a ratio is no more than a whole.
pub fn adds_up(file: &str, connection: &Value, findings: &mut Findings) {
    let of = |value: &Value, key: &str| value[key].as_f64().unwrap();
    for key in ["shares", "causes"] {
        let shares = connection[key].as_object().unwrap();
        let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
        findings.check((sum - 1.0).abs() < 1e-6, file, format!("sum of {key}"), 1, sum);
    }
    for (cause, share) in connection["causes"].as_object().unwrap() {
        let limit = cause.split('/').next().unwrap();
        let of_limit = connection["shares"][limit].as_f64().unwrap_or(0.0);
        let share = share.as_f64().unwrap();
        findings.check(share <= of_limit + 1e-9, file, cause, of_limit, share);
    }
    let verdict = &connection["verdict"];
    let limit = verdict["limit"].as_str().unwrap();
    let cause = match verdict["because"].as_str() {
        Some(because) => format!("{limit}/{because}"),
        None => limit.to_owned(),
    };
    let shares =
        [("share", &connection["causes"][cause]), ("limit_share", &connection["shares"][limit])];
    for (name, own) in shares {
        let (own, stated) = (own.as_f64().unwrap_or(0.0), of(verdict, name));
        findings.check((own - stated).abs() < 1e-9, file, name, own, stated);
    }

    let seconds = of(connection, "seconds");
    let timeline = connection["timeline"].as_array().unwrap();
    let length: f64 = timeline.iter().map(|at| of(at, "end") - of(at, "start")).sum();
    let slack = 1e-6 * timeline.len().max(1) as f64;
    let covers = (length - seconds).abs() <= slack;
    findings.check(covers, file, "length of the timeline", seconds, length);
    let mut before = 0.0;
    for at in timeline.iter().take(FEW_INTERVALS) {
        let (start, end, charged) = (of(at, "start"), of(at, "end"), of(at, "charged"));
        let joins = (start - before).abs() <= 1e-6 && end >= start;
        findings.check(joins, file, "start of an interval", before, start);
        let within = charged >= 0.0 && charged <= end - start + 1e-6;
        findings.check(within, file, "charged of an interval", end - start, charged);
        before = end;
    }

    let losses = &connection["losses"];
    let ratio = of(losses, "ratio");
    findings.check((0.0..=1.0).contains(&ratio), file, "share of lost segments", "0 to 1", ratio);
    let most = of(losses, "retransmissions");
    for part in ["fast", "by_timer", "needless"] {
        let some = of(losses, part);
        findings.check(some <= most, file, format!("retransmissions, {part}"), most, some);
    }
    let both = of(losses, "fast") + of(losses, "by_timer");
    findings.check(both <= most, file, "retransmissions, fast and by timer", most, both);
}
