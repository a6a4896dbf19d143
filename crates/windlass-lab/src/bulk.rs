//! Bulk over a path in virtual time: parallel streams with a given window, for
//! a given time, and what a sweep wants to know of them.

mod meter;

use std::collections::BTreeMap;

use meter::Meter;
use windlass_base::{Bytes, Cause, CongestionControl, Span, Timestamp};
use windlass_sim::device::Window;
use windlass_sim::sender::Congestion;
use windlass_sim::{
    CapturePoint, Habits, PacketEvent, SenderSettings, Setting, Stopped, Stream, Until, World,
};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analyzer, Keep};

use super::keep::SenderCapture;
use super::path::PathScenario;

/// More than any measurement carries: the senders never run out.
const ENDLESS: Bytes = Bytes::new(1_000_000_000_000_000);
/// The most segments of one measurement. At 100 Gbit/s they pass in a quarter
/// of a second of virtual time, and in seconds of real time.
const MAX_SEGMENTS: u64 = 4_000_000;
/// How often a measurement looks whether it is to stop, in segments.
const POLL_INTERVAL: u64 = 50_000;
/// The window of a receiver whose kernel sizes it: what Linux offers at the most of its usual
/// buffer of 6 MB (`tcp_rmem`), of which it reckons with half for what it keeps beside the data.
/// It grows ahead of the congestion window (`tcp_rcv_space_adjust` gives twice of what came in a
/// round trip), so only its end shows.
const AUTOTUNED: Bytes = Bytes::new(3 << 20);
/// How often what was carried is told.
const INTERVAL: Span = Span::from_millis(25);

/// What is sent over the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The window that each receiver offers; without one its kernel sizes it.
    pub window: Option<Bytes>,
    /// The senders' congestion control; without one what the scenario says.
    pub congestion: Option<CongestionControl>,
    /// The streams.
    pub streams: u16,
    /// True if it goes from the far end to the near one.
    pub reversed: bool,
    /// For how long.
    pub time: Span,
    /// What chance begins with.
    pub seed: u64,
}

/// What was carried over a stretch of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The time when it began, from the begin of the transfer.
    pub from: Span,
    /// The time when it ended.
    pub to: Span,
    /// The data of all streams that was acknowledged.
    pub bytes: Bytes,
    /// The mean round trip of what was acknowledged; nothing where nothing was, but copies.
    pub rtt: Option<Span>,
    /// Segments that left again.
    pub retransmissions: u64,
}

/// What was carried in all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// The data of all streams that was acknowledged.
    pub bytes: Bytes,
    /// For how long.
    pub time: Span,
    /// The least round trip, the handshakes' included.
    pub least_rtt: Option<Span>,
    /// Data that left the senders, copies included.
    pub transmitted: Bytes,
    /// Of that, the copies.
    pub retransmitted: Bytes,
    /// Segments that left again.
    pub retransmissions: u64,
    /// The largest window that a receiver offered.
    pub offered: Option<Bytes>,
    /// What held most of the streams, by the data that they carried.
    pub cause: Option<Cause>,
    /// The congestion control of the senders.
    pub congestion: Option<CongestionControl>,
}

/// What passes the senders.
struct Watch {
    analyzer: Analyzer,
    meters: Vec<Meter>,
    capture: SenderCapture,
}

impl Watch {
    fn sees(&mut self, event: PacketEvent<'_>) {
        // The network card drops what is damaged, before a capture sees it.
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

/// What was carried so far, over all streams.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    bytes: Bytes,
    retransmissions: u64,
    rtt_total: i128,
    rtts: u64,
}

impl Totals {
    fn of(world: &World, watch: &Watch) -> Self {
        let senders = (0..watch.meters.len()).filter_map(|stream| world.sender(stream));
        let (bytes, retransmissions) = senders.fold((Bytes::ZERO, 0), |(bytes, again), sender| {
            (bytes + sender.acknowledged(), again + sender.counters().retransmissions)
        });
        let whole = Meter::all(&watch.meters);
        let (rtt_total, rtts) = whole.round_trips();
        Self { bytes, retransmissions, rtt_total, rtts }
    }

    fn stretch(self, before: Self, from: Span, to: Span) -> Stretch {
        let count = i128::from(self.rtts - before.rtts);
        let mean = (self.rtt_total - before.rtt_total).checked_div(count);
        Stretch {
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

/// Sends over the path, and measures at the senders. `tell` hears of each 25 ms, and ends
/// it by `false`. `None` where `go_on` says no before that.
pub fn run(
    path: &PathScenario,
    load: &Load,
    mut go_on: impl FnMut() -> bool,
    mut tell: impl FnMut(Stretch) -> bool,
) -> Option<Carried> {
    let streams = load.streams.max(1);
    let hops = if load.reversed { path.reversed() } else { path.hops.clone() };
    let rtt: Span = hops.iter().map(|hop| hop.forward.delay + hop.backward.delay).sum();
    let usual = path.sender(ENDLESS);
    let chosen = load.congestion.and_then(control);
    let congestion = chosen.unwrap_or(usual.congestion);
    let window = load.window.unwrap_or(AUTOTUNED);
    let stream = |number: u16| {
        // Spread over a round trip, as connections that one program opens: bursts
        // that begin at the same nanosecond would fall on each other for ever.
        let start = Timestamp::ZERO + rtt.scaled(f64::from(number) / f64::from(streams));
        let sender = SenderSettings { start, congestion, ..path.sender(ENDLESS) };
        Stream { sender, device: receiver(&path.receiver, window) }
    };
    let streams: Vec<Stream> = (0..streams).map(stream).collect();
    let mut watch = Watch {
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
        let until = Until { time: end.min(from + INTERVAL), segments };
        let stopped = world.run(until, &mut |event: PacketEvent<'_>| watch.sees(event));
        let is_full = stopped == Stopped::Segments && world.segments() >= MAX_SEGMENTS;
        if stopped == Stopped::Segments && !is_full {
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
    Some(Carried {
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

/// A receiver with a window, and the least scale that can offer it.
fn receiver(habits: &Habits, window: Bytes) -> Habits {
    let window = Window::Buffer(window);
    Habits { window, window_scale: Some(window.least_scale()), ..*habits }
}

/// What held most of the streams, by the data that they carried.
fn cause(reports: &[ConnectionReport]) -> Option<Cause> {
    let mut held: BTreeMap<Cause, Bytes> = BTreeMap::new();
    for report in reports {
        *held.entry(report.verdict.cause).or_default() += report.bytes;
    }
    held.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(cause, _)| cause)
}
