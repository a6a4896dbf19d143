//! Times at which ACKs are due.

use windlass_base::{Span, Timestamp};

use super::habits::{AckPolicy, Habits, Latency};
use crate::random::Random;

/// Maximum number of duplicate ACKs that may be owed. A slow device would otherwise owe one for
/// each segment of its peer.
const MAX_DUPLICATES: u32 = 64;

/// The pending ACK, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingAck {
    /// No ACK is pending.
    Nothing,
    /// A delayed ACK, for data that did not require one.
    Timer { due: Timestamp },
    /// An ACK for data that required one, or for a segment that needs an answer.
    Answer { due: Timestamp },
}

/// The ACKs that a connection owes.
#[derive(Clone, Debug)]
pub(super) struct AckScheduler {
    pending: PendingAck,
    /// Segments with data since the last ACK.
    segments: u32,
    /// Bytes of these segments.
    bytes: u64,
    /// ACKs owed besides the pending one: one for each segment out of order.
    duplicates: u32,
    random: Random,
}

impl AckScheduler {
    pub(super) const fn new(random: Random) -> Self {
        Self { pending: PendingAck::Nothing, segments: 0, bytes: 0, duplicates: 0, random }
    }

    /// Returns the time at which the next ACK is due.
    pub(super) const fn due(&self) -> Option<Timestamp> {
        match self.pending {
            PendingAck::Nothing => None,
            PendingAck::Timer { due } | PendingAck::Answer { due } => Some(due),
        }
    }

    /// Returns whether an ACK is pending that no timer delays.
    pub(super) const fn answers(&self) -> bool {
        matches!(self.pending, PendingAck::Answer { .. })
    }

    /// Records data in order: `payload` bytes arrived and extended the order by `bytes`. `offered`
    /// is the window of the last ACK.
    pub(super) fn data(
        &mut self,
        now: Timestamp,
        payload: u32,
        bytes: u64,
        offered: u64,
        habits: &Habits,
    ) {
        self.segments = self.segments.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        let (enough, timer) = match habits.ack {
            AckPolicy::EverySegment => (true, Span::ZERO),
            AckPolicy::EverySecond { timer } => (self.segments >= 2, timer),
            AckPolicy::ShareOfWindow { share, timer } => {
                (self.bytes as f64 > share * offered as f64, timer)
            }
        };
        let latency = self.latency(payload, habits);
        if enough {
            self.answer_by(now + latency);
        } else if self.pending == PendingAck::Nothing {
            self.pending = PendingAck::Timer { due: now + timer.max(latency) };
        }
    }

    /// Schedules an ACK whatever the policy is: a gap was filled, or the segment is a probe, a FIN,
    /// or not acceptable.
    pub(super) fn answer(&mut self, now: Timestamp, payload: u32, habits: &Habits) {
        let latency = self.latency(payload, habits);
        self.answer_by(now + latency);
    }

    /// Schedules a duplicate ACK for a segment beyond a gap. The peer's fast retransmit counts
    /// these ACKs (RFC 5681 section 4.2).
    pub(super) fn duplicate(&mut self, now: Timestamp, payload: u32, habits: &Habits) {
        if self.answers() {
            self.duplicates = (self.duplicates + 1).min(MAX_DUPLICATES);
        } else {
            self.answer(now, payload, habits);
        }
    }

    /// Records that an ACK left, which covers all data that had arrived.
    pub(super) fn sent(&mut self) {
        self.segments = 0;
        self.bytes = 0;
        if self.duplicates > 0 && self.answers() {
            self.duplicates -= 1;
        } else {
            self.duplicates = 0;
            self.pending = PendingAck::Nothing;
        }
    }

    fn answer_by(&mut self, due: Timestamp) {
        let due = match self.pending {
            PendingAck::Nothing => due,
            PendingAck::Timer { due: other } | PendingAck::Answer { due: other } => due.min(other),
        };
        self.pending = PendingAck::Answer { due };
    }

    fn latency(&mut self, payload: u32, habits: &Habits) -> Span {
        let Latency { typical, spread } = match habits.small_segments {
            Some(small) if u64::from(payload) <= small.up_to.get() => small.latency,
            _ => habits.ack_latency,
        };
        self.random.around(typical, spread)
    }
}
