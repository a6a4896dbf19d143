//! Effects of ACKs and timers: the window, loss and its repair.

use windlass_base::{Span, Timestamp};
use windlass_wire::SackBlocks;

use super::{Repair, Transfer};
use crate::numbering::{Numbering, START};
use crate::sender::SenderCounters;
use crate::sender::outstanding::DUPLICATES;
use crate::sender::persist::PersistTimer;
use crate::sender::reduction::Reduction;
use crate::sender::settings::SenderSettings;

/// Timeouts for the same data after which the sender suspects its segment size (Linux's
/// `tcp_retries1`).
const RETRIES_BEFORE_PROBING: u32 = 3;

/// An ACK, with positions instead of sequence numbers.
#[derive(Clone, Copy, Debug)]
pub(in crate::sender) struct Ack {
    pub(in crate::sender) position: u64,
    pub(in crate::sender) sequence: u64,
    pub(in crate::sender) window: u64,
    pub(in crate::sender) sack: SackBlocks,
    /// True if the segment carries nothing else.
    pub(in crate::sender) bare: bool,
}

impl Transfer {
    /// Takes an ACK. Returns whether it acknowledged new data.
    pub(in crate::sender) fn handle(
        &mut self,
        now: Timestamp,
        ack: &Ack,
        numbering: Numbering,
        settings: &SenderSettings,
        counters: &mut SenderCounters,
    ) -> bool {
        if let Some((from, fin)) = self.probed
            && ack.position == from + 1
            && from == self.next
        {
            // The window had room for the probe after all.
            self.next = ack.position;
            self.probed = None;
            if fin {
                self.fin = Some(from);
            }
        }
        if ack.position > self.next {
            return false;
        }
        let old_edge = self.edge;
        let delivered = self.outstanding.delivered;
        // A segment that left less than the shortest round trip ago has not arrived.
        let plausible = now - self.timeout.shortest();
        self.move_window(ack);
        let mut news = false;
        for block in ack.sack.as_slice() {
            let left = numbering.position(block.left, self.unacknowledged);
            let right = numbering.position(block.right, self.unacknowledged);
            news |= self.outstanding.sack(left, right, plausible);
        }
        let advances = ack.position > self.unacknowledged;
        if advances {
            self.advance(now, ack.position, plausible);
        } else if settings.fast_retransmit
            && ack.position == self.unacknowledged
            && ack.bare
            && !self.outstanding.is_empty()
            && (news || ack.sack.is_empty() && self.edge == old_edge)
        {
            self.duplicate();
        }
        if settings.fast_retransmit {
            self.consider_loss(ack, advances, counters);
            self.reduce(self.outstanding.delivered - delivered);
        }
        self.persist.answered();
        self.watch_window(now, settings);
        advances
    }

    /// Moves the window, unless the segment is older than the last one that moved it (RFC 9293
    /// section 3.10.7.4).
    fn move_window(&mut self, ack: &Ack) {
        if ack.position < self.unacknowledged || (ack.sequence, ack.position) < self.window_from {
            return;
        }
        self.window_from = (ack.sequence, ack.position);
        self.edge = ack.position + ack.window;
        self.largest_window = self.largest_window.max(ack.window);
    }

    fn advance(&mut self, now: Timestamp, position: u64, plausible: Timestamp) {
        let limited = std::mem::take(&mut self.was_limited);
        let done = self.outstanding.acknowledge(position, plausible);
        self.unacknowledged = position;
        self.supply.acknowledged(position);
        self.retries = 0;
        // The timeout stays backed off until a segment that was sent once is acknowledged (Karn;
        // Linux's tcp_ack_update_rtt). Otherwise a receiver that is slower than the timeout would
        // get retransmissions for ever.
        if let Some(sent) = done.sent {
            self.timeout.measured(now.since(sent));
        }
        let round_trip = self.timeout.round_trip().unwrap_or(Span::ZERO);
        match &mut self.repair {
            Repair::None { duplicates } => {
                *duplicates = 0;
                if limited {
                    self.congestion.acknowledged(now, done.bytes, round_trip);
                }
            }
            Repair::Fast { until, duplicates, .. } => {
                if position >= *until {
                    self.repair = Repair::None { duplicates: 0 };
                } else {
                    // A partial ACK (RFC 6582 section 3.2, step 5): the acknowledged segments use
                    // up as many duplicates, and the next segment is lost as well.
                    *duplicates = duplicates.saturating_sub(done.bytes / self.mss.max(1));
                    if self.outstanding.sacked == 0 {
                        self.outstanding.lose_first();
                    }
                }
            }
            Repair::Timer { until } => {
                if position >= *until {
                    self.repair = Repair::None { duplicates: 0 };
                }
                self.congestion.acknowledged_after_timeout(now, done.bytes, round_trip);
            }
        }
        // Section 5.3 of RFC 6298: each such ACK restarts the timer.
        self.timer = (!self.outstanding.is_empty()).then(|| now + self.timeout.current());
    }

    fn duplicate(&mut self) {
        match &mut self.repair {
            Repair::None { duplicates } | Repair::Fast { duplicates, .. } => *duplicates += 1,
            Repair::Timer { .. } => {}
        }
    }

    /// Finds lost segments, and begins a recovery (RFC 6675 section 5).
    fn consider_loss(&mut self, ack: &Ack, advances: bool, counters: &mut SenderCounters) {
        if self.outstanding.sacked > 0 && !matches!(self.repair, Repair::Timer { .. }) {
            self.outstanding.judge(self.mss);
        }
        // A quarter of a round trip allows for reordering (RFC 8985 section 6.2, step 4).
        self.outstanding.judge_again(self.timeout.shortest() / 4);
        match self.repair {
            Repair::None { duplicates } => {
                let lost = self.outstanding.is_first_lost();
                if self.outstanding.is_empty() || !(duplicates >= DUPLICATES || lost) {
                    return;
                }
                counters.fast_retransmits += 1;
                let flight = self.outstanding.flight();
                self.congestion.lost(flight);
                self.outstanding.lose_first();
                let duplicates = if ack.sack.is_empty() { duplicates } else { 0 };
                let reduction = Reduction::new(flight, self.outstanding.pipe);
                self.repair = Repair::Fast { until: self.next, duplicates, reduction };
            }
            Repair::Fast { .. } => {
                // The third rule of NextSeg: no segment is known to be lost and no new data may
                // leave, but a later segment has overtaken the first.
                if advances && self.outstanding.lost == 0 && self.outstanding.is_first_passed() {
                    self.outstanding.lose_first();
                }
            }
            Repair::Timer { .. } => {}
        }
    }

    /// Lets a recovery send as much data as PRR allows for the delivered bytes.
    fn reduce(&mut self, delivered: u64) {
        let (pipe, threshold, mss) = (self.pipe(), self.congestion.window, self.mss);
        let sacked = self.outstanding.sacked > 0;
        if let Repair::Fast { reduction, .. } = &mut self.repair {
            // Without SACK each ACK stands for one segment. A duplicate ACK stands for one that
            // arrived beyond the gap (RFC 6937 section 3), a partial ACK for the retransmitted one.
            let bytes = if sacked { delivered } else { mss };
            reduction.delivered(bytes, pipe, threshold, mss);
        }
    }

    /// Arms or stops the persist timer. It runs while data waits for the window and nothing is
    /// under way whose ACK could open the window.
    pub(super) fn watch_window(&mut self, now: Timestamp, settings: &SenderSettings) {
        let lost = self.outstanding.next_lost().is_some_and(|(start, _)| start >= self.edge);
        let waits = self.supply.written > self.next || self.wants_fin();
        let stuck = if self.outstanding.is_empty() {
            waits && self.new_piece(now, settings).is_none()
        } else {
            lost && self.outstanding.pipe == 0
        };
        if stuck {
            // The peer shrank the window below the data already sent: probes replace the
            // retransmission timer.
            self.timer = None;
            self.persist.arm(now, self.timeout.base());
        } else {
            self.persist = PersistTimer::Off;
        }
    }

    /// Returns whether the sender gives up at the next timeout.
    pub(in crate::sender) const fn gives_up(&self, settings: &SenderSettings) -> bool {
        self.retries >= settings.retries || self.persist.unanswered() > settings.retries
    }

    /// Handles an expired timer. Returns whether it was the retransmission timer of data.
    pub(in crate::sender) fn time_out(
        &mut self,
        now: Timestamp,
        settings: &SenderSettings,
        counters: &mut SenderCounters,
    ) -> bool {
        if self.persist.timer().is_some_and(|timer| timer <= now) {
            self.persist.run_out();
            return false;
        }
        if self.timer.is_none_or(|timer| timer > now) {
            return false;
        }
        self.retries += 1;
        self.timeout.back_off();
        if self.unacknowledged == START {
            // The SYN leaves again, and sets the timer.
            self.timer = None;
            counters.retransmissions += 1;
            return false;
        }
        counters.timeouts += 1;
        let first = !matches!(self.repair, Repair::Timer { .. });
        self.congestion.timed_out(self.outstanding.flight(), first);
        self.outstanding.lose_all();
        if let Some(size) = settings.size_probing.map(u64::from).filter(|size| *size < self.mss)
            && self.retries >= RETRIES_BEFORE_PROBING
        {
            self.mss = size;
            self.congestion.mss = size;
            self.outstanding.divide(size);
        }
        self.repair = Repair::Timer { until: self.next };
        self.timer = Some(now + self.timeout.current());
        self.watch_window(now, settings);
        true
    }
}
