//! `windlass ping`: how long a host takes to answer.

mod args;
mod progress;
mod run;
mod samples;
mod view;

pub use args::{Pacing, PingArgs};
pub use run::run;
