#![doc = include_str!("../README.md")]
//!
//! Segments to connections, to a timeline of limits, to a verdict.
//!
//! An [`Analyzer`] takes segments in the order of the capture. It follows each connection's sender
//! (data in flight, receive window, losses) and charges every gap between two events to the
//! sender's reason to wait. A connection that has ended remains as a [`Transfer`], which gives a
//! [`report::ConnectionReport`].
//!
//! The analyser does no I/O, has no clock and knows nothing of the simulator.

pub mod compare;
pub mod curve;
mod estimate;
mod follow;
mod judge;
pub mod note;
mod packed;
mod quality;
pub mod report;
pub mod time_sequence;

pub use estimate::seconds::{LatencySecond, STEP_BITS};
pub use follow::analysis::Analysis;
pub use follow::analyzer::{Analyzer, Keep, Totals};
pub use follow::handshake::Offer;
pub use follow::live::{LiveConnection, Snapshot};
pub use follow::transfer::Transfer;
pub use judge::{
    AppliedDoubt, AskedRule, CauseTime, Check, Fact, Reasons, Relation, RivalConsidered, RuleTime,
    ThresholdLine, WaitPart, WaitReasons, WaitSelection,
};
pub use note::{Note, Notes};
