#![doc = include_str!("../README.md")]
//!
//! The lab in real time: simulated links and devices behind real interfaces.
//!
//! Private network namespaces hold the programs, TUN interfaces their packets, and
//! a loop between hands these to the machines of `windlass-sim`. [`link`] has a
//! command at each end of a link, [`device`] a command beside a device, [`real`]
//! the transfers of a scenario by this system's own TCP, and
//! [`compare`] readers of packets under load. Nothing of it touches the host's
//! interfaces or routes.
#![cfg(target_os = "linux")]

pub mod compare;
pub mod device;
mod ends;
pub mod link;
pub mod real;
mod real_time;
mod refused;

pub use ends::{Ending, INTERFACE, Onlooker, Scheduling, Streams};
