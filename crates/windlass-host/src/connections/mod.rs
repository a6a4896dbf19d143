//! All TCP connections of this host, without capturing a packet: their traffic and their limits.
//!
//! [`table`] is a machine without a clock and without sockets: it takes looks at the kernel's
//! connections and reports the changes between them. [`held`] judges a connection between two
//! looks, [`window`] keeps the last seconds, [`groups`] sums by service and subnet, and [`select`]
//! filters and sorts. The edge is [`Top`] and [`ConnectionCounter`], which take looks, and
//! `owners`, which finds the owner of a socket.

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

pub use counting::{ConnectionCounter, SharedCounter};
pub use ends::{HostProcessors, HostProgram};
pub use held::{BetterSource, Direction, MainLimit, PossibleLimits};
pub use row::{Connection, NoProcess, Owner, Process, State, Totals, View};
pub use select::{Filter, Order};
pub use top::{Error, Settings, Top, TopEvent};
