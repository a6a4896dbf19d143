//! `windlass ping`: how long a host takes to answer.

mod args;
mod progress;
mod run;
mod samples;
mod target;
mod view;

pub use args::{Pacing, PingArgs};
pub use run::run;
pub(super) use target::host;
