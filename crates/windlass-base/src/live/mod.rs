//! The judgement of transfers while they run: what kernels, programs and processors show.
//!
//! For each connection Linux counts how long it was busy sending, and how much of that the peer's
//! window or the send buffer limited it. These are the clocks of `tcp_chrono_start`, in `TCP_INFO`
//! since 4.10. The rest belongs to the path, the congestion window, the program or the processors.
//! A caller puts its figures into [`Facts`]: many samples of a test, or two looks at any
//! connection. [`judge`] charges the time by one list of rules ([`rules`]), and [`verdict`] tells
//! the result in the words of `windlass explain`. Nothing here knows where facts come from.

mod ends;
mod facts;
mod path;
mod receiving;
mod remedies;
mod room;
pub mod rules;
mod told;

pub use facts::{
    Delivery, Facts, IdleMessages, LoadedMessages, Machine, Program, Sampling, Thread,
};
pub use receiving::{ReceiverFacts, judge_receiving};
pub use room::{fills, flight, keeps};
pub use rules::{Causes, Part, Parts, judge};
pub use told::verdict;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
