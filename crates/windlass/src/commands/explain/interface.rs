//! `windlass explain --follow IFACE`: the transfers of an interface.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use windlass_base::{Failure, Span};
use windlass_capture::CaptureFacts;
use windlass_capture::live::{CaptureResult, KernelDrops, Plan, Session, interfaces, link_type};
use windlass_host::now;
use windlass_output::Output;
use windlass_output::records::capture_head::LIVE;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Keep, Reasons, Transfer, WaitSelection};
use windlass_wire::filter::PacketFilter;
use windlass_wire::{ConnectionFilter, Endpoint, Host};

use super::follow::{EVERY, IntervalPrinter};
use super::gather::{ExplainInput, Source};
use super::{ExplainArgs, doing};
use crate::commands::{moving, unwritten};

/// An interface that was captured.
struct CapturedInterface {
    facts: CaptureFacts,
    /// Times of kernel drops.
    dropping: Vec<KernelDrops>,
    /// True if the interface disappeared.
    is_gone: bool,
}

impl Source for CapturedInterface {
    fn is_interrupted(&self) -> bool {
        // Ctrl-C is how it ends.
        false
    }

    fn report(&self, connection: &Transfer) -> ConnectionReport {
        let (from, to) = connection.lived();
        let drops = KernelDrops::between(&self.dropping, from, to);
        connection.report(|end| end.to_string(), Some(drops))
    }

    fn why(&self, connection: &Transfer, which: WaitSelection) -> Reasons {
        let (from, to) = connection.lived();
        let drops = KernelDrops::between(&self.dropping, from, to);
        connection.why(|end| end.to_string(), Some(drops), which)
    }

    fn name(&self, end: Endpoint) -> String {
        end.to_string()
    }

    fn host(&self, host: Host) -> String {
        match host {
            Host::V4(address) => address.to_string(),
            Host::V6(address) => address.to_string(),
            // An interface has no names.
            Host::Named(index) => format!("#{index}"),
        }
    }

    fn facts(&self, _: String) -> CaptureFacts {
        self.facts.clone()
    }

    fn failure(&self) -> Option<Failure> {
        let doing = format!("cannot go on capturing on {}", self.facts.file);
        self.is_gone.then(|| Failure::new(doing, "the interface no longer exists"))
    }
}

/// Returns the name of an interface; `None` for a file or an unknown name.
fn named(file: &Path) -> Option<&str> {
    let name = file.to_str().filter(|name| !name.contains('/'))?;
    if file.symlink_metadata().is_ok() {
        return None;
    }
    let is_there = || interfaces(None).is_ok_and(|all| all.iter().any(|one| one.name == name));
    (name == "any" || is_there()).then_some(name)
}

/// Captures on the interface of `args`; `None` if `args` name no interface.
pub(super) fn gathered(
    args: &ExplainArgs,
    keep: Keep,
    top: usize,
    output: &mut Output,
) -> anyhow::Result<Option<ExplainInput>> {
    if !args.follow {
        return Ok(None);
    }
    let file = &args.capture.file;
    let name = named(file);
    // Standard input, a path and a member of an archive are no interfaces.
    let may_be_interface = file.components().count() == 1
        && file.to_str().is_none_or(|name| name != "-" && !name.contains("::"));
    if name.is_none() && may_be_interface && file.symlink_metadata().is_err() {
        let wrong = "there is no file and no interface of this name";
        let advice = "Check the path; `windlass capture -D` lists the interfaces.";
        return Err(Failure::new(doing(args), wrong).advise(advice).into());
    }
    name.map(|name| gather(name, args, keep, top, output)).transpose()
}

/// Captures on an interface until Ctrl-C, as `windlass capture IFACE --explain` does, and prints
/// each second.
fn gather(
    name: &str,
    args: &ExplainArgs,
    keep: Keep,
    top: usize,
    output: &mut Output,
) -> anyhow::Result<ExplainInput> {
    let filter: ConnectionFilter = args.filter.into();
    let wanted = PacketFilter {
        hosts: filter.host.into_iter().collect(),
        ports: filter.port.into_iter().collect(),
        ..PacketFilter::default()
    };
    let plan = Plan::explaining(name, wanted, keep);
    let again = Arc::new(AtomicBool::new(false));
    let listening = args.live.listen_until(&again, &plan.doing())?;
    let session = Session::open(&plan)?;
    let link = session.interfaces.first().map(|one| link_type(one.framing()).to_string());
    let start = now();
    let title = || format!("windlass explain {name}");
    let live = listening.show(output, || moving::view(title(), Some(EVERY)))?;
    let mut telling = IntervalPrinter::new(top, output, live);
    let mut told = Span::ZERO;
    let done = session.run(&listening.stop, &again, |count, look| {
        let elapsed = Span::from_duration(count.elapsed);
        if elapsed >= told + EVERY
            && let Some(look) = look(telling.top)
        {
            telling.tell(told, elapsed, look);
            told = elapsed;
        }
    })?;
    let intervals = telling.finish().map_err(unwritten)?;
    let CaptureResult { lasted, count, gone, analysis, dropping, .. } = done;
    let analysis = analysis.map(windlass_wire::Segments::finish);
    let (connections, totals, passed_over, not_tcp_kinds) = match analysis {
        Some((analysis, passed_over, kinds)) => {
            let (connections, totals) = analysis.analyzer.finish();
            (connections, totals, passed_over, kinds)
        }
        None => Default::default(),
    };
    let facts = CaptureFacts {
        file: name.to_owned(),
        member: None,
        format: LIVE.to_owned(),
        packets: count.tally.taken,
        link_types: link.iter().cloned().collect(),
        link_type: link,
        snap_length: Some(plan.snap_length),
        start_time: Some(start),
        end_time: Some(now()),
        duration_seconds: lasted,
        received: Some(count.kernel.received),
        drops: Some(count.kernel.dropped),
        passed_over,
        not_tcp_kinds,
        damage: None,
        // Ctrl-C is how it ends.
        interrupted: false,
    };
    let is_gone = gone.contains(&true);
    let source = CapturedInterface { facts, dropping, is_gone };
    let source = Box::new(source);
    Ok(ExplainInput { source, connections, totals, intervals, notes: Vec::new() })
}
