//! Sizes of segments that pass, and sizes that never arrive.

use windlass_base::Timestamp;

use super::Flow;
use crate::estimate::black_hole::{ArrivedSizes, BlackHole};
use crate::follow::outstanding::SegmentInFlight;

impl Flow {
    /// Takes a router's message on the largest packet for its next link, in which the headers of IP
    /// and TCP take `headers`.
    pub(crate) fn told_mtu(&mut self, mtu: u64, headers: u64, time: Timestamp) {
        // No host has to take less (RFC 791: 68 B), and 0 is a router that does not tell.
        if mtu > headers {
            self.sizes.told(mtu, mtu - headers, time);
        }
    }

    /// Counts data that was lost at its first sending.
    pub(super) fn lost_first(&mut self, first: Option<SegmentInFlight>) {
        let Some(first) = first.filter(|first| first.sent_again.is_none()) else { return };
        let begins = self.recovery.is_none() && self.timeouts.count == 0;
        self.sizes.lost(first.end - first.start, self.size.get(), first.number, begins);
    }

    /// Returns the black hole that its sizes show, if any do.
    pub(crate) fn black_hole(&self) -> Option<BlackHole> {
        let mut arrived = ArrivedSizes {
            largest: self.outstanding.largest,
            segment: self.size.get(),
            behind: None,
            is_heard: false,
        };
        if let Some((start, size)) = self.sizes.stuck() {
            let (small, largest) = self.outstanding.smaller(start, size);
            let count = self.discards.arrived_behind(start);
            arrived.behind = (1..=small).contains(&count).then_some(largest);
            let sent = self.outstanding.covering(start).map(|sent| sent.time);
            arrived.is_heard = sent.is_some_and(|sent| self.is_heard_behind(sent));
        }
        self.sizes.hole(arrived)
    }

    /// Returns whether a full segment arrived, or may have: behind the stuck one, or before the
    /// capture began.
    pub(crate) fn may_have_brought_full(&self) -> bool {
        let size = self.size.get();
        let behind = |(start, _)| self.discards.arrived_behind(start) > 0;
        !self.start_known
            || self.outstanding.largest.max(self.sizes.passed()) >= size
            || self.sizes.stuck().is_some_and(behind)
    }

    /// Returns whether the receiver sent something when it might have got data sent at this time.
    fn is_heard_behind(&self, sent: Timestamp) -> bool {
        let rtt = self.path.rtt.unwrap_or_default();
        self.last_heard.is_some_and(|heard| heard > sent + rtt * 2)
    }
}
