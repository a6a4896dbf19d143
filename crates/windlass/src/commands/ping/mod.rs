//! `windlass ping`: how long a host takes to answer.

mod args;
mod histogram;
mod progress;
mod report;
mod run;
mod samples;
mod target;
mod text;
mod view;

pub use args::{Pacing, PingArgs};
pub use histogram::{Bucket, Buckets};
pub use report::PingReport;
pub use run::run;
pub use target::Target;
pub(super) use target::host;
