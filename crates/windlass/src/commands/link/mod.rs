//! `windlass link`: commands whose packets cross an emulated link.

mod args;
mod settings;

pub use args::LinkArgs;
use windlass_base::Failure;
use windlass_netlab::Onlooker;
use windlass_netlab::link::{self, LinkLook, Plan};
use windlass_output::records::link::view::{self, Ways};
use windlass_output::{Format, Output};

use super::ends::{Beside, conclude, report_printer};
use super::watched::Watched;

/// Runs the command.
pub fn run(args: &LinkArgs, output: &mut Output) -> anyhow::Result<()> {
    let beside = Beside::new(args.live, &args.command, "cannot emulate the link")?;
    let mut printer = report_printer(args.report.as_deref(), output)?;
    let plan = Plan {
        ways: settings::ways(args),
        mtu: args.mtu,
        seed: args.seed,
        spin: args.spin,
        peer: args.peer.clone(),
        peer_wait: args.peer_wait,
        command: args.command.clone(),
        streams: beside.streams(args.report.as_deref(), output)?,
    };
    let mut ways = Ways::default();
    let run = |beside: &Beside, onlooker: Option<Onlooker<'_, LinkLook>>| {
        let begin = || {
            let running = args.watching.start(output.format() == Format::Json)?;
            beside.show(output, || view::view(&args.command))?;
            Ok(running)
        };
        link::run(&plan, begin, onlooker)
    };
    let (report, running) = beside.attend(|look: LinkLook| ways.stretch(&look), run)?;
    let (command, ending) = (report.command.clone(), report.ending);
    let record = Watched::new(report, running);
    printer.print(&record).map_err(|error| Failure::new("cannot write the report", error))?;
    Ok(conclude(&command, ending)?)
}
