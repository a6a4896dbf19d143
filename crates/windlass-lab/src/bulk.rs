//! Bulk over a path in virtual time: parallel streams with a given window, for
//! a given time, and what a sweep wants to know of them.

mod meter;

use std::collections::BTreeMap;

use meter::Meter;
use windlass_base::{Bytes, Cause, Measurement, Span, Timestamp};
use windlass_sim::device::Window;
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

/// What is sent over the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The window that each receiver offers.
    pub window: Bytes,
    /// The streams.
    pub streams: u16,
    /// Whether it goes from the far end to the near one.
    pub reversed: bool,
    /// For how long.
    pub time: Span,
    /// What chance begins with.
    pub seed: u64,
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

/// Sends over the path, and measures at the senders. `None` where `go_on` says
/// no before the time is up.
pub fn run(
    path: &PathScenario,
    load: &Load,
    mut go_on: impl FnMut() -> bool,
) -> Option<Measurement> {
    let streams = load.streams.max(1);
    let hops = if load.reversed { path.reversed() } else { path.hops.clone() };
    let rtt: Span = hops.iter().map(|hop| hop.forward.delay + hop.backward.delay).sum();
    let stream = |number: u16| {
        // Spread over a round trip, as connections that one program opens: bursts
        // that begin at the same nanosecond would fall on each other for ever.
        let start = Timestamp::ZERO + rtt.scaled(f64::from(number) / f64::from(streams));
        let sender = SenderSettings { start, ..path.sender(ENDLESS) };
        Stream { sender, device: receiver(&path.receiver, load.window) }
    };
    let streams: Vec<Stream> = (0..streams).map(stream).collect();
    let mut watch = Watch {
        analyzer: Analyzer::new(Keep::All),
        meters: vec![Meter::default(); streams.len()],
        capture: SenderCapture::new(),
    };
    let count = streams.len();
    let mut world = World::new(&Setting { path: hops, streams, seed: load.seed }, CapturePoint(0));
    let end = Timestamp::ZERO + load.time;
    let stopped = loop {
        if !go_on() {
            return None;
        }
        let segments = (world.segments() + POLL_INTERVAL).min(MAX_SEGMENTS);
        let until = Until { time: end, segments };
        match world.run(until, &mut |event: PacketEvent<'_>| watch.sees(event)) {
            Stopped::Segments if world.segments() < MAX_SEGMENTS => {}
            stopped => break stopped,
        }
    };
    let now = if stopped == Stopped::Segments { world.now() } else { end };
    let senders = (0..count).filter_map(|stream| world.sender(stream));
    let (bytes, retransmissions) = senders.fold((Bytes::ZERO, 0), |(bytes, again), sender| {
        (bytes + sender.acknowledged(), again + sender.counters().retransmissions)
    });
    let (connections, _) = watch.analyzer.finish();
    let reports: Vec<ConnectionReport> = connections
        .iter()
        .map(|connection| connection.report(|end| end.to_string(), None))
        .collect();
    let whole = Meter::all(&watch.meters);
    Some(Measurement {
        bytes,
        time: now.since(Timestamp::ZERO),
        least_rtt: whole.least(),
        mean_rtt: whole.mean(),
        transmitted: whole.transmitted,
        retransmitted: whole.retransmitted,
        retransmissions,
        offered: reports.iter().filter_map(|report| report.receive_window.max_bytes).max(),
        cause: cause(&reports),
        // Virtual hosts have no processor.
        cpu: None,
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
