//! All TCP connections of this host, without a packet captured: what each moves, and what limits
//! it.
//!
//! [`table`] is a machine without a clock and without sockets: it takes looks at the kernel's
//! connections and tells what happened between them. [`held`] judges a connection between two
//! looks, [`window`] keeps the last seconds, [`groups`] sums by service
//! and subnet, [`select`] filters and sorts. The edge is [`Top`]
//! and [`Counting`], which look, and `owners`, which finds whose a socket is.

mod counting;
pub mod ends;
pub mod groups;
pub mod held;
mod owners;
mod processor_meter;
pub mod row;
pub mod select;
pub mod table;
mod top;
pub mod window;

pub use counting::{Counting, Shared};
pub use ends::{HostProcessors, HostProgram};
pub use held::{Between, Direction, Reading, WouldTell};
pub use row::{Connection, NoProcess, Owner, Process, State, Totals, View};
pub use select::{Filter, Order};
pub use top::{Error, Settings, Top, TopEvent};
