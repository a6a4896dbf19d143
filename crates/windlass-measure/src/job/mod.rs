//! One print job, and what held it back.

mod advice;
mod choice;
mod gauge;
mod learn;
mod packets;
mod report;
mod run;

pub use choice::{By, Choice, Outcome};
pub use packets::Captured;
pub use report::{DocumentReport, From, JobReport, PrintReport, TargetReport, TransferReport};
pub use run::{Attendant, Done, Plan, SendBuffer, run};
