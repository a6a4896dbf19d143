//! `windlass send` and `windlass serve`: on the loopback, and over emulated
//! links in namespaces that the runs make.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod links;
mod loopback;
mod report;
mod serving;
#[path = "../support/mod.rs"]
mod support;

use std::fs;

use jsonschema::Validator;
use serde_json::Value;
use support::repository;

/// The schema of a command's records.
fn validator(command: &str) -> Validator {
    let file = repository(&format!("schemas/{command}.schema.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// A report that keeps to its schema.
fn checked(command: &str, text: &str) -> Value {
    let record: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    let validator = validator(command);
    let wrong: Vec<_> = validator.iter_errors(&record).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{text}");
    record
}

/// A number of a report.
fn number(record: &Value, pointer: &str) -> f64 {
    let found = record.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {record:#}"))
}

/// The limit and the reason of a report's first direction.
fn limit(record: &Value) -> String {
    let of = |name: &str| {
        let found = record.pointer(&format!("/directions/0/verdict/{name}"));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    format!("{} / {}", of("limit"), of("because"))
}
