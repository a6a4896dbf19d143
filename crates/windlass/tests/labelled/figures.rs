//! Figures of a transfer from both ends, the link and both captures, with names.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_wire::{Flags, Segment};

use crate::plan::Plan;
use windlass_testkit::segments::segments_of;

/// Figures by their names.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Sources of figures.
pub(crate) struct Sources {
    pub(crate) sender: Value,
    pub(crate) receiver: Value,
    pub(crate) link: Value,
    pub(crate) at_sender: PathBuf,
    pub(crate) at_receiver: PathBuf,
}

/// Measures a transfer.
pub(crate) fn figures(plan: &Plan, sources: &Sources) -> Result<Figures, String> {
    let mut told = Figures::new();
    let mut put = |name: &str, value: f64| {
        told.insert(name.to_owned(), value);
    };
    let number = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_f64);

    let sent = Side::of(&sources.at_sender)?;
    let arrived = Side::of(&sources.at_receiver)?;
    put("rate", arrived.bytes / arrived.seconds.max(1e-3));
    put("bytes", arrived.bytes);
    put("seconds", arrived.seconds);
    put("data_segments", arrived.data_segments);
    put("mean_segment", sent.bytes / sent.wire_segments.max(1.0));
    put("resent", sent.resent / sent.bytes.max(1.0));
    put("lost_data", (sent.data_bytes - arrived.data_bytes) / sent.data_bytes.max(1.0));
    put("median_flight", sent.flight(0.5));
    put("top_flight", sent.flight(0.95));
    put("zero_window", sent.zero_window / sent.seconds.max(1e-3));
    put("handshake", sent.handshake);
    put("largest_window", sent.largest_window);
    put("silent", sent.silent / sent.seconds.max(1e-3));
    put("idle_gaps", sent.idle / sent.seconds.max(1e-3));

    for (way, name) in [(plan.ahead(), "ahead"), (plan.back(), "back")] {
        let of = |field: &str| number(&sources.link, &format!("/{way}/{field}")).unwrap_or(0.0);
        put(&format!("queue_drops_{name}"), of("dropped_by_queue"));
        put(&format!("lost_{name}"), of("lost"));
        let all = (of("packets") + of("lost")).max(1.0);
        put(&format!("loss_{name}"), of("lost") / all);
        put(&format!("policed_{name}"), of("policed"));
        put(&format!("marked_{name}"), of("marked"));
        put(&format!("reordered_{name}"), of("reordered"));
        put(&format!("queue_{name}"), of("queue_high_water_bytes"));
        let waited = of("delay_seconds/mean") - of("delay_seconds/min");
        put(&format!("waited_{name}"), waited);
        let seconds = number(&sources.link, "/seconds").unwrap_or(0.0);
        put(&format!("busy_{name}"), of("busy") * seconds / arrived.seconds.max(1e-3));
    }
    let ahead = number(&sources.link, &format!("/{}/bytes", plan.ahead())).unwrap_or(0.0);
    put("line_share", ahead / arrived.seconds.max(1e-3) / plan.line);
    let missed = ["up", "down"].map(|way| number(&sources.link, &format!("/{way}/missed")));
    put("missed", missed.into_iter().flatten().sum());
    put("lengthened", number(&sources.link, "/lengthened").unwrap_or(0.0));

    let shares = sources.sender["shares"].as_object().into_iter().flatten();
    let shares: HashMap<&str, f64> =
        shares.map(|(name, share)| (name.as_str(), share.as_f64().unwrap_or(0.0))).collect();
    let share = |names: &[&str]| names.iter().filter_map(|name| shares.get(name)).sum::<f64>();
    put("nothing_unsent", share(&["idle", "unfilled", "tail"]));
    put("idle", share(&["idle"]));
    put("tail", share(&["tail"]));
    // While segments are gathered for one packet, a sample finds a part of the window free.
    let kernel = |name: &str| number(&sources.sender, &format!("/{name}")).unwrap_or(0.0);
    put("window", share(&["window"]).max(kernel("rwnd_limited") / kernel("busy").max(1.0)));
    put("withheld", arrived.withheld / arrived.seconds.max(1e-3));
    put("flight_spread", sent.flight(0.8) / sent.flight(0.3).max(1.0));
    put("cwnd", share(&["slow_start", "avoidance"]));
    put("avoidance", share(&["avoidance"]));
    put("recovery", share(&["recovery"]));
    put("timeout", share(&["timeout"]));
    put("repair", share(&["recovery", "timeout"]));
    put("loss_chain", share(&["recovery", "timeout", "avoidance"]));
    put("other", share(&["other"]));
    for name in ["first_slow_start", "mean_flight", "max_flight", "mean_cwnd", "mean_rtt"] {
        put(name, number(&sources.sender, &format!("/{name}")).unwrap_or(0.0));
    }
    for name in ["cwnd_used", "samples", "dsack", "reordered", "marked", "app_limited"] {
        put(name, number(&sources.sender, &format!("/{name}")).unwrap_or(0.0));
    }
    let of_time = |end: &Value, name: &str| {
        let whole = number(end, "/program_seconds").unwrap_or(0.0).max(1e-3);
        number(end, &format!("/{name}")).map(|spent| spent / whole)
    };
    for (name, spent) in [("blocked", "write"), ("asleep", "sleep"), ("awaiting", "read")] {
        if let Some(share) = of_time(&sources.sender, spent) {
            put(name, share);
        }
    }
    put("reader_asleep", of_time(&sources.receiver, "sleep").unwrap_or(0.0));
    put("unread", number(&sources.receiver, "/unread").unwrap_or(0.0));
    put("mean_unread", number(&sources.receiver, "/mean_unread").unwrap_or(0.0));
    let lost = |end: &Value| number(end, "/capture_lost").unwrap_or(-1.0);
    put("capture_lost", lost(&sources.sender) + lost(&sources.receiver));
    Ok(told)
}

/// Figures of a capture's segments, in the direction with the most data.
#[derive(Default)]
struct Side {
    bytes: f64,
    data_bytes: f64,
    resent: f64,
    data_segments: f64,
    wire_segments: f64,
    seconds: f64,
    handshake: f64,
    zero_window: f64,
    idle: f64,
    silent: f64,
    withheld: f64,
    largest_window: f64,
    flights: Vec<f64>,
}

impl Side {
    fn of(file: &Path) -> Result<Self, String> {
        let segments = segments_of(file);
        let mut sums: HashMap<u16, u64> = HashMap::new();
        for one in &segments {
            *sums.entry(one.source.port).or_default() += u64::from(one.payload);
        }
        let sender = sums.into_iter().max_by_key(|(_, sum)| *sum).map(|(port, _)| port);
        let sender = sender.ok_or("nothing was captured")?;
        let mut side = Self::default();
        let mss = side.opened(&segments);
        let scale = segments
            .iter()
            .filter(|one| one.flags.has(Flags::SYN) && one.source.port != sender)
            .find_map(|one| one.options.window_scale)
            .filter(|_| {
                let syns = segments.iter().filter(|one| one.flags.has(Flags::SYN));
                syns.clone().all(|one| one.options.window_scale.is_some())
            })
            .unwrap_or(0);
        let start = segments
            .iter()
            .find(|one| one.source.port == sender && one.flags.has(Flags::SYN))
            .and_then(|one| one.sequence)
            .ok_or("no handshake")?;
        let (mut highest, mut acked) = (1_u64, 1_u64);
        let (mut first, mut last) = (None, None);
        let (mut heard, mut unanswered) = (0.0, None);
        let (mut closed_since, mut idle_since): (Option<f64>, Option<f64>) = (None, None);
        for one in &segments {
            let now = one.time.since(segments[0].time).as_seconds();
            let waited = now - std::mem::replace(&mut heard, now);
            if one.flags.has(Flags::SYN) {
                continue;
            }
            if one.source.port == sender {
                if one.payload == 0 {
                    continue;
                }
                let offset = u64::from(one.sequence.unwrap_or(start).wrapping_sub(start));
                let end = offset + u64::from(one.payload);
                unanswered.get_or_insert(now);
                side.data_bytes += f64::from(one.payload);
                side.data_segments += 1.0;
                side.wire_segments += (f64::from(one.payload) / mss).ceil();
                let again = highest.min(end).saturating_sub(offset) as f64;
                side.resent += again;
                // Silence that only a timer ended.
                if again > 0.0 && waited > 1.5 * side.handshake {
                    side.silent += waited;
                }
                highest = highest.max(end);
                first.get_or_insert(now);
                last = Some(now);
                side.flights.push(highest.saturating_sub(acked) as f64);
                if let Some(since) = idle_since.take() {
                    side.idle += now - since;
                }
            } else if one.flags.has(Flags::ACK) && !one.flags.has(Flags::RST) {
                // At the receiver: longer than Linux takes to see a second segment.
                let late = unanswered.take().map_or(0.0, |since: f64| now - since);
                side.withheld += if late > 0.009 { late } else { 0.0 };
                acked = acked.max(u64::from(one.acknowledgment.wrapping_sub(start)));
                let window = f64::from(u32::from(one.window) << scale);
                side.largest_window = side.largest_window.max(window);
                match (window == 0.0, closed_since) {
                    (true, None) => closed_since = Some(now),
                    (false, Some(since)) => {
                        side.zero_window += now - since;
                        closed_since = None;
                    }
                    _ => {}
                }
                if acked >= highest && highest > 1 && idle_since.is_none() {
                    idle_since = Some(now);
                }
            }
        }
        side.bytes = (highest - 1) as f64;
        side.seconds = last.zip(first).map_or(0.0, |(last, first): (f64, f64)| last - first);
        Ok(side)
    }

    /// Reads the handshake: its round trip, and the segment that both ends agree on.
    fn opened(&mut self, segments: &[Segment]) -> f64 {
        let syns: Vec<&Segment> = segments.iter().filter(|one| one.flags.has(Flags::SYN)).collect();
        if let [syn, .., answer] = syns[..] {
            self.handshake = answer.time.since(syn.time).as_seconds();
        }
        let least = syns.iter().filter_map(|one| one.options.mss).min().unwrap_or(1460);
        let stamped = syns.iter().all(|one| one.options.timestamps.is_some());
        f64::from(least) - if stamped { 12.0 } else { 0.0 }
    }

    /// Returns a quantile of the data in flight.
    fn flight(&self, share: f64) -> f64 {
        let mut all = self.flights.clone();
        all.sort_by(f64::total_cmp);
        all.get(((all.len() as f64 - 1.0).max(0.0) * share) as usize).copied().unwrap_or(0.0)
    }
}
