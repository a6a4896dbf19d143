//! Observer at the sender: passes packets to the analyser and to the capture, and records the
//! progress of the transfer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use windlass_base::{Bytes, Span, Timestamp};
use windlass_lab::Keeper;
use windlass_lab::what_if;
use windlass_sim::Direction;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analyzer, Keep};
use windlass_wire::Flags;

use super::emulator::{Observer, PacketEvent};

/// Progress of a running transfer, for other threads.
#[derive(Debug, Default)]
pub(super) struct SharedProgress {
    /// Bytes of the stream that are acknowledged.
    pub(super) acknowledged: AtomicU64,
    /// Largest flight: bytes sent and not acknowledged.
    pub(super) flight: AtomicU64,
    /// True once all data is acknowledged and answered.
    pub(super) delivered: AtomicBool,
    /// True once the device has reset the connection.
    pub(super) reset: AtomicBool,
}

/// Progress of a direction's stream.
#[derive(Clone, Copy, Debug, Default)]
struct StreamProgress {
    /// Sequence number of the first byte of data.
    first: Option<u32>,
    /// Bytes of the stream that were observed, and those acknowledged.
    sent: u64,
    acknowledged: u64,
}

impl StreamProgress {
    /// Returns the stream position of a sequence number near `near`. A number before the stream is
    /// at position 0.
    fn place(&self, number: u32, near: u64) -> Option<u64> {
        let expected = self.first?.wrapping_add(near as u32);
        let distance = number.wrapping_sub(expected).cast_signed();
        Some(near.saturating_add_signed(i64::from(distance)))
    }
}

/// The observer at the sender.
pub(super) struct TransferObserver {
    analyzer: Analyzer,
    pub(super) keeper: Option<Keeper>,
    number: u64,
    segments: u64,
    /// Bytes of the stream, and of its answers.
    whole: (u64, u64),
    ways: [StreamProgress; 2],
    began: Option<Timestamp>,
    /// Time at which the last data was acknowledged and answered.
    delivered: Option<Timestamp>,
    last: Timestamp,
    shared: Arc<SharedProgress>,
}

/// An observed transfer.
#[derive(Debug)]
pub(super) struct ObservedTransfer {
    pub(super) report: Option<ConnectionReport>,
    pub(super) segments: u64,
    pub(super) acknowledged: Bytes,
    /// Time from the SYN to the last acknowledgment and answer, or until now.
    pub(super) time: Span,
}

impl TransferObserver {
    pub(super) fn new(
        whole: (u64, u64),
        keeper: Option<Keeper>,
        shared: Arc<SharedProgress>,
    ) -> Self {
        Self {
            analyzer: Analyzer::new(Keep::Largest(1)),
            keeper,
            number: 0,
            segments: 0,
            whole,
            ways: [StreamProgress::default(); 2],
            began: None,
            delivered: None,
            last: Timestamp::ZERO,
            shared,
        }
    }

    fn follow(&mut self, now: Timestamp, direction: Direction, segment: &windlass_wire::Segment) {
        let [own, other] = match direction {
            Direction::Forward => [0, 1],
            Direction::Backward => [1, 0],
        };
        let Some(sequence) = segment.sequence else { return };
        if segment.flags.has(Flags::SYN) {
            self.ways[own].first = Some(sequence.wrapping_add(1));
            if direction == Direction::Forward {
                self.began.get_or_insert(now);
            }
        } else if let Some(from) = self.ways[own].place(sequence, self.ways[own].sent) {
            let way = &mut self.ways[own];
            way.sent = way.sent.max(from + u64::from(segment.payload));
        }
        if segment.flags.has(Flags::RST) {
            let early = direction == Direction::Backward && self.delivered.is_none();
            self.shared.reset.fetch_or(early, Ordering::Relaxed);
            return;
        }
        if segment.flags.has(Flags::ACK) {
            let way = &mut self.ways[other];
            if let Some(to) = way.place(segment.acknowledgment, way.acknowledged) {
                // The FIN counts as a byte.
                way.acknowledged = way.acknowledged.max(to.min(way.sent));
            }
        }
        let (stream, answers) = (self.ways[0], self.ways[1]);
        self.shared.acknowledged.store(stream.acknowledged, Ordering::Relaxed);
        let flight = stream.sent - stream.acknowledged;
        self.shared.flight.fetch_max(flight, Ordering::Relaxed);
        let (whole, answered) = self.whole;
        if self.delivered.is_none() && stream.acknowledged >= whole && answers.sent >= answered {
            self.delivered = Some(now);
            self.shared.delivered.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the observation.
    pub(super) fn finish(self) -> (ObservedTransfer, Option<Keeper>) {
        let (connections, _) = self.analyzer.finish();
        let report = connections
            .first()
            .map(|connection| what_if::report(connection, |end| end.to_string(), None));
        let end = self.delivered.unwrap_or(self.last);
        let seen = ObservedTransfer {
            report,
            segments: self.segments,
            acknowledged: Bytes::new(self.ways[0].acknowledged),
            time: self.began.map_or(Span::ZERO, |began| end.since(began)),
        };
        (seen, self.keeper)
    }
}

impl Observer for TransferObserver {
    /// Captures every packet, and analyses those of TCP.
    fn sees(&mut self, event: &PacketEvent<'_>) {
        self.number += 1;
        if let Some(keeper) = &mut self.keeper {
            keeper.packet(event.time, event.direction, event.packet);
        }
        let Some(segment) = event.captured(self.number) else { return };
        self.segments += 1;
        self.analyzer.segment(&segment, &mut ());
        self.last = event.now;
        self.follow(event.now, event.direction, &segment);
    }
}
