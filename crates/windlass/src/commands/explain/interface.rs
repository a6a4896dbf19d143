//! `windlass explain --follow IFACE`: what moves on an interface, and why it was slow.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use windlass_base::Span;
use windlass_capture::CaptureFacts;
use windlass_capture::live::{Done, Plan, Session, interfaces, link_type};
use windlass_host::now;
use windlass_trace::Keep;
use windlass_wire::ConnectionFilter;
use windlass_wire::filter::Wanted;

use super::follow::{EVERY, Telling};
use super::gather::{Gathered, Source};
use super::{ExplainArgs, LIVE};
use crate::commands::{moving, unwritten};
use crate::print::Output;

/// The interface that a name is of; nothing where there is a file of this name, or none at all.
pub(super) fn named(file: &Path) -> Option<&str> {
    let name = file.to_str().filter(|name| !name.contains('/'))?;
    if file.symlink_metadata().is_ok() {
        return None;
    }
    let is_there = || interfaces(None).is_ok_and(|all| all.iter().any(|one| one.name == name));
    (name == "any" || is_there()).then_some(name)
}

/// Captures on an interface until Ctrl-C, as `windlass capture IFACE --explain` does, and tells
/// of each second.
pub(super) fn gather(
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
    let source = Source::Interface { facts: Box::new(facts), dropping, is_gone };
    Ok(Gathered { source, connections, totals, intervals, notes: Vec::new() })
}
