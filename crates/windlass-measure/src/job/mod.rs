//! One print job, and its limit.

mod advice;
mod choice;
mod decision;
mod gauge;
mod learn;
mod packets;
mod report;
mod run;
mod watch;

pub use choice::{Choice, Outcome, VerdictSource};
pub use packets::{CapturePolicy, CapturedPackets, ReportMaker, by_laws};
pub use report::{
    DocumentReport, DocumentSource, JobReport, PrintReport, TargetReport, TransferReport,
};
pub use run::{Attendant, JobOutcome, Plan, SendBuffer, run};
pub use watch::JobWatch;
