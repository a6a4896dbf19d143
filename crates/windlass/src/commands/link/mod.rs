//! `windlass link`: commands whose packets cross an emulated link.

mod args;
mod settings;

pub use args::LinkArgs;
use windlass_base::Failure;
use windlass_netlab::Onlooker;
use windlass_netlab::link::{self, LinkPlan, LinkSnapshot};
use windlass_output::records::link::view::{self, LinkTraffic};
use windlass_output::{Format, Output};

use super::ends::{CommandView, conclude, report_printer};
use super::watched::WatchedRecord;

/// Runs the command.
pub fn run(args: &LinkArgs, output: &mut Output) -> anyhow::Result<()> {
    let beside = CommandView::new(args.live, &args.command, "cannot emulate the link")?;
    let mut printer = report_printer(args.report.as_deref(), output)?;
    let plan = LinkPlan {
        ways: settings::ways(args),
        mtu: args.mtu,
        seed: args.seed,
        spin: args.spin,
        peer: args.peer.clone(),
        peer_wait: args.peer_wait,
        command: args.command.clone(),
        streams: beside.streams(args.report.as_deref(), output)?,
    };
    let mut ways = LinkTraffic::default();
    let run = |beside: &CommandView, onlooker: Option<Onlooker<'_, LinkSnapshot>>| {
        let begin = || {
            let running = args.watching.start(output.format() == Format::Json)?;
            beside.show(output, || view::view(&args.command))?;
            Ok(running)
        };
        link::run(&plan, begin, onlooker)
    };
    let (report, running) = beside.attend(|look: LinkSnapshot| ways.stretch(&look), run)?;
    let (command, ending) = (report.command.clone(), report.ending);
    let record = WatchedRecord::new(report, running);
    printer.print(&record).map_err(|error| Failure::new("cannot write the report", error))?;
    Ok(conclude(&command, ending)?)
}
