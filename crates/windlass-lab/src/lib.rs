#![doc = include_str!("../README.md")]
//!
//! The lab: emulated devices and links, and the transfers to them.
//!
//! A [`Scenario`] names transfers; each [`Row`] of it runs in virtual time and
//! gives an [`Outcome`]. What passes the sender goes straight to the analyser,
//! and into a capture where one is to be kept. [`learn`] goes the other way: from
//! a capture to the [`Profile`] of its receiver. [`what_if`] fits the simulator to
//! a transfer that was captured, and changes it. A [`RemedyTrial`] makes the change in the
//! scenario itself.
//!
//! This is the one library that knows both the analyser and the simulator. It has
//! no clock, no files and no sockets: who calls it reads the files and writes them.

pub mod built_in;
mod bulk;
mod file;
mod keep;
pub mod learn;
mod path;
mod profile;
mod remedy_trial;
mod run;
mod scenario;
mod sender;
pub mod what_if;

pub use bulk::{Carried, Load, Stretch, offers, run as carry};
pub use file::ReadText;
pub use keep::{DEVICE, Keeper, SENDER, outgoing};
pub use path::PathScenario;
pub use profile::Profile;
pub use remedy_trial::RemedyTrial;
pub use run::{Outcome, TransferEnd, run, run_with};
pub use scenario::{Documented, Row, Scenario};
pub use sender::Method;
pub use windlass_sim::{Hop, LinkSettings};

#[cfg(test)]
#[path = "lab_tests.rs"]
mod tests;
