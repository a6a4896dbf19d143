#![doc = include_str!("../README.md")]
//!
//! [`explain_all`] explains files, and [`explain_each`] also captures that are not files.
//! [`file::explain`] explains one file, for callers that distribute the work themselves.

pub mod compare;
pub mod file;
mod hash;
mod in_order;
mod many;
mod report;

pub use in_order::{ItemOutput, Outcome, in_order, workers};
pub use many::{
    CaptureSet, ExplainError, Job, PieceReceiver, Problem, Progress, Summary, explain_all,
    explain_each,
};
pub use report::{MODELLED, report_of, why_of};
