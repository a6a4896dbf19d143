#![doc = include_str!("../README.md")]
//!
//! The lab in real time: simulated links and devices behind real interfaces.
//!
//! Private network namespaces hold the programs, TUN interfaces carry their packets, and a loop
//! passes these to the machines of `windlass-sim`. [`link`] runs a command at each end of a link,
//! [`device`] a command beside a device, [`real`] the transfers of a scenario by this system's own
//! TCP. [`compare`] compares packet readers under load. The host's interfaces and routes stay as
//! they are.
#![cfg(target_os = "linux")]

pub mod compare;
pub mod device;
mod ends;
pub mod link;
pub mod real;
mod real_time;
mod refused;

pub use ends::{Ending, INTERFACE, Onlooker, Scheduling, Streams};
