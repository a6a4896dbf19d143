//! Probes of a closed window (RFC 9293 section 3.8.6.1).

use windlass_base::{Span, Timestamp};

use super::timeout::doubled;

/// The persist timer. It runs while data waits, none is under way, and the window is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PersistTimer {
    /// No data waits for the window.
    #[default]
    Off,
    /// The next probe leaves when the timer expires.
    Armed { timer: Timestamp, probes: u32, unanswered: u32 },
    /// A probe is to leave.
    Due { probes: u32, unanswered: u32 },
}

impl PersistTimer {
    /// Arms the timer unless it runs already.
    pub(super) fn arm(&mut self, now: Timestamp, timeout: Span) {
        if *self == Self::Off {
            *self = Self::Armed { timer: now + timeout, probes: 0, unanswered: 0 };
        }
    }

    pub(super) const fn timer(&self) -> Option<Timestamp> {
        match self {
            Self::Armed { timer, .. } => Some(*timer),
            Self::Off | Self::Due { .. } => None,
        }
    }

    pub(super) const fn is_due(&self) -> bool {
        matches!(self, Self::Due { .. })
    }

    /// Records that the timer expired.
    pub(super) fn run_out(&mut self) {
        if let Self::Armed { probes, unanswered, .. } = *self {
            *self = Self::Due { probes, unanswered };
        }
    }

    /// Records that a probe leaves. The next one waits twice as long from this departure, as in the
    /// PPSX1's trace.
    pub(super) fn sent(&mut self, now: Timestamp, timeout: Span) {
        if let Self::Due { probes, unanswered } = *self {
            let probes = probes + 1;
            let timer = now + doubled(timeout, probes);
            *self = Self::Armed { timer, probes, unanswered: unanswered + 1 };
        }
    }

    /// Records an ACK that left the window as it was.
    pub(super) fn answered(&mut self) {
        if let Self::Armed { unanswered, .. } | Self::Due { unanswered, .. } = self {
            *unanswered = 0;
        }
    }

    /// Returns the number of probes since the last answer.
    pub(super) const fn unanswered(&self) -> u32 {
        match self {
            Self::Off => 0,
            Self::Armed { unanswered, .. } | Self::Due { unanswered, .. } => *unanswered,
        }
    }
}
