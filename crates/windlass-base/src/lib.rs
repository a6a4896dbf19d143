#![doc = include_str!("../README.md")]
//!
//! The ground that every windlass crate stands on: time and units as types,
//! the vocabulary of limits and verdicts, the laws that tie them together, and
//! the small mechanisms that crates beside each other share.
//!
//! Nothing here touches the clock, a file or a socket. A [`Timestamp`] has no
//! `now()`: it comes from a packet, a simulation or the program's edge.

mod backoff;
mod congestion;
mod digits;
mod failure;
pub mod figures;
pub mod histogram;
pub mod laws;
mod limit;
pub mod live;
mod measurement;
mod schema;
mod sentence;
pub mod thresholds;
mod time;
pub mod tuning;
mod units;
pub mod values;
pub mod verdict;

pub use backoff::Backoff;
pub use congestion::{CongestionControl, NoName};
pub use failure::{Failure, Fault};
pub use histogram::{Histogram, Quantiles};
pub use limit::{Because, Cause, Limit};
pub use measurement::Measurement;
pub use schema::{MAX_INTERVALS, Schema};
pub use sentence::{Figure, Piece, Say, Sentence};
pub use time::{Span, Timestamp};
pub use units::{BitRate, Bytes, Rate, RateUnit, whole_part};
pub use windlass_macros::{AsText, Named, sentence};

// So that `sentence!` finds its way here in this crate, too.
extern crate self as windlass_base;
