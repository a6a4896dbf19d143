//! The system calls of watched processes: their number, time and errors, as strace(1) counts them
//! with `-c -f -w`.
//!
//! [`account`] and [`report`] are pure: actions of threads in, tables out. `tracing` is the thread
//! that traces.

pub mod account;
pub mod names;
pub mod refused;
pub mod report;
mod tracing;

pub(crate) use tracing::Tracing;
