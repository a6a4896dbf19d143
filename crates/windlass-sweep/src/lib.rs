#![doc = include_str!("../README.md")]
//!
//! A sweep: what makes a path fast, and what it costs.
//!
//! A [`Sweep`] hands out [`Probe`]s and takes what was measured of each. From
//! that it decides what to measure next, and in the end what to recommend
//! ([`Findings`]). It opens nothing and has no clock: who asks it measures, over
//! a real path or a simulated one, and [`Steady`] tells when a measurement is
//! certain. The same measurements give the same probes, so a sweep goes on where
//! it stopped by taking its old ones again ([`saved`]). `docs/sweep.md` has the
//! rules and where they come from.

mod card;
mod choose;
mod findings;
mod machine;
mod measurement;
pub mod metrics;
mod path;
mod plan;
mod reason;
pub mod report;
pub mod saved;
mod search;
mod statistics;
mod steady;

pub use card::Step;
pub use choose::{Choice, Gain};
pub use findings::{Findings, StreamsAdvice, WindowAdvice};
pub use machine::{Sweep, Unasked};
pub use measurement::Point;
pub use path::{PathFindings, Queue};
pub use plan::{Direction, Ladder, LadderPart, Limits, Plan, PlanError, Probe, Setting};
pub use steady::{Counted, Steady, Stretch, Told};

#[cfg(test)]
mod card_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
