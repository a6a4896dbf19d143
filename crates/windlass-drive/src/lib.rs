#![doc = include_str!("../README.md")]
//!
//! Drives a path, measures it, and finds the window that fits it.
//!
//! This crate opens sockets and has threads. It knows neither the analyser nor
//! the simulator, so what it measures can be held against both.
//!
//! A test has two ends, and each has a [`side::Side`]: a thread for each stream,
//! and the samples of what the kernel says of them. [`client`] asks for a test,
//! [`server`] is asked, and both speak of it on a [`control`] connection. That
//! takes Linux. A [`sweep`] decides what to measure, and measures nothing itself.

#[cfg(target_os = "linux")]
pub mod bulk;
#[cfg(target_os = "linux")]
mod busy_poll;
#[cfg(target_os = "linux")]
mod by;
#[cfg(target_os = "linux")]
pub mod client;
#[cfg(target_os = "linux")]
pub mod control;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
pub mod iperf3;
#[cfg(target_os = "linux")]
mod latency;
#[cfg(target_os = "linux")]
pub mod meter;
#[cfg(target_os = "linux")]
pub mod ping;
#[cfg(target_os = "linux")]
pub mod plain;
#[cfg(target_os = "linux")]
mod protocol;
#[cfg(target_os = "linux")]
pub mod report;
#[cfg(target_os = "linux")]
pub mod server;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
pub mod side;
#[cfg(target_os = "linux")]
pub mod socket;
#[cfg(target_os = "linux")]
mod stream;
pub mod sweep;
#[cfg(target_os = "linux")]
pub mod transfer;
#[cfg(target_os = "linux")]
pub mod verdict;

#[cfg(target_os = "linux")]
pub use error::Error;
#[cfg(target_os = "linux")]
pub use latency::Latency;
#[cfg(target_os = "linux")]
pub use protocol::Protocol;
#[cfg(target_os = "linux")]
pub use stream::Source;
