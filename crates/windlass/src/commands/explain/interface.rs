//! `windlass explain --follow IFACE`: what moves on an interface, and why it was slow.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use windlass_base::{Failure, Span};
use windlass_capture::CaptureFacts;
use windlass_capture::live::{Done, Dropping, Plan, Session, interfaces, link_type};
use windlass_host::now;
use windlass_output::Output;
use windlass_output::records::capture_head::LIVE;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Keep, Reasons, Transfer, WhichWaits};
use windlass_wire::filter::Wanted;
use windlass_wire::{ConnectionFilter, Endpoint, Host};

use super::ExplainArgs;
use super::follow::{EVERY, Telling};
use super::gather::{Gathered, Source};
use crate::commands::{moving, unwritten};

/// An interface that was captured.
struct Captured {
    facts: CaptureFacts,
    /// When the kernel dropped packets.
    dropping: Vec<Dropping>,
    /// Whether the interface went away.
    is_gone: bool,
}

impl Source for Captured {
    fn is_interrupted(&self) -> bool {
        // Ctrl-C is how it ends.
        false
    }

    fn report(&self, connection: &Transfer) -> ConnectionReport {
        let (from, to) = connection.lived();
        let drops = Dropping::between(&self.dropping, from, to);
        connection.report(|end| end.to_string(), Some(drops))
    }

    fn why(&self, connection: &Transfer, which: WhichWaits) -> Reasons {
        let (from, to) = connection.lived();
        let drops = Dropping::between(&self.dropping, from, to);
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
        self.is_gone.then(|| Failure::new(doing, "it is not there any more"))
    }
}

/// The interface that a name is of; nothing where there is a file of this name, or none at all.
fn named(file: &Path) -> Option<&str> {
    let name = file.to_str().filter(|name| !name.contains('/'))?;
    if file.symlink_metadata().is_ok() {
        return None;
    }
    let is_there = || interfaces(None).is_ok_and(|all| all.iter().any(|one| one.name == name));
    (name == "any" || is_there()).then_some(name)
}

/// Captures on the interface that `args` name and explains it; nothing where they name none.
pub(super) fn gathered(
    args: &ExplainArgs,
    keep: Keep,
    top: usize,
    output: &mut Output,
) -> anyhow::Result<Option<Gathered>> {
    let name = named(&args.capture.file).filter(|_| args.follow);
    name.map(|name| gather(name, args, keep, top, output)).transpose()
}

/// Captures on an interface until Ctrl-C, as `windlass capture IFACE --explain` does, and tells
/// of each second.
fn gather(
    name: &str,
    args: &ExplainArgs,
    keep: Keep,
    top: usize,
    output: &mut Output,
) -> anyhow::Result<Gathered> {
    let filter: ConnectionFilter = args.filter.into();
    let wanted = Wanted {
        hosts: filter.host.into_iter().collect(),
        ports: filter.port.into_iter().collect(),
        ..Wanted::default()
    };
    let plan = Plan::explaining(name, wanted, keep);
    let again = Arc::new(AtomicBool::new(false));
    let listening = args.live.listen_until(&again, &plan.doing())?;
    let session = Session::open(&plan)?;
    let link = session.interfaces.first().map(|one| link_type(one.framing()).to_string());
    let start = now();
    let title = || format!("windlass explain {name}");
    let live = listening.show(output, || moving::view(title(), Some(EVERY)))?;
    let mut telling = Telling::new(top, output, live);
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
    let Done { lasted, count, gone, analysis, dropping, .. } = done;
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
    let source = Captured { facts, dropping, is_gone };
    let source = Box::new(source);
    Ok(Gathered { source, connections, totals, intervals, notes: Vec::new() })
}
