#![doc = include_str!("../README.md")]
//!
//! The base of every windlass crate: time and units as types, the vocabulary of limits and
//! verdicts, the laws that connect them, and small mechanisms that several crates share.
//!
//! Nothing here reads the clock, a file or a socket. A [`Timestamp`] has no `now()`: it comes from
//! a packet, a simulation or the program's edge.

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
pub use congestion::{CongestionControl, InvalidName};
pub use failure::{Failure, Fault};
pub use histogram::{Histogram, Quantiles};
pub use limit::{Cause, Limit, LimitReason};
pub use measurement::Measurement;
pub use schema::{MAX_INTERVALS, Schema};
pub use sentence::{Figure, Piece, Say, Sentence};
pub use time::{Span, Timestamp};
pub use units::{BitRate, Bytes, Rate, RateUnit, whole_part};
pub use windlass_macros::{AsText, Named, sentence};

// With this `sentence!` also works in this crate.
extern crate self as windlass_base;
