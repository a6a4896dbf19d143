//! Segments that may leave: the windows, Nagle, silly windows and probes.

use windlass_base::Timestamp;

use super::{Repair, Transfer};
use crate::sender::SenderCounters;
use crate::sender::settings::{PartialSegmentPolicy, Probe, SenderSettings};

/// The next segment to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sender) struct OutgoingSegment {
    kind: OutgoingKind,
    pub(in crate::sender) from: u64,
    /// End of its data, without the FIN.
    pub(in crate::sender) to: u64,
    pub(in crate::sender) fin: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutgoingKind {
    /// New data, perhaps with the FIN.
    New,
    /// A retransmission of lost data.
    Again,
    /// A probe without data.
    Probe,
    /// A probe with the next byte.
    ProbeByte,
}

impl Transfer {
    /// Returns the segment that may leave now.
    pub(in crate::sender) fn next_outgoing(
        &self,
        now: Timestamp,
        settings: &SenderSettings,
    ) -> Option<OutgoingSegment> {
        if self.persist.is_due() {
            return Some(self.probe(settings));
        }
        if let Some((start, end)) = self.outstanding.next_lost() {
            return self.lost_piece(start, end);
        }
        self.new_piece(now, settings)
    }

    /// Returns a lost segment, as far as the windows let it leave.
    fn lost_piece(&self, start: u64, end: u64) -> Option<OutgoingSegment> {
        let bytes = end - start;
        let room = self.window().saturating_sub(self.pipe());
        // The first retransmission of a recovery leaves even if the pipe is full (RFC 6675 section
        // 5, step 4.3).
        let first = start == self.unacknowledged;
        if bytes > room && !first {
            return None;
        }
        // If the peer shrank the window, the rest waits for it or for a probe.
        let end = end.min(self.edge);
        if end <= start {
            return None;
        }
        let fin = self.fin.is_some_and(|position| end > position);
        Some(OutgoingSegment {
            kind: OutgoingKind::Again,
            from: start,
            to: end - u64::from(fin),
            fin,
        })
    }

    /// Returns the bytes that count as under way.
    pub(super) fn pipe(&self) -> u64 {
        let left = match self.repair {
            Repair::None { duplicates } | Repair::Fast { duplicates, .. }
                if self.outstanding.sacked == 0 =>
            {
                duplicates * self.mss
            }
            _ => 0,
        };
        self.outstanding.pipe.saturating_sub(left)
    }

    /// Returns the bytes that may be under way.
    pub(super) const fn window(&self) -> u64 {
        match &self.repair {
            Repair::Fast { reduction, .. } => reduction.window,
            Repair::None { .. } | Repair::Timer { .. } => self.congestion.window,
        }
    }

    /// Returns whether the FIN follows the data written so far.
    pub(super) fn wants_fin(&self) -> bool {
        self.fin.is_none() && self.supply.is_done()
    }

    pub(super) fn new_piece(
        &self,
        now: Timestamp,
        settings: &SenderSettings,
    ) -> Option<OutgoingSegment> {
        let unsent = self.supply.written.saturating_sub(self.next);
        let fin_waits = self.wants_fin();
        if unsent == 0 && !fin_waits || self.has_fin() {
            return None;
        }
        let usable = self.edge.saturating_sub(self.next);
        let piece = unsent.min(usable).min(self.mss);
        let fin = fin_waits && piece == unsent && usable > piece;
        if piece == 0 && !fin {
            return None;
        }
        if !self.may_leave(piece, unsent, fin, settings) {
            return None;
        }
        let pipe = self.pipe();
        if pipe > 0 && pipe + piece > self.window_now(now) {
            return None;
        }
        Some(OutgoingSegment {
            kind: OutgoingKind::New,
            from: self.next,
            to: self.next + piece,
            fin,
        })
    }

    /// Returns whether an idle time resets the congestion window to its initial value.
    fn was_idle(&self, now: Timestamp) -> bool {
        self.restarts_after_idle
            && self.outstanding.is_empty()
            && now.since(self.last_sent) > self.timeout.current()
    }

    /// Returns the congestion window, reduced if there was such an idle time.
    fn window_now(&self, now: Timestamp) -> u64 {
        if self.was_idle(now) {
            let mut window = self.congestion;
            window.idle();
            window.window
        } else {
            self.window()
        }
    }

    /// Applies the rules against silly windows (RFC 9293 section 3.8.6.2.1) and Nagle's algorithm.
    fn may_leave(&self, piece: u64, unsent: u64, fin: bool, settings: &SenderSettings) -> bool {
        if piece == self.mss || fin {
            return true;
        }
        let nagle_holds = settings.nagle && !self.outstanding.is_empty();
        let worth_it = match settings.segmenting {
            PartialSegmentPolicy::WhatFits => true,
            PartialSegmentPolicy::Careful => piece == unsent || piece * 2 >= self.largest_window,
        };
        worth_it && !nagle_holds
    }

    fn probe(&self, settings: &SenderSettings) -> OutgoingSegment {
        let unsent = self.supply.written.saturating_sub(self.next);
        let usable = self.edge.saturating_sub(self.next);
        if usable > 0 && unsent > 0 {
            // The window is too small for the rules, but it is not closed: the override timer of
            // section 3.8.6.2.1 sends as much as fits.
            let to = self.next + unsent.min(usable).min(self.mss);
            return OutgoingSegment { kind: OutgoingKind::New, from: self.next, to, fin: false };
        }
        if let Some((start, _)) = self.outstanding.next_lost() {
            let fin = self.fin == Some(start);
            if settings.probe == Probe::OneByte {
                let to = start + u64::from(!fin);
                return OutgoingSegment { kind: OutgoingKind::Again, from: start, to, fin };
            }
        }
        match settings.probe {
            Probe::Empty => {
                let at = self.unacknowledged - 1;
                OutgoingSegment { kind: OutgoingKind::Probe, from: at, to: at, fin: false }
            }
            Probe::OneByte => {
                let (from, fin) = (self.next, unsent == 0);
                OutgoingSegment {
                    kind: OutgoingKind::ProbeByte,
                    from,
                    to: from + u64::from(!fin),
                    fin,
                }
            }
        }
    }

    /// Records that `outgoing` leaves.
    pub(in crate::sender) fn sent(
        &mut self,
        now: Timestamp,
        outgoing: OutgoingSegment,
        counters: &mut SenderCounters,
    ) {
        let OutgoingSegment { kind, from, to, fin } = outgoing;
        if let Repair::Fast { reduction, .. } = &mut self.repair {
            reduction.sent(to - from);
        }
        if self.persist.is_due() {
            counters.probes += 1;
            self.persist.sent(now, self.timeout.base());
        }
        match kind {
            OutgoingKind::New => self.push(from, to, fin, now),
            OutgoingKind::Again => {
                counters.retransmissions += 1;
                self.outstanding.send_again(from, to + u64::from(fin), now);
                if from == self.unacknowledged || self.timer.is_none() {
                    self.timer = Some(now + self.timeout.current());
                }
                self.last_sent = now;
            }
            // A probe's byte does not count as sent. It leaves again with the data behind it,
            // unless the peer accepts it.
            OutgoingKind::ProbeByte => self.probed = Some((from, fin)),
            OutgoingKind::Probe => {}
        }
    }

    fn push(&mut self, from: u64, to: u64, fin: bool, now: Timestamp) {
        if self.was_idle(now) {
            self.congestion.idle();
        }
        if fin {
            self.fin = Some(to);
        }
        let end = to + u64::from(fin);
        self.last_sent = now;
        self.probed = None;
        self.outstanding.push(from, end, now);
        self.next = self.next.max(end);
        if self.timer.is_none() {
            self.timer = Some(now + self.timeout.current());
        }
        if self.pipe() + self.mss > self.congestion.window {
            self.was_limited = true;
        }
    }
}
