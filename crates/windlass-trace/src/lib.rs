#![doc = include_str!("../README.md")]
//!
//! Segments to connections, to a timeline of limits, to a verdict.
//!
//! An [`Analyzer`] takes segments in the order of the capture. It follows each
//! connection's sender (what is in flight, what the receiver allows, what is
//! lost) and charges every gap between two events to what the sender waited
//! for. What it keeps of a connection that has ended is a [`Finished`], which
//! gives a [`report::ConnectionReport`].
//!
//! The analyser does no I/O, has no clock and knows nothing of the simulator.

mod ack;
mod analysis;
mod analyzer;
mod arrivals;
mod capacity;
mod classify;
mod clock_step;
mod closure;
mod connection;
mod copies;
mod counts;
pub mod curve;
mod discards;
mod distribution;
mod drops;
mod echoes;
mod finished;
mod flow;
mod handshake;
mod hibernated;
mod holes;
mod identification;
mod lateness;
mod leaps;
mod ledger;
mod lines;
mod live;
mod marks;
mod moving;
mod needless;
pub mod note;
mod oddities;
mod outstanding;
mod packed;
mod path;
mod pipeline;
mod precedence;
mod queueing_delay;
mod reader;
pub mod report;
mod rounds;
mod seconds;
mod segment_size;
mod sequence;
mod service;
mod sizes;
mod split;
mod table;
pub mod time_sequence;
mod trains;
mod windows;
mod written;

pub use analysis::Analysis;
pub use analyzer::{Analyzer, Keep, Totals};
pub use finished::Finished;
pub use handshake::Offer;
pub use live::{Live, Look};
pub use note::{Note, Notes};
pub use seconds::{LatencySecond, STEP_BITS};
