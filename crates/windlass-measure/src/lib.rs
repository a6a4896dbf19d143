#![doc = include_str!("../README.md")]
//!
//! [`job`] sends one print job and tells what held it back; [`load`] loads a spooler
//! with thousands, and tells what was at its limit. Each takes a plan and has an
//! attendant, who is told how far it is, and gives a report that serialises
//! itself. [`serve`] is the far end of transfers, and watches the machine during
//! each.
#![cfg(target_os = "linux")]

mod dial;
pub mod job;
pub mod load;
pub mod serve;
