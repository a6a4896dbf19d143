//! Shared helpers of the tests: captures by the hundred, and the program.

#![allow(dead_code, reason = "no test takes all of it")]

pub mod captures;
pub mod cluster;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The program, without anything of the machine's that it would heed.
pub fn archive() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-archive"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    command
}

/// Returns the output of a command, and its exit code.
pub fn told(output: &Output) -> (String, String, i32) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

/// Runs it, and takes what it prints; it must succeed.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let (stdout, stderr, code) = told(&archive().args(arguments).output().unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    stdout
}

/// Adds captures, and takes the record.
pub fn add(from: &Path, into: &Path) -> Value {
    let arguments = ["add", from.to_str().unwrap(), "--into", into.to_str().unwrap(), "--json"];
    serde_json::from_str(&run(arguments)).unwrap()
}

/// Asks an archive: a row on each line.
pub fn ask(from: &Path, query: &str) -> Vec<Value> {
    let lines = run(["sql", query, "--from", from.to_str().unwrap(), "--format", "jsonl"]);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The one number that a query answers.
pub fn count(from: &Path, query: &str) -> u64 {
    let rows = ask(from, query);
    assert_eq!(rows.len(), 1, "{query}");
    rows[0].as_object().unwrap().values().next().unwrap().as_u64().unwrap()
}

/// The tables that hang on captures, by name.
pub const TABLES: [&str; 5] = ["captures", "connections", "intervals", "verdicts", "rtt"];

/// Every row of every table, in one order: equal for archives that hold the same.
pub fn everything(from: &Path) -> Vec<String> {
    every_row(archive(), from.to_str().unwrap(), "*")
}

/// Returns every row of every table, with some columns of the captures.
pub fn every_row(mut command: Command, from: &str, captures: &str) -> Vec<String> {
    let columns = |table: &str| if table == "captures" { captures.to_owned() } else { "*".into() };
    let query = TABLES.map(|table| format!("select {} from {table}", columns(table))).join(";\n");
    let output = command.args(["sql", &query, "--from", from, "--format", "jsonl"]).output();
    let (stdout, stderr, code) = told(&output.unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let mut rows: Vec<String> = stdout.lines().map(str::to_owned).collect();
    rows.sort_unstable();
    rows
}

/// The rows of all tables but the captures.
pub fn all_but_captures(rows: &[String]) -> Vec<&String> {
    rows.iter().filter(|row| !row.contains("\"file_bytes\":")).collect()
}

/// A path of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Says that a test did not run, and why.
pub fn skipped(test: &str, why: &str) {
    let line = format!("skipped: {test}: {why}");
    println!("{line}");
    if let Some(file) = std::env::var_os("WINDLASS_SKIPS") {
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}
