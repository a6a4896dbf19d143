//! One end of an emulated path: a private network with one interface, and the
//! command that runs in it.
//!
//! `windlass link` has two of them, with a link between. `windlass device run`
//! has one, with a device behind the link.

#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod programs;
mod report;
#[cfg(target_os = "linux")]
mod start;

#[cfg(target_os = "linux")]
pub(crate) use place::{INTERFACE, Place};
#[cfg(target_os = "linux")]
pub(crate) use programs::{Program, Signals, attend};
pub use report::{Ending, Scheduling};
#[cfg(target_os = "linux")]
pub(crate) use start::{command_line, report_printer, start};
