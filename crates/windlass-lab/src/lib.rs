#![doc = include_str!("../README.md")]
//!
//! The lab: emulated devices and links, and the transfers to them.
//!
//! A [`Scenario`] names transfers; each [`Row`] of it runs in virtual time and gives an
//! [`Outcome`]. The packets at the sender go straight to the analyser, and into a capture if one is
//! kept. [`learn`] goes the other way: from a capture to the [`Profile`] of its receiver.
//! [`what_if`] fits the simulator to a captured transfer, and changes it. A [`RemedyTrial`] makes
//! the change in the scenario itself.
//!
//! This library alone knows both the analyser and the simulator. It has no clock, no files and no
//! sockets: its caller reads and writes the files.

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

pub use bulk::{BulkResult, Load, TransferInterval, offers, run as carry};
pub use file::ReadText;
pub use keep::{DEVICE, Keeper, SENDER, outgoing};
pub use path::PathScenario;
pub use profile::Profile;
pub use remedy_trial::RemedyTrial;
pub use run::{Outcome, TransferEnd, run, run_with};
pub use scenario::{DocumentedFigures, Row, Scenario};
pub use sender::Method;
pub use windlass_sim::{Hop, LinkSettings};

#[cfg(test)]
#[path = "lab_tests.rs"]
mod tests;
