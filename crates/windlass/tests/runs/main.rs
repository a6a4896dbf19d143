//! Measurements are kept, found again, compared and repeated.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod compared;
mod kept;
mod reported;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use windlass_testkit::schema::validator;
use windlass_testkit::told;

/// A folder of runs of a test's own.
struct RunsFolder {
    folder: TempDir,
}

impl RunsFolder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    /// The program with words, and where it keeps its runs.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = windlass_testkit::windlass();
        command.args(words).env("WINDLASS_STORE", self.store());
        command
    }

    /// Returns the output, the errors, and the exit code.
    fn told(&self, line: &str) -> (String, String, i32) {
        let words: Vec<&str> = line.split_whitespace().collect();
        told(&self.command(&words).output().unwrap())
    }

    /// Returns the output of a successful command.
    fn done(&self, line: &str) -> String {
        let (stdout, stderr, code) = self.told(line);
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        stdout
    }

    /// The JSON of `windlass runs`, which fits its schema.
    fn json(&self, schema: &str, line: &str) -> Value {
        let (stdout, stderr, code) = self.told(&format!("runs {line} --json"));
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        checked(schema, &stdout)
    }

    fn list(&self) -> Vec<Value> {
        self.json("runs", "list --all")["runs"].as_array().unwrap().clone()
    }
}

/// A record that fits its schema.
fn checked(schema: &str, text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    let wrong: Vec<String> = validator(schema)
        .iter_errors(&value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{value:#}");
    value
}

/// A figure of a run in a list.
fn figure(run: &Value, name: &str, of: Option<&str>) -> f64 {
    let figures = run["figures"].as_array().unwrap();
    let is_it = |one: &&Value| one["name"] == name && one["of"].as_str() == of;
    figures.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {run}"))["value"].as_f64().unwrap()
}

/// Returns whether a folder has no file, or does not exist.
fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut files| files.next().is_none())
}
