//! When an ACK is due.

use windlass_base::{Span, Timestamp};

use super::habits::{AckPolicy, Habits, Latency};
use crate::random::Random;

/// The most duplicate ACKs that may be owed. A device that is slow to answer
/// would otherwise owe as many as a peer cares to send segments.
const MAX_DUPLICATES: u32 = 64;

/// What makes an ACK due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// Nothing does.
    Nothing,
    /// The timer of data that did not suffice.
    Timer { due: Timestamp },
    /// Data that did, or a segment that wants an answer.
    Answer { due: Timestamp },
}

/// The ACKs that a connection owes.
#[derive(Clone, Debug)]
pub(super) struct Acking {
    pending: Pending,
    /// Segments with data since the last ACK.
    segments: u32,
    /// Their bytes.
    bytes: u64,
    /// ACKs owed besides the pending one: one for each segment out of order.
    duplicates: u32,
    random: Random,
}

impl Acking {
    pub(super) const fn new(random: Random) -> Self {
        Self { pending: Pending::Nothing, segments: 0, bytes: 0, duplicates: 0, random }
    }

    /// When the next ACK is due.
    pub(super) const fn due(&self) -> Option<Timestamp> {
        match self.pending {
            Pending::Nothing => None,
            Pending::Timer { due } | Pending::Answer { due } => Some(due),
        }
    }

    /// Whether an ACK is on its way that no timer holds back.
    pub(super) const fn answers(&self) -> bool {
        matches!(self.pending, Pending::Answer { .. })
    }

    /// Data went into order: `payload` bytes came and moved things on by
    /// `bytes`, where `offered` is what the last ACK allowed.
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
        } else if self.pending == Pending::Nothing {
            self.pending = Pending::Timer { due: now + timer.max(latency) };
        }
    }

    /// A segment wants an answer whatever the policy: a gap was filled, a probe,
    /// a FIN, or nothing in it was acceptable.
    pub(super) fn answer(&mut self, now: Timestamp, payload: u32, habits: &Habits) {
        let latency = self.latency(payload, habits);
        self.answer_by(now + latency);
    }

    /// A segment lies ahead of a gap: it gets an ACK of its own, which the
    /// peer's fast retransmit counts (RFC 5681 section 4.2).
    pub(super) fn duplicate(&mut self, now: Timestamp, payload: u32, habits: &Habits) {
        if self.answers() {
            self.duplicates = (self.duplicates + 1).min(MAX_DUPLICATES);
        } else {
            self.answer(now, payload, habits);
        }
    }

    /// An ACK went out, which covers all that had arrived.
    pub(super) fn sent(&mut self) {
        self.segments = 0;
        self.bytes = 0;
        if self.duplicates > 0 && self.answers() {
            self.duplicates -= 1;
        } else {
            self.duplicates = 0;
            self.pending = Pending::Nothing;
        }
    }

    fn answer_by(&mut self, due: Timestamp) {
        let due = match self.pending {
            Pending::Nothing => due,
            Pending::Timer { due: other } | Pending::Answer { due: other } => due.min(other),
        };
        self.pending = Pending::Answer { due };
    }

    fn latency(&mut self, payload: u32, habits: &Habits) -> Span {
        let Latency { typical, spread } = match habits.small_segments {
            Some(small) if u64::from(payload) <= small.up_to.get() => small.latency,
            _ => habits.ack_latency,
        };
        self.random.around(typical, spread)
    }
}
