//! `windlass spool load`: against a real cupsd, and against servers that keep to
//! nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod cupsd;
mod outcomes;
mod reasons;
mod scripted;
mod serve;

use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testkit::{schema, told, windlass};

/// A report that keeps to its schema, and whose counts make what was asked for.
fn checked(text: &str) -> Value {
    let record = schema::checked("spool-load", text);
    let [asked, counts @ ..] = counts(&record);
    assert_eq!(asked, counts.iter().sum::<u64>(), "{}", record["counts"]);
    record
}

/// Jobs that were asked for, acknowledged, refused, failed, unknown and not sent.
fn counts(record: &Value) -> [u64; 6] {
    ["asked", "acknowledged", "refused", "failed", "unknown", "not_sent"]
        .map(|name| record["counts"][name].as_u64().unwrap())
}

/// Result of a run.
struct LoadResult {
    /// The report; null where there was none.
    report: Value,
    stderr: String,
    code: i32,
    took: Duration,
}

/// Begins with the words of a line.
fn begin(line: &str) -> Child {
    windlass()
        .args(["spool", "load", "--json"])
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ended(child: Child, began: Instant) -> LoadResult {
    judged(&child.wait_with_output().unwrap(), began.elapsed())
}

/// Loads with the words of a line.
fn load(line: &str) -> LoadResult {
    ended(begin(line), Instant::now())
}

fn judged(output: &Output, took: Duration) -> LoadResult {
    let (stdout, stderr, code) = told(output);
    let report = if stdout.is_empty() { Value::Null } else { checked(&stdout) };
    LoadResult { report, stderr, code, took }
}
