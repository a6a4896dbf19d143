//! windlass with the programs that are out there: iperf3, iperf 2 and ttcp, on
//! the loopback and on ports of their own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod data_only;
mod datagrams;
mod growth;
mod iperf3_clients;
mod iperf3_datagrams;
mod iperf3_servers;
mod iperf_datagrams;
mod options;
mod peer;

use serde_json::Value;

/// A number of a report.
fn number(record: &Value, pointer: &str) -> f64 {
    let found = record.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {record:#}"))
}

/// A whole number of a report.
fn whole(record: &Value, pointer: &str) -> u64 {
    let found = record.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no whole number at {pointer} of {record:#}"))
}
