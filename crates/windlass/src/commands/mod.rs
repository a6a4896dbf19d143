//! The commands, one module each: its arguments, and a `run` that returns one
//! record to the printer.

mod annotate;
pub mod archive;
pub mod capture;
pub mod completions;
pub mod device;
mod ends;
pub mod explain;
pub mod exporter;
pub mod extcap;
mod ip_args;
pub mod lab;
pub mod law;
pub mod link;
mod login;
pub mod man;
mod moving;
pub mod ping;
pub mod print;
mod rate_unit;
pub mod report;
mod run_page;
pub mod runs;
pub mod send;
pub mod serve;
pub mod show;
pub mod spool;
pub mod sweep;
pub mod top;
pub mod ui;
pub mod watch;
pub mod watched;

use std::io;

/// The error for an answer that cannot be written. It keeps the cause, so that
/// a broken pipe is told from a full disk.
pub fn unwritten(error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error).context("cannot write to standard output")
}
