//! Sweeps on systems that measure no path to a host.

use windlass_base::Failure;
use windlass_output::Output;

use super::SweepArgs;

pub(super) fn sweep(args: &SweepArgs, _: &mut Output) -> anyhow::Result<()> {
    let doing = match &args.to.host {
        Some(host) => format!("cannot sweep the path to {host}"),
        None => "cannot sweep".to_owned(),
    };
    let wrong = "paths to hosts are measured on Linux, by what its TCP says of itself";
    Err(Failure::usage(doing, wrong)
        .advise("Name a scenario with --simulate, or run this on Linux.")
        .into())
}
