//! One end of an emulated path: a private network with one interface, and the
//! command that runs in it.
//!
//! `windlass link` has two of them, with a link between. `windlass device run`
//! has one, with a device behind the link.

mod onlooker;
mod place;
mod programs;
mod report;

pub(crate) use onlooker::Looking;
pub use onlooker::{Onlooker, Streams};
pub use place::INTERFACE;
pub(crate) use place::Place;
pub(crate) use programs::{Program, Signals, attend, command_line, start};
pub use report::{Ending, Scheduling};
