//! A sweep: which window fits a path, and how many streams would.
//!
//! A [`Sweep`] hands out [`Probe`]s and takes what was measured of each. From
//! that it decides what to measure next, and in the end what to recommend
//! ([`Findings`]). It opens nothing and has no clock: who asks it measures, over
//! a real path or a simulated one. The same measurements give the same probes,
//! so a sweep goes on where it stopped by taking its old ones again
//! ([`saved`]). `docs/sweep.md` has the rules and where they come from.

mod findings;
mod machine;
mod measurement;
pub mod metrics;
mod plan;
pub mod saved;
mod search;

pub use findings::{Findings, StreamsAdvice, WindowAdvice};
pub use machine::{Sweep, Unasked};
pub use measurement::Point;
pub use plan::{Direction, Ladder, LadderPart, Plan, PlanError, Probe, Setting};

#[cfg(test)]
mod tests;
