//! The judgement of transfers while they run: what kernels, programs and processors show.
//!
//! Linux keeps, for each connection, how long it was busy sending, and for how long of that the
//! peer's window or the send buffer held it up (the chronograph of `tcp_chrono_start`, in
//! `TCP_INFO` since 4.10). The rest is the path's, the congestion window's, the program's or the
//! processors'. Whoever has figures puts them into [`Facts`]: many samples of a test, or two looks
//! at any connection. [`judge`] charges the time by one list of rules ([`rules`]), and [`verdict`]
//! tells that in the words of `windlass explain`. Nothing here knows where facts come from.

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
