//! What passes the sender: to the analyser and into the capture.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_base::{Span, Timestamp};
use windlass_sim::Direction;
use windlass_trace::{Analyzer, Finished, Keep, Totals};
use windlass_wire::incoming::Incoming;

use super::capture::Capture;
use super::known::Known;
use crate::real::emulator::Observer;

/// The observer at the sender, on all connections.
pub(super) struct Watch {
    analyzer: Analyzer,
    known: Known,
    capture: Option<Capture>,
    /// Packets so far, as the capture counts them.
    packets: u64,
    /// What the host's clock said at the time 0 of the emulator.
    epoch: Span,
}

/// What was seen.
pub(super) struct Seen {
    pub(super) connections: Vec<Finished>,
    pub(super) totals: Totals,
    pub(super) capture: Option<Capture>,
}

impl Watch {
    /// One that begins now and keeps the `top` largest connections.
    pub(super) fn new(top: u16, capture: Option<Capture>) -> Self {
        // A clock before 1970 is as good as none.
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = Span::from_duration(epoch);
        let analyzer = Analyzer::new(Keep::Largest(usize::from(top)));
        Self { analyzer, known: Known::default(), capture, packets: 0, epoch }
    }

    pub(super) fn finish(self) -> Seen {
        let (connections, totals) = self.analyzer.finish();
        Seen { connections, totals, capture: self.capture }
    }
}

impl Observer for Watch {
    /// What is no TCP, has a wrong checksum, or belongs to no connection is only
    /// captured.
    fn sees(
        &mut self,
        now: Timestamp,
        direction: Direction,
        packet: &[u8],
        incoming: Option<&Incoming<'_>>,
    ) {
        self.packets += 1;
        let time = now + self.epoch;
        if let Some(capture) = &mut self.capture {
            capture.packet(now, time, packet);
        }
        let Some(incoming) = incoming else { return };
        let mut segment = incoming.segment;
        segment.number = self.packets;
        segment.time = time;
        if !self.known.belongs(direction, &segment) {
            return;
        }
        self.analyzer.segment(&segment, &mut ());
    }

    fn due(&self) -> Option<Timestamp> {
        self.capture.as_ref().and_then(Capture::due)
    }

    fn call(&mut self, _: Timestamp) {
        if let Some(capture) = &mut self.capture {
            capture.write();
        }
    }
}
