//! Jobs on a spooler by the thousand: how fast it takes and processes them, and
//! what is at its limit meanwhile.

mod depth;
mod held;
mod hosts;
mod limits;
mod listener;
mod report;
mod run;
mod session;

pub use depth::Point;
pub use held::HoldReport;
pub use limits::{Disk, Figures, Limit, LimitKind, Process};
pub use report::{
    AskedReport, FilesReport, LimitsReport, LoadReport, MachineReport, ProcessReport, Since,
    TargetReport, WaitingReport,
};
pub use run::{Attendant, Done, Error, Plan, Stage, run};
