//! Bulk transfers over a path in virtual time: parallel streams with a given window, for a given
//! time, and the results that a sweep needs.

mod meter;

use std::collections::BTreeMap;

use meter::Meter;
use windlass_base::{Bytes, Cause, CongestionControl, Span, Timestamp};
use windlass_sim::device::Window;
use windlass_sim::sender::Congestion;
use windlass_sim::{
    CapturePoint, Habits, PacketEvent, RunLimits, SenderSettings, Setting, StopReason, Stream,
    World,
};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analyzer, Keep};

use super::keep::SenderCapture;
use super::path::PathScenario;

/// More data than any measurement carries: the senders never run out.
const ENDLESS: Bytes = Bytes::new(1_000_000_000_000_000);
/// Maximum segments of one measurement. At 100 Gbit/s they pass in a quarter of a second of virtual
/// time, and in seconds of real time.
const MAX_SEGMENTS: u64 = 4_000_000;
/// Interval at which a measurement checks whether to stop, in segments.
const POLL_INTERVAL: u64 = 50_000;
/// Window of a receiver whose kernel sizes it: Linux's largest offer with its usual maximum buffer
/// of 6 MB (`tcp_rmem`). Linux reserves half of the buffer for its overhead. The window grows ahead
/// of the congestion window, by twice the data of a round trip (`tcp_rcv_space_adjust`), so only
/// its final size matters.
const AUTOTUNED: Bytes = Bytes::new(3 << 20);
/// Interval of the progress reports.
const INTERVAL: Span = Span::from_millis(25);

/// Load on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Window of each receiver; `None` for one that the kernel sizes.
    pub window: Option<Bytes>,
    /// Congestion control of the senders; `None` for that of the scenario.
    pub congestion: Option<CongestionControl>,
    /// Number of streams.
    pub streams: u16,
    /// True if the data goes from the far end to the near end.
    pub reversed: bool,
    /// For how long.
    pub time: Span,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Progress of the streams in an interval of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferInterval {
    /// Start of the interval, from the start of the transfer.
    pub from: Span,
    /// End of the interval, from the start of the transfer.
    pub to: Span,
    /// The data of all streams that was acknowledged.
    pub bytes: Bytes,
    /// Mean round trip of the acknowledged data; `None` without any, retransmissions aside.
    pub rtt: Option<Span>,
    /// Segments that left again.
    pub retransmissions: u64,
}

/// Result of a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkResult {
    /// The data of all streams that was acknowledged.
    pub bytes: Bytes,
    /// For how long.
    pub time: Span,
    /// Shortest round trip, the handshakes' included.
    pub least_rtt: Option<Span>,
    /// Data that left the senders, retransmissions included.
    pub transmitted: Bytes,
    /// Retransmitted part of this data.
    pub retransmitted: Bytes,
    /// Segments that left again.
    pub retransmissions: u64,
    /// Largest window that a receiver offered.
    pub offered: Option<Bytes>,
    /// Limiting cause of most streams, weighted by their data.
    pub cause: Option<Cause>,
    /// Congestion control of the senders.
    pub congestion: Option<CongestionControl>,
}

/// Observer of the packets at the senders.
struct BulkObserver {
    analyzer: Analyzer,
    meters: Vec<Meter>,
    capture: SenderCapture,
}

impl BulkObserver {
    fn sees(&mut self, event: PacketEvent<'_>) {
        // The network card drops damaged packets before a capture sees them.
        if event.damaged {
            return;
        }
        let PacketEvent { time, direction, segment, stream, .. } = event;
        if let Some(meter) = self.meters.get_mut(stream) {
            meter.sees(time, direction, segment);
        }
        let (captured, _) = self.capture.next(time, direction, segment);
        self.analyzer.segment(&captured, &mut ());
    }
}

/// Totals so far, over all streams.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    bytes: Bytes,
    retransmissions: u64,
    rtt_total: i128,
    rtts: u64,
}

impl Totals {
    fn of(world: &World, watch: &BulkObserver) -> Self {
        let senders = (0..watch.meters.len()).filter_map(|stream| world.sender(stream));
        let (bytes, retransmissions) = senders.fold((Bytes::ZERO, 0), |(bytes, again), sender| {
            (bytes + sender.acknowledged(), again + sender.counters().retransmissions)
        });
        let whole = Meter::all(&watch.meters);
        let (rtt_total, rtts) = whole.round_trips();
        Self { bytes, retransmissions, rtt_total, rtts }
    }

    fn stretch(self, before: Self, from: Span, to: Span) -> TransferInterval {
        let count = i128::from(self.rtts - before.rtts);
        let mean = (self.rtt_total - before.rtt_total).checked_div(count);
        TransferInterval {
            from,
            to,
            bytes: self.bytes - before.bytes,
            rtt: mean.and_then(|mean| i64::try_from(mean).ok()).map(Span::from_nanos),
            retransmissions: self.retransmissions - before.retransmissions,
        }
    }
}

/// Returns whether the senders of the simulation have this congestion control.
pub fn offers(congestion: CongestionControl) -> bool {
    control(congestion).is_some()
}

fn control(congestion: CongestionControl) -> Option<Congestion> {
    match congestion.name() {
        "cubic" => Some(Congestion::Cubic),
        "reno" => Some(Congestion::Reno),
        _ => None,
    }
}

/// Sends over the path, and measures at the senders. Calls `tell` each 25 ms, and ends early if it
/// returns `false`. Returns `None` if `go_on` returns `false` before the end.
pub fn run(
    path: &PathScenario,
    load: &Load,
    mut go_on: impl FnMut() -> bool,
    mut tell: impl FnMut(TransferInterval) -> bool,
) -> Option<BulkResult> {
    let streams = load.streams.max(1);
    let hops = if load.reversed { path.reversed() } else { path.hops.clone() };
    let rtt: Span = hops.iter().map(|hop| hop.forward.delay + hop.backward.delay).sum();
    let usual = path.sender(ENDLESS);
    let chosen = load.congestion.and_then(control);
    let congestion = chosen.unwrap_or(usual.congestion);
    let window = load.window.unwrap_or(AUTOTUNED);
    let stream = |number: u16| {
        // Starts are spread over a round trip, as for connections of one program. Bursts that start
        // at the same nanosecond would collide for ever.
        let start = Timestamp::ZERO + rtt.scaled(f64::from(number) / f64::from(streams));
        let sender = SenderSettings { start, congestion, ..path.sender(ENDLESS) };
        Stream { sender, device: receiver(&path.receiver, window) }
    };
    let streams: Vec<Stream> = (0..streams).map(stream).collect();
    let mut watch = BulkObserver {
        analyzer: Analyzer::new(Keep::All),
        meters: vec![Meter::default(); streams.len()],
        capture: SenderCapture::new(),
    };
    let mut world = World::new(&Setting { path: hops, streams, seed: load.seed }, CapturePoint(0));
    let end = Timestamp::ZERO + load.time;
    let (mut before, mut from) = (Totals::default(), Timestamp::ZERO);
    loop {
        if !go_on() {
            return None;
        }
        let segments = (world.segments() + POLL_INTERVAL).min(MAX_SEGMENTS);
        let until = RunLimits { time: end.min(from + INTERVAL), segments };
        let stopped = world.run(until, &mut |event: PacketEvent<'_>| watch.sees(event));
        let is_full = stopped == StopReason::Segments && world.segments() >= MAX_SEGMENTS;
        if stopped == StopReason::Segments && !is_full {
            continue;
        }
        let now = if is_full { world.now() } else { until.time };
        let totals = Totals::of(&world, &watch);
        let since = |time: Timestamp| time.since(Timestamp::ZERO);
        let goes_on = tell(totals.stretch(before, since(from), since(now)));
        (before, from) = (totals, now);
        if is_full || now >= end || !goes_on {
            break;
        }
    }
    let (connections, _) = watch.analyzer.finish();
    let reports: Vec<ConnectionReport> = connections
        .iter()
        .map(|connection| connection.report(|end| end.to_string(), None))
        .collect();
    let whole = Meter::all(&watch.meters);
    Some(BulkResult {
        bytes: before.bytes,
        time: from.since(Timestamp::ZERO),
        least_rtt: whole.least,
        transmitted: whole.transmitted,
        retransmitted: whole.retransmitted,
        retransmissions: before.retransmissions,
        offered: reports.iter().filter_map(|report| report.receive_window.max_bytes).max(),
        cause: cause(&reports),
        congestion: match congestion {
            Congestion::Cubic => "cubic".parse().ok(),
            Congestion::Reno => "reno".parse().ok(),
            Congestion::None => None,
        },
    })
}

/// Returns a receiver with a window, and the least scale that can offer it.
fn receiver(habits: &Habits, window: Bytes) -> Habits {
    let window = Window::Buffer(window);
    Habits { window, window_scale: Some(window.least_scale()), ..*habits }
}

/// Returns the limiting cause of most streams, weighted by their data.
fn cause(reports: &[ConnectionReport]) -> Option<Cause> {
    let mut held: BTreeMap<Cause, Bytes> = BTreeMap::new();
    for report in reports {
        *held.entry(report.verdict.cause).or_default() += report.bytes;
    }
    held.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(cause, _)| cause)
}
