//! ACK latency of the device, and a separate one for small segments.

use windlass_base::Span;

use super::conversation::Conversation;
use super::parameter::{Parameter, around, bytes, size};
use super::path::{self, Path};
use super::policy::{Fit, Rule};
use super::replies::Reply;
use super::samples::Samples;

/// Shortest latency that is reported: no profile needs a shorter one, and captures are no more
/// exact.
const MIN: Span = Span::from_micros(20);
/// Least difference of two latencies; they also differ by at least a third.
const APART: Span = Span::from_micros(500);

/// Returns the parameters that the ACKs show.
pub(super) fn parameters(
    talk: &Conversation,
    replies: &[Reply],
    path: &Path,
    fit: &Fit,
) -> Vec<Parameter> {
    let mut found = vec![fit.parameter()];
    let latency = &fit.at_once;
    let typical = latency.median().unwrap_or_default();
    let count = latency.count();
    found.push(match around(latency).filter(|_| typical >= MIN) {
        Some(value) => Parameter::seen("ack", "latency", value, count, latency.told("ACK")),
        None if count == 0 => {
            Parameter::unseen("ack", "latency", 0, "Not seen: each ACK waited for its timer.")
        }
        None => {
            let how = format!("Nothing above the path's share. {}", latency.told("ACK"));
            Parameter::unseen("ack", "latency", count, how)
        }
    });
    found.push(small(talk, replies, path, fit, typical));
    found
}

fn differs(one: Span, other: Span) -> bool {
    let apart = if one > other { one - other } else { other - one };
    apart > APART && apart > one.max(other) / 3
}

/// Returns the latency of small segments: of data if each segment has its ACK, otherwise of probes.
fn small(
    talk: &Conversation,
    replies: &[Reply],
    path: &Path,
    fit: &Fit,
    typical: Span,
) -> Parameter {
    let unseen = |samples, how: String| Parameter::unseen("ack", "small-segments", samples, how);
    let alone = replies.iter().filter(|reply| {
        let counts = fit.rule == Rule::EverySegment;
        counts && reply.covered.len() == 1 && reply.largest() * 2 < talk.largest
    });
    let waits: Vec<(u32, Span)> = alone
        .filter_map(|reply| {
            let arrived = reply.covered.first()?.arrived;
            Some((reply.largest(), path.own(reply.time, arrived)))
        })
        .collect();
    // Segments whose latency differs from that of large ones.
    let others: Vec<_> = waits.iter().filter(|(_, wait)| differs(*wait, typical)).collect();
    let samples: Samples = others.iter().map(|(_, wait)| *wait).collect();
    let up_to = others.iter().map(|(payload, _)| *payload).max();
    if others.len() * 2 > waits.len()
        && let (Some(up_to), Some(value)) = (up_to, around(&samples))
    {
        let how = format!(
            "{} The largest of them had {}.",
            samples.told("small segment"),
            bytes(up_to.into())
        );
        let value = format!("{{ up-to = {}, latency = {value} }}", size(up_to.into()));
        return Parameter::seen("ack", "small-segments", value, samples.count(), how);
    }
    let probes: Samples = path::probes(talk).map(|span| (span - path.rtt).or_zero()).collect();
    let probe = probes.median().unwrap_or_default();
    if probes.count() >= 2
        && differs(probe, typical)
        && let Some(value) = around(&probes)
    {
        let value = format!("{{ up-to = \"0\", latency = {value} }}");
        return Parameter::seen(
            "ack",
            "small-segments",
            value,
            probes.count(),
            probes.told("probe"),
        );
    }
    let seen = waits.len() as u64 + probes.count();
    match seen {
        0 => unseen(0, "Not seen: no small segment had an ACK of its own.".to_owned()),
        _ => unseen(seen, format!("{seen} small segments or probes had the same latency.")),
    }
}
