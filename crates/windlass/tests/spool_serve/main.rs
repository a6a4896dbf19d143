//! `windlass spool serve`: with the clients, the spoolers and the devices that
//! people have, at its limits, and killed at any moment.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod access;
mod accounts;
mod administered;
mod announced;
mod changing;
mod client;
mod conformance;
mod converted;
mod copies;
mod crashes;
mod cups_stock;
mod cups_table;
mod devices;
mod files;
mod forwarded;
mod handed;
mod holds;
mod hostile;
mod libraries;
mod limits;
mod logged;
mod managed;
mod page;
mod raw;
mod received;
mod reloads;
mod salvaged;
mod server;
mod tls;
mod unit;
mod why;

use std::process::{Command, Output};

/// Bytes of which none is like its neighbours; each seed gives others.
fn some_bytes(seed: usize, length: usize) -> Vec<u8> {
    let start = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let of = |at: usize| (at.wrapping_mul(2_654_435_761).wrapping_add(start) >> 13) as u8;
    (0..length).map(of).collect()
}

/// Runs a program to its end.
fn ran(program: &str, args: &[&str]) -> Output {
    Command::new(program).args(args).output().unwrap()
}

/// Returns the output of a successful program.
fn content(program: &str, args: &[&str]) -> String {
    let output = ran(program, args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{program} {args:?}: {stdout}{stderr}");
    stdout
}
