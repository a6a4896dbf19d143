#![doc = include_str!("../README.md")]
//!
//! [`explain_all`] is what a command calls; [`file::explain`] does one file, for who shares out
//! the work in another way.

pub mod file;
mod hash;
mod many;
mod report;

pub use many::{Ended, Job, Problem, Progress, Summary, explain_all};
pub use report::{MODELLED, report_of};
