//! Loading a spooler with thousands of jobs: how fast it accepts and processes them, and its limit.

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
pub use compare::{CompareError, ComparedFigure, Comparison, Difference, FigureUnit};
pub use cups::{CupsSettings, Setting};
pub use depth::Point;
pub use figures::{Disk, Figures, Process};
pub use limits::{Limit, LimitKind};
pub use observe::{JobStages, ProgramShare, StageShare};
pub use plan::{Attendant, Plan, Stage};
pub use report::{
    AskedReport, FilesReport, HoldReport, LimitsReport, LoadReport, MachineReport, OutcomesReport,
    ProcessReport, TargetReport, WaitEnd, WaitStart, WaitingReport,
};
pub use run::{Error, LoadOutcome, run};
pub use stages::JobStage;
