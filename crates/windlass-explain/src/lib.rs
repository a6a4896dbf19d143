#![doc = include_str!("../README.md")]
//!
//! [`explain_all`] is what a command calls; [`file::explain`] does one file, for who shares out
//! the work in another way.

pub mod file;
mod hash;
mod in_order;
mod many;
mod report;

pub use in_order::{Outcome, Told, in_order};
pub use many::{Ended, Job, Problem, Progress, Summary, explain_all};
pub use report::{MODELLED, report_of};
