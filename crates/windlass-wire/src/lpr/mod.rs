//! The Line Printer Daemon protocol (RFC 1179): the commands of a client, and the control file that
//! describes a job.
//!
//! A command is a number, its operands and a line feed; the server answers with
//! one byte, an [`Ack`]. A receive-job command is followed by subcommands, each
//! with a file behind it that ends with a zero byte ([`FILE_END`]).

mod command;
mod control;
mod state;

pub use command::{Ack, Command, Error, JobCommand, MAX_LINE, line};
pub use control::{ControlFile, ControlLine, most};
pub use state::waiting;

/// The byte behind each file.
pub const FILE_END: u8 = 0;

/// Size by which clients announce a data file of unknown size. It lasts up to the end of the
/// connection. CUPS's backend sends this size with `mode=stream`.
pub const ENDLESS: u64 = 999_999_999_999;

#[cfg(test)]
#[path = "lpr_tests.rs"]
mod tests;
