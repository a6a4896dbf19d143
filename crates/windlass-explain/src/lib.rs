#![doc = include_str!("../README.md")]
//!
//! [`explain_all`] is what a command calls, and [`explain_each`] who has captures that are no files;
//! [`file::explain`] does one file, for who shares out the work in another way.

pub mod compare;
pub mod file;
mod hash;
mod in_order;
mod many;
mod report;

pub use in_order::{Outcome, Told, in_order, workers};
pub use many::{All, Ended, Job, Problem, Progress, Summary, Tell, explain_all, explain_each};
pub use report::{MODELLED, report_of, why_of};
