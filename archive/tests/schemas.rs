//! Records against the schemas of `schemas/`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use support::captures::make;
use support::{repository, run, skipped};

/// Python's jsonschema, which is there beside moto.
const CHECK: &str = "
import json, sys
from jsonschema import Draft202012Validator as Validator, FormatChecker
for line in sys.stdin:
    path, record = json.loads(line)
    with open(path) as file:
        schema = json.load(file)
    Validator.check_schema(schema)
    validator = Validator(schema, format_checker=FormatChecker())
    for error in validator.iter_errors(record):
        print(path, error.json_path, error.message)
    # A schema that takes everything tells nothing.
    if validator.is_valid({'schema': record['schema']}):
        print(path, 'takes a record without anything')
";

/// The file of the schema that a record names, below the repository, and the kind.
fn schema(record: &Value) -> (String, String) {
    let shape = record["schema"].as_str().unwrap();
    let kind = shape.strip_prefix("windlass.archive-").unwrap().split('/').next().unwrap();
    let path = repository(&format!("archive/schemas/{kind}.schema.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(schema["title"], shape);
    (path.to_str().unwrap().to_owned(), kind.to_owned())
}

#[test]
fn every_record_keeps_to_its_schema() {
    let test = "every_record_keeps_to_its_schema";
    let python = repository("archive/target/python/bin/python");
    if !python.exists() {
        return skipped(test, "jsonschema is not installed: scripts/test-archive installs it");
    }
    let folder = tempfile::tempdir().unwrap();
    let (captures, into) = (folder.path().join("captures"), folder.path().join("archive"));
    make(&captures, 46);
    let (captures, into) = (captures.to_str().unwrap(), into.to_str().unwrap());
    let with_names = ["--path-pattern", "{site}/{date}/*", "--batch", "20"];
    let mut commands = vec![
        [&["add", captures, "--into", into, "--json"][..], &with_names].concat(),
        vec!["add", captures, "--into", into, "--json"],
        vec!["files", into, "--json"],
        vec!["report", "--from", into, "--json"],
        vec!["compact", into, "--json"],
        vec!["retain", into, "--older-than", "1h", "--json"],
    ];
    for query in ["select * from captures", "select 1 as a where false"] {
        commands.push(vec!["sql", query, "--from", into, "--format", "json"]);
    }
    let mut seen = BTreeSet::new();
    let mut lines = String::new();
    for command in commands {
        let record: Value = serde_json::from_str(&run(command)).unwrap();
        let (path, kind) = schema(&record);
        seen.insert(kind);
        lines += &serde_json::json!([path, record]).to_string();
        lines.push('\n');
    }
    let mut child = Command::new(python)
        .args(["-W", "ignore", "-c", CHECK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let files = fs::read_dir(repository("archive/schemas")).unwrap();
    let files: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().to_str().unwrap().replace(".schema.json", ""))
        .collect();
    assert_eq!(seen, files);
}
