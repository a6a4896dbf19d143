//! `windlass send` and `windlass serve`: on the loopback, and over emulated
//! links in namespaces that the runs make.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod datagrams;
mod iperf3_json;
mod links;
mod loopback;
mod marked;
mod report;
mod serving;
mod streamed;
mod verdicts;

use serde_json::Value;
use windlass_testkit::schema::checked;

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
