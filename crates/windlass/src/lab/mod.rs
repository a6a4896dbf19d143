//! The lab: emulated devices and links, and the transfers to them.
//!
//! A [`Scenario`] names transfers; each [`Row`] of it runs in virtual time and
//! gives an [`Outcome`]. What passes the sender goes straight to the analyser,
//! and into a capture where one is to be kept.

pub mod built_in;
mod bulk;
mod file;
mod keep;
mod link;
mod path;
mod profile;
#[cfg(target_os = "linux")]
pub mod real;
mod run;
mod scenario;
mod sender;
mod values;

pub use bulk::{Carried, Load, run as carry};
pub use keep::Keeper;
pub use path::PathScenario;
pub use profile::Profile;
pub(crate) use run::{DEVICE, SENDER};
pub use run::{Ended, Outcome, run};
pub use scenario::{Documented, Method, Row, Scenario};

#[cfg(test)]
#[path = "lab_tests.rs"]
mod tests;
