//! One print job, and what held it back.

mod advice;
mod choice;
mod decision;
mod gauge;
mod learn;
mod packets;
mod report;
mod run;
mod watch;

pub use choice::{By, Choice, Outcome};
pub use packets::{Captured, Capturing, Reported, by_laws};
pub use report::{DocumentReport, From, JobReport, PrintReport, TargetReport, TransferReport};
pub use run::{Attendant, JobOutcome, Plan, SendBuffer, run};
pub use watch::Watch;
