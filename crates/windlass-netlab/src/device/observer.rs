//! What passes the sender: to the analyser and into the capture.

use windlass_base::Timestamp;
use windlass_trace::{Analyzer, Keep, Totals, Transfer};

use super::capture::Capture;
use super::known::Known;
use crate::real::emulator::{Observer, PacketEvent};

/// The observer at the sender, on all connections.
pub(super) struct Watch {
    analyzer: Analyzer,
    known: Known,
    capture: Option<Capture>,
    /// Packets so far, as the capture counts them.
    packets: u64,
}

impl Watch {
    /// One that begins now and keeps the `top` largest connections.
    pub(super) fn new(top: u16, capture: Option<Capture>) -> Self {
        let analyzer = Analyzer::new(Keep::Largest(usize::from(top)));
        Self { analyzer, known: Known::default(), capture, packets: 0 }
    }

    /// What was seen.
    pub(super) fn finish(self) -> (Vec<Transfer>, Totals, Option<Capture>) {
        let (connections, totals) = self.analyzer.finish();
        (connections, totals, self.capture)
    }
}

impl Observer for Watch {
    /// What is no TCP, has a wrong checksum, or belongs to no connection is only
    /// captured.
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
