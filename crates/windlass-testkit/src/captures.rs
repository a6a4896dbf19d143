//! Captures with known facts, and the program's reports on captures.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{repository, skipped, told, windlass};

/// Returns the path of a file in the folder that is shared beside the repository or its worktrees.
///
/// Returns `None` and reports the test as skipped if the file is missing.
pub fn shared(path: &str, test: &str) -> Option<PathBuf> {
    let found = shared_if_there(path);
    if found.is_none() {
        skipped(test, &format!("shared/{path} is not there"));
    }
    found
}

/// Returns the path of a file in that folder; `None` if it is missing. For tests that have other
/// files to run on.
pub fn shared_if_there(path: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["../../../shared", "../../../../shared"].iter();
    folders.map(|folder| root.join(folder).join(path)).find(|file| file.exists())
}

/// Returns the paths of the public captures, sorted by name; none if they are missing.
pub fn public_captures() -> Vec<PathBuf> {
    let Some(folder) = shared_if_there("captures") else { return Vec::new() };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "pcap" || end == "pcapng"))
        .collect();
    files.sort();
    files
}

/// Returns the file name of a path.
pub fn name(file: &Path) -> String {
    file.file_name().unwrap().to_string_lossy().into_owned()
}

/// Returns the record of `windlass explain --json` for a file, with the additional arguments
/// `more`.
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

/// Returns the connection with this number from a record of `windlass explain`.
pub fn connection(record: &Value, number: u64) -> &Value {
    let all = record["connections"].as_array().unwrap();
    all.iter().find(|one| one["number"] == number).unwrap()
}

/// Returns the number at a JSON pointer; `None` if the value is null or missing.
pub fn figure(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer).and_then(Value::as_f64)
}

/// Returns the verdict of a connection as `limit/because`, or as `limit` if the verdict has no
/// cause.
pub fn verdict(connection: &Value) -> String {
    let verdict = &connection["verdict"];
    let limit = verdict["limit"].as_str().unwrap();
    match verdict["because"].as_str() {
        Some(because) => format!("{limit}/{because}"),
        None => limit.to_owned(),
    }
}

/// Returns the ids of a connection's caveats.
pub fn caveats(connection: &Value) -> Vec<&str> {
    let caveats = connection["verdict"]["caveats"].as_array().unwrap();
    caveats.iter().map(|caveat| caveat["id"].as_str().unwrap()).collect()
}

/// Expected value with a tolerance.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Expected value.
    pub value: f64,
    /// Tolerance as a share of the expected value; 0 means exactly.
    pub tolerance: f64,
}

impl Fact {
    /// Returns whether a measured value is within the tolerance.
    pub fn fits(self, got: f64) -> bool {
        (got - self.value).abs() <= self.value.abs() * self.tolerance + 1e-12
    }
}

/// Entry of `tests/corpus/corpus.toml`.
#[derive(Debug)]
pub struct Entry {
    /// File name of the capture, in the folder of the corpus.
    pub file: String,
    /// Path of the capture.
    pub path: PathBuf,
    /// Capture point: `sender`, `receiver`, `router` or `both`.
    pub capture_point: String,
    /// Expected verdict, as `limit/because` or `limit`.
    pub expected: String,
    /// Verdicts that are correct from this capture point, including the expected verdict.
    pub accepted: Vec<String>,
    /// Caveats that the report must contain, by their names in the corpus.
    pub caveats: Vec<String>,
    /// Number of packets in the capture.
    pub packets: u64,
    /// Expected facts by name.
    pub facts: BTreeMap<String, Fact>,
}

/// Returns the entries of the corpus.
pub fn corpus() -> Vec<Entry> {
    let folder = repository("tests/corpus");
    let text = std::fs::read_to_string(folder.join("corpus.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["schema"].as_str(), Some("windlass.corpus/1"));
    let entries = table["capture"].as_array().unwrap();
    entries.iter().map(|entry| self::entry(entry.as_table().unwrap(), &folder)).collect()
}

/// Returns an entry of the corpus from its table.
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

/// Findings of a test, reported at the end as one table.
#[derive(Debug, Default)]
pub struct Findings(Vec<[String; 4]>);

#[allow(clippy::needless_pass_by_value, reason = "callers hand over what they made for it")]
impl Findings {
    /// Adds a finding.
    pub fn add(
        &mut self,
        file: &str,
        what: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
    ) {
        self.0.push([file.to_owned(), what.into(), expected.to_string(), got.to_string()]);
    }

    /// Adds a finding unless `holds` is true.
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

    /// Fails with a table of all findings, if there are any.
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

/// Number of intervals, from the start of a timeline, that are checked for gaps. Rounding may cause
/// gaps in longer timelines.
const FEW_INTERVALS: usize = 200;

/// Checks the invariants of every report: shares sum to 1, the timeline covers the transfer without
/// gaps, and no ratio exceeds 1.
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
