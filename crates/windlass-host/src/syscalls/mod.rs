//! The system calls of processes that are watched: how often, how long and with which errors,
//! as strace(1) counts them with `-c -f -w`.
//!
//! [`account`] and [`report`] are pure: what threads did in, tables out. `tracing` is the thread
//! that hears of it.

pub mod account;
pub mod names;
pub mod refused;
pub mod report;
mod tracing;

pub(crate) use tracing::Tracing;
