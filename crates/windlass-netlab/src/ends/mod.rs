//! One end of an emulated path: a private network with one interface, and the
//! command that runs in it.
//!
//! `windlass link` has two ends, with a link between them. `windlass device run` has one, with a
//! device behind the link.

mod onlooker;
mod place;
mod programs;
mod report;

pub(crate) use onlooker::SnapshotReceiver;
pub use onlooker::{Onlooker, Streams};
pub(crate) use place::EndNetwork;
pub use place::INTERFACE;
pub(crate) use programs::{Program, Signals, attend, command_line, start};
pub use report::{Ending, Scheduling};
