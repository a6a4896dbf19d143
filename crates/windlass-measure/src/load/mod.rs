//! Jobs on a spooler by the thousand: how fast it takes and processes them, and
//! what is at its limit meanwhile.

mod advice;
mod compare;
mod cups;
mod depth;
mod figures;
mod held;
mod hosts;
mod limits;
mod listener;
mod observe;
mod plan;
mod report;
mod run;
mod session;
mod stages;

pub use advice::SettingAdvice;
pub use compare::{Compared, Comparison, Difference, FigureUnit, NotComparable};
pub use cups::{CupsSettings, Setting};
pub use depth::Point;
pub use figures::{Disk, Figures, Process};
pub use limits::{Limit, LimitKind};
pub use observe::{JobStages, ProgramShare, StageShare};
pub use plan::{Attendant, Plan, Stage};
pub use report::{
    AskedReport, FilesReport, HoldReport, LimitsReport, LoadReport, MachineReport, OutcomesReport,
    ProcessReport, Since, TargetReport, WaitEnd, WaitingReport,
};
pub use run::{Error, LoadOutcome, run};
pub use stages::JobStage;
