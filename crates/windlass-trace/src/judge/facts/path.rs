//! The path's round trip, the place of the capture, and how far its times can be trusted.

use windlass_base::Span;
use windlass_base::thresholds::{
    A_QUARTER, BEYOND_JITTER, LONGER_THAN_PATHS, PROMPT_LEAST, SEVERAL, SHORTEST_TIME,
};

use super::Facts;

/// The hop limits that systems send with: RFC 1700's 64, Windows's 128, and the most, which
/// printers and routers take.
const INITIAL_HOP_LIMITS: [u8; 4] = [32, 64, 128, 255];

impl Facts {
    /// Returns the path's round trip as far as it is known: zero where it is not.
    pub(crate) fn round_trip(&self) -> Span {
        self.path.told_rtt.or(self.path.rtt).unwrap_or_default()
    }

    /// Returns whether the capture is none of a conversation as two hosts had it, so that it tells
    /// of no limit.
    pub(crate) fn is_untrue(&self) -> bool {
        self.capture.rewritten || self.capture.made_up_times
    }

    /// Returns whether packets stand in the capture with times so far out of order that the path's
    /// round trip may be one that never was.
    pub(crate) fn is_disordered(&self) -> bool {
        self.capture.disorder
            > self.path.rtt.unwrap_or_default().scaled(A_QUARTER.get()).max(SHORTEST_TIME.get())
    }

    /// Returns whether the two directions were captured by clocks that differ.
    pub(crate) fn has_two_clocks(&self) -> bool {
        self.capture.answered_before > self.capture.clock_step + PROMPT_LEAST.get()
    }

    /// Returns the longest time that an ACK may take from the capture to the sender, and its answer
    /// back, where no handshake told it, or a queue on its way is full again and again: a sender
    /// that waits for an ACK then looks as one that has nothing to send. `None` where it is told,
    /// or no router lies between them.
    pub(crate) fn longest_turn(&self) -> Option<Span> {
        if let Some(queue) = self.full_queue().filter(|_| self.capture.is_far) {
            return Some(self.capture.distance + queue.wait * 2);
        }
        let told = self.opening.handshake.rtt().is_some() || self.capture.distance > Span::ZERO;
        let is_near =
            self.capture.hop_limit == 0 || INITIAL_HOP_LIMITS.contains(&self.capture.hop_limit);
        let longest = || {
            self.path
                .returned_rtt
                .map_or(LONGER_THAN_PATHS.get(), |rtt| rtt.scaled(BEYOND_JITTER.get()))
        };
        (!told && !is_near).then(longest)
    }

    /// Returns whether it is a split connection, and split at its sender, who then did not open it.
    pub(crate) fn splits_sender(&self) -> bool {
        self.path.split.is_some() && self.opening.handshake.opener != Some(self.opening.direction)
    }

    /// Returns whether the usual round trip is longer than the path's by this factor.
    pub(super) fn round_trips_exceed(&self, longer: f64) -> bool {
        let usual = self.acks.latency.median().zip(self.path.told_rtt);
        usual.is_some_and(|(usual, rtt)| usual + self.capture.distance >= rtt.scaled(longer))
    }

    /// Returns whether the receiver's window is as large as it reads. Where the handshake does not
    /// tell its scale, the windows themselves may, or a sender that stops at the edge again and
    /// again: at the last byte, or within a segment of a large window.
    pub(crate) fn has_told_window(&self) -> bool {
        let counts = &self.counts;
        let is_habit = |stops: u64| stops >= SEVERAL.get() && stops * 4 >= counts.window_waits * 3;
        self.window.scale.is_known()
            || counts.is_scale_shown()
            || is_habit(counts.window_exact)
            || is_habit(counts.window_near)
    }
}
