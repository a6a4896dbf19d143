//! Promises of remedies against their effect: the simulator makes the named change.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use windlass_base::{Bytes, Span};
use windlass_sim::Setting;
use windlass_sim::device::{AckPolicy, Latency, Window};
use windlass_sim::sender::WritePattern;
use windlass_trace::report::{Confidence, Remedy};

use super::setting::Injected;
use super::what_if::{followed, rate};

/// Maximum ratio of promised to actual rate. A transfer is short here, and the law of its slow
/// start is faster than any receiver with delayed ACKs.
const MOST: f64 = 1.6;

/// No change gives more than this factor of a bound: how a transfer ends is no part of its laws.
pub(crate) const EXCEEDED: f64 = 1.03;

/// Settings of each kind.
const EACH: u64 = 40;

/// Transfers of programs that pause: few of their captures alone show the possible rate.
const EACH_OF_PAUSES: u64 = 80;

/// A setting with what a remedy asks for, and that in a word; nothing where the simulator cannot
/// make it.
fn changed(setting: &Setting, remedy: &Remedy) -> Option<(&'static str, Setting)> {
    let mut after = setting.clone();
    let stream = &mut after.streams[0];
    let action = remedy.action.to_string();
    let what = match remedy.what_if.as_deref().and_then(|text| text.split_once('=')) {
        Some(("window", value)) => {
            let value = Bytes::new(value.parse().unwrap());
            stream.device.window = match stream.device.window {
                Window::Buffer(_) => Window::Buffer(value),
                _ => Window::Fixed(value),
            };
            stream.device.window_scale = stream.device.window_scale.or(Some(7));
            "window"
        }
        Some(("send-buffer", value)) => {
            stream.sender.send_buffer = Some(Bytes::new(value.parse().unwrap()));
            "send-buffer"
        }
        Some(("loss", _)) => {
            after.path.iter_mut().for_each(|hop| hop.forward.loss = 0.0);
            "loss"
        }
        Some(("ack-loss", _)) => {
            after.path.iter_mut().for_each(|hop| hop.backward.loss = 0.0);
            "ack-loss"
        }
        Some(("reordering", _)) => {
            after.path.iter_mut().for_each(|hop| hop.forward.reorder = 0.0);
            "reordering"
        }
        Some(("ack-latency", _)) => {
            stream.device.ack = AckPolicy::EverySegment;
            stream.device.ack_latency = Latency::of(Span::ZERO);
            "ack-latency"
        }
        None if action.contains("could send without a pause") => {
            stream.sender.writes = WritePattern::Bulk;
            "no-pause"
        }
        None if action.contains("TCP_NODELAY") => {
            stream.sender.nagle = false;
            "nodelay"
        }
        _ => return None,
    };
    Some((what, after))
}

fn each(injected: Injected) -> u64 {
    if matches!(injected, Injected::SenderIdle) { EACH_OF_PAUSES } else { EACH }
}

#[test]
fn a_change_gives_what_its_remedy_promised() {
    let mut tried: BTreeMap<&str, u32> = BTreeMap::new();
    let mut table = String::new();
    for (injected, seed) in
        Injected::ALL.into_iter().flat_map(|one| (0..each(one)).map(move |seed| (one, seed)))
    {
        let prepared = injected.prepare(seed);
        let before = followed(&prepared.setting, prepared.capture_point);
        let verdict = before.report(|end| end.to_string(), None).verdict;
        for remedy in verdict.remedies.iter().filter(|_| verdict.confidence != Confidence::Low) {
            let most = remedy.at_most_bytes_per_second;
            let Some(promised) = remedy.expected_bytes_per_second.or(most) else { continue };
            let Some((what, after)) = changed(&prepared.setting, remedy) else { continue };
            *tried.entry(what).or_default() += 1;
            let promised = promised.bytes_per_second();
            let gives = rate(&followed(&after, prepared.capture_point));
            let (kind, is_kept) = match most {
                Some(most) => ("at most", gives <= most.bytes_per_second() * EXCEEDED),
                None => ("expect", promised <= gives * MOST),
            };
            if !is_kept {
                let (name, at) = (injected.name(), prepared.capture_point.0);
                let _ = writeln!(
                    table,
                    "{name} {seed} at {at}, {}: {what}: {kind} {promised:.0} B/s, and it gives \
                     {gives:.0}",
                    prepared.what
                );
            }
        }
    }
    assert!(table.is_empty(), "{table}");
    for what in [
        "window",
        "ack-latency",
        "send-buffer",
        "loss",
        "ack-loss",
        "reordering",
        "no-pause",
        "nodelay",
    ] {
        assert!(tried.get(what).is_some_and(|count| *count >= 10), "{what} of {tried:?}");
    }
}
