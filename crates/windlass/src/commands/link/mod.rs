//! `windlass link`: commands whose packets cross an emulated link.

mod args;
mod settings;
mod text;

pub use args::LinkArgs;
use windlass_base::Failure;
use windlass_netlab::link::{self, Plan};

use super::ends::{conclude, report_printer};
use super::watched::Watched;
use crate::print::{Format, Output};

/// Runs the command.
pub fn run(args: &LinkArgs, output: &mut Output) -> anyhow::Result<()> {
    let mut printer = report_printer(args.report.as_deref(), output)?;
    let plan = Plan {
        ways: settings::ways(args),
        mtu: args.mtu,
        seed: args.seed,
        spin: args.spin,
        peer: args.peer.clone(),
        peer_wait: args.peer_wait,
        command: args.command.clone(),
    };
    let watch = || args.watching.start(output.format() == Format::Json);
    let (report, running) = link::run(&plan, watch)?;
    let (command, ending) = (report.command.clone(), report.ending);
    let record = Watched::new(report, running);
    printer.print(&record).map_err(|error| Failure::new("cannot write the report", error))?;
    Ok(conclude(&command, ending)?)
}
