#![doc = include_str!("../README.md")]
//!
//! Drives a path and measures it.
//!
//! This crate opens sockets and starts threads. It knows neither the analyser nor the simulator, so
//! its measurements can be compared with both.
//!
//! A test has two ends, and each has a [`side`]: a thread for each stream, and samples of the
//! kernel's figures. [`client`] asks for a test, [`server`] serves it, and both exchange messages
//! about it on a [`control`] connection.
#![cfg(target_os = "linux")]

pub mod bulk;
mod busy_poll;
mod by;
pub mod client;
pub mod control;
pub mod datagrams;
mod driven;
mod error;
pub mod grants;
pub mod ip;
pub mod iperf;
pub mod iperf3;
mod latency;
pub mod meter;
mod opening;
pub mod ping;
pub mod plain;
mod protocol;
pub mod report;
pub mod server;
mod session;
pub mod side;
mod slices;
pub mod socket;
mod stream;
pub mod transfer;
pub mod udp;
pub mod verdict;
mod waits;

pub use error::Error;
pub use protocol::Protocol;
pub use stream::{Sink, Source};
