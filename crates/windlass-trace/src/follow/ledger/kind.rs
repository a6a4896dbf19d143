//! Kinds of gaps between two events of a sender.

use crate::packed::packed;

/// Use of the time of a settled gap, as far as the sender's own events tell. Some kinds are split
/// further when the whole transfer is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WaitKind {
    /// Less than a segment of room at the right edge of the window.
    Window,
    /// Room in the window, data to send, and yet a wait for an ACK.
    Open,
    /// A small segment held back until an ACK that came late.
    Nagle,
    /// Repair after duplicate ACKs.
    Recovery,
    /// Silence until the retransmission timer ran out, and the repair after.
    Timeout,
    /// The timer ran out, and nothing proves that anything was lost. The gap
    /// before was spent with the window full, or not.
    Blind { window_full: bool },
    /// A closed window that the receiver's program kept closed.
    NotReading,
    /// A closed window that only a probe found open again.
    NoUpdate,
    /// A closed window that opened again a moment later.
    OpensLate,
    /// A closed window of which only a part opened again, as soon as the receiver's program reads
    /// otherwise.
    Partly(Reopening),
    /// A pause within a flight of a sender that has more to send, and room: its own
    /// congestion control spaces its segments.
    Paced,
    /// Nothing to send.
    Idle,
    /// Nothing to send until the other side's data came.
    AwaitPeer,
    /// Time that segments stood in queues on their way to the capture.
    Queued,
    /// Silence at the capture over which the sender sent packets, by its count.
    Skipped,
    /// Time over which the capture misses packets.
    Missing,
    /// Silence until a timer sent again what had arrived: its ACK never came.
    Unheard,
}

impl WaitKind {
    /// Returns the name in reasons.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Window => "window-full",
            Self::Open => "room-in-window",
            Self::Nagle => "small-segment-held",
            Self::Recovery => "repair",
            Self::Timeout => "timer",
            Self::Blind { window_full: true } => "timer-window-full",
            Self::Blind { window_full: false } => "timer-without-loss",
            Self::NotReading => "closed-for-long",
            Self::NoUpdate => "closed-until-probed",
            Self::OpensLate => "closed-for-a-moment",
            Self::Partly(_) => "closed-and-opened-in-part",
            Self::Paced => "spaced",
            Self::Idle => "nothing-to-send",
            Self::AwaitPeer => "awaits-message",
            Self::Queued => "in-a-queue",
            Self::Skipped => "unseen-sends",
            Self::Missing => "packets-missing",
            Self::Unheard => "ack-unheard",
        }
    }

    /// Returns whether the sender waits for ACKs that a queue on the path may hold up.
    pub(crate) const fn may_queue(self) -> bool {
        matches!(self, Self::Open | Self::Window)
    }

    /// Returns whether the window was closed.
    pub(crate) const fn is_closed(self) -> bool {
        matches!(self, Self::NotReading | Self::NoUpdate | Self::OpensLate | Self::Partly(_))
    }

    /// Returns whether a host held the transfer back, and not the path.
    pub(super) fn is_of_hosts(self) -> bool {
        !matches!(
            self,
            Self::Open
                | Self::Paced
                | Self::Recovery
                | Self::Timeout
                | Self::Queued
                | Self::Skipped
                | Self::Unheard
        )
    }
}

/// Way in which a closed window opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reopening {
    /// A moment later.
    Late,
    /// After a long time.
    AfterLong,
    /// When a probe came.
    WhenProbed,
}

packed!(WaitKind [
    Self::Window,
    Self::Open,
    Self::Nagle,
    Self::Recovery,
    Self::Timeout,
    Self::Blind { window_full: false },
    Self::Blind { window_full: true },
    Self::NotReading,
    Self::NoUpdate,
    Self::OpensLate,
    Self::Partly(Reopening::Late),
    Self::Partly(Reopening::AfterLong),
    Self::Partly(Reopening::WhenProbed),
    Self::Paced,
    Self::Idle,
    Self::AwaitPeer,
    Self::Queued,
    Self::Skipped,
    Self::Missing,
    Self::Unheard,
]);
