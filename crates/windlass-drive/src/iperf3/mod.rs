//! Tests with ends that speak iperf3's protocol.
//!
//! The machines of [`windlass_wire::iperf3`] say what is to be said; here are
//! the sockets, the time that each word may take, and the same streams and
//! samples as for windlass's own protocol.
//!
//! A stock server reads no more when the client has said that the test is over,
//! and counts what it has read by then. So the client says it once all is
//! acknowledged, and a moment later. Our server reads on until it has what the
//! client says to have sent: then both ends count the same.

pub use windlass_wire::iperf3::{Code, Failure};

pub mod client;
mod convert;
mod link;
mod output;
mod running;
pub(crate) mod server;

#[cfg(test)]
mod convert_tests;
