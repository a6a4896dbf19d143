//! `windlass device run`: a device alone, for the user's own sender.

mod args;
#[cfg(target_os = "linux")]
mod capture;
mod facts;
#[cfg(target_os = "linux")]
mod known;
mod report;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod tap;
mod text;

pub use args::RunArgs;
pub use facts::{DeviceFacts, More, Services};
pub use report::{Connection, IppJobs, Jobs, LinkReport, Report, Way, Written};
#[cfg(target_os = "linux")]
pub(super) use session::run;

/// Says that this system has no network namespaces.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &RunArgs, _: &mut crate::print::Output) -> anyhow::Result<()> {
    use windlass_base::Failure;
    let wrong = "this system has no network namespaces";
    Err(Failure::new("cannot run the device", wrong)
        .advise("Use Linux, also in a virtual machine.")
        .into())
}
