//! Jobs on a spooler by the thousand: how fast it takes and processes them, and
//! what is at its limit meanwhile.

mod depth;
mod held;
mod hosts;
mod limits;
mod listener;
mod plan;
mod report;
mod run;
mod session;

pub use depth::Point;
pub use limits::{Disk, Figures, Limit, LimitKind, Process};
pub use plan::{Attendant, Plan, Stage};
pub use report::{
    AskedReport, FilesReport, HoldReport, LimitsReport, LoadReport, MachineReport, ProcessReport,
    Since, TargetReport, WaitingReport,
};
pub use run::{Done, Error, run};
