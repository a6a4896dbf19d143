//! The commands, one module each: its arguments, and a `run` that returns one record to the
//! printer.
//!
//! Modules with a `target_os` attribute need Linux.

mod annotate;
#[cfg(target_os = "linux")]
pub mod archive;
#[cfg(target_os = "linux")]
pub mod capture;
pub mod completions;
pub mod device;
#[cfg(target_os = "linux")]
mod ends;
pub mod explain;
#[cfg(target_os = "linux")]
pub mod exporter;
#[cfg(target_os = "linux")]
pub mod extcap;
#[cfg(target_os = "linux")]
mod far_host;
#[cfg(target_os = "linux")]
mod ip_args;
pub mod lab;
pub mod law;
#[cfg(target_os = "linux")]
pub mod link;
#[cfg(target_os = "linux")]
mod login;
pub mod man;
pub mod measuring;
mod moving;
#[cfg(target_os = "linux")]
pub mod ping;
#[cfg(target_os = "linux")]
pub mod print;
#[cfg(target_os = "linux")]
mod rate_unit;
pub mod report;
#[cfg(target_os = "linux")]
pub mod runs;
#[cfg(target_os = "linux")]
pub mod send;
#[cfg(target_os = "linux")]
pub mod serve;
pub mod show;
#[cfg(target_os = "linux")]
pub mod spool;
pub mod sweep;
#[cfg(target_os = "linux")]
pub mod top;
#[cfg(target_os = "linux")]
pub mod ui;
#[cfg(target_os = "linux")]
pub mod watch;
#[cfg_attr(not(target_os = "linux"), path = "../elsewhere/watched.rs")]
pub mod watched;

use std::io;

/// Makes the error for an unwritable answer. The error keeps its cause, so that a broken pipe
/// differs from a full disk.
pub fn unwritten(error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error).context("cannot write to standard output")
}
