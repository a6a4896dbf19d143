//! `windlass link`: commands whose packets cross an emulated link.

mod args;
#[cfg(target_os = "linux")]
mod emulator;
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod settings;

pub use args::LinkArgs;
pub use report::{Addresses, Delay, Late, PeerReport, Report, Settings, WayReport};
#[cfg(target_os = "linux")]
pub use run::run;

pub use crate::ends::{Ending, Scheduling};

/// Says that this system has no network namespaces.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &LinkArgs, _: &mut crate::print::Output) -> anyhow::Result<()> {
    use windlass_base::Failure;
    let wrong = "this system has no network namespaces";
    Err(Failure::new("cannot emulate a link", wrong)
        .advise("Use Linux, also in a virtual machine.")
        .into())
}
