#![doc = include_str!("../README.md")]
//!
//! [`job`] sends one print job and reports its limit. [`load`] loads a spooler with thousands, and
//! reports the spooler's limit. Each takes a plan and an attendant that receives its progress, and
//! returns a report that serialises itself. [`serve`] is the far end of transfers, and observes the
//! machine during each.
#![cfg(target_os = "linux")]

mod dial;
pub mod job;
pub mod load;
pub mod serve;
