//! Tests with ends that speak iperf3's protocol.
//!
//! The state machines of [`windlass_wire::iperf3`] decide which messages are sent. This module has
//! the sockets, the time limit of each message, and the streams and samples that windlass's own
//! protocol uses, too.
//!
//! Once the client has said that the test is over, a stock server reads no more, and counts what it
//! has read by then. The client therefore says so only a moment after everything was acknowledged.
//! The server of windlass reads until it has all that the client says to have sent, so that both
//! ends count the same.

pub use windlass_wire::iperf3::{Code, Failure};

pub mod client;
mod convert;
mod link;
mod output;
mod running;
pub(crate) mod server;

#[cfg(test)]
mod convert_tests;
