#![doc = include_str!("../README.md")]
//!
//! Sweep of a path: the settings that make the path fast, and their cost.
//!
//! A [`Sweep`] hands out [`Probe`]s and receives their measurements. From these it decides what to
//! measure next, and at the end what to recommend ([`Findings`]). It opens nothing and has no
//! clock: the caller measures a real or a simulated path, and [`SteadyRate`] decides when a
//! measurement is certain. The same measurements give the same probes. A sweep therefore resumes by
//! taking its old measurements again ([`saved`]). `docs/sweep.md` has the rules and their sources.

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
pub use machine::{Sweep, UnexpectedProbe};
pub use measurement::Point;
pub use path::{PathFindings, Queue};
pub use plan::{Direction, Ladder, LadderPart, Limits, Plan, PlanError, Probe, Setting};
pub use steady::{CountedInterval, DataInterval, SenderSample, SteadyRate};

#[cfg(test)]
mod card_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
