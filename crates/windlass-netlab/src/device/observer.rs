//! Observer at the sender: passes packets to the analyser and to the capture.

use windlass_base::Timestamp;
use windlass_trace::{Analyzer, Keep, Totals, Transfer};

use super::capture::Capture;
use super::known::AcceptedConnections;
use crate::real::emulator::{Observer, PacketEvent};

/// The observer at the sender, on all connections.
pub(super) struct DeviceObserver {
    analyzer: Analyzer,
    known: AcceptedConnections,
    capture: Option<Capture>,
    /// Number of packets so far, as in the capture.
    packets: u64,
}

impl DeviceObserver {
    /// Returns an observer that keeps the `top` largest connections.
    pub(super) fn new(top: u16, capture: Option<Capture>) -> Self {
        let analyzer = Analyzer::new(Keep::Largest(usize::from(top)));
        Self { analyzer, known: AcceptedConnections::default(), capture, packets: 0 }
    }

    /// Returns the observed transfers, their totals, and the capture.
    pub(super) fn finish(self) -> (Vec<Transfer>, Totals, Option<Capture>) {
        let (connections, totals) = self.analyzer.finish();
        (connections, totals, self.capture)
    }
}

impl Observer for DeviceObserver {
    /// Captures every packet. Analyses those of TCP with a correct checksum that belong to a
    /// connection.
    fn sees(&mut self, event: &PacketEvent<'_>) {
        self.packets += 1;
        if let Some(capture) = &mut self.capture {
            capture.packet(event.now, event.time, event.packet);
        }
        if let Some(segment) = event.captured(self.packets)
            && self.known.belongs(event.direction, &segment)
        {
            self.analyzer.segment(&segment, &mut ());
        }
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
