//! The commands, one module each: its arguments, and a `run` that returns one
//! record to the printer.

mod annotate;
#[cfg(target_os = "linux")]
pub mod capture;
pub mod completions;
pub mod device;
pub mod explain;
#[cfg(target_os = "linux")]
pub mod extcap;
pub mod lab;
pub mod law;
pub mod link;
pub mod man;
#[cfg(target_os = "linux")]
pub mod ping;
#[cfg(target_os = "linux")]
pub mod print;
#[cfg(target_os = "linux")]
pub mod send;
#[cfg(target_os = "linux")]
pub mod serve;
pub mod show;
#[cfg(target_os = "linux")]
pub mod spool;
pub mod sweep;
#[cfg(target_os = "linux")]
pub mod watch;
pub mod watched;

use std::io;

/// The error for an answer that cannot be written. It keeps the cause, so that
/// a broken pipe is told from a full disk.
#[must_use]
pub fn unwritten(error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error).context("cannot write to standard output")
}
