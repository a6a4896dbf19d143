//! The window that a device offers: the right edge and how it moves
//! (RFC 9293 sections 3.8.6 and 3.8.6.2.2).

use super::habits::{Habits, Window, WindowUpdates};

/// The largest window field.
const FIELD: u64 = 0xFFFF;

/// The right edge of what a peer may send.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// The first position that the peer may not send.
    pub(super) edge: u64,
    shift: u8,
    /// Whether the last segment offered less because the reader stalled.
    held_back: bool,
}

/// What the window depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// RCV.NXT.
    pub(super) next: u64,
    /// Bytes that nobody has read.
    pub(super) unread: u64,
    /// Whether the reader stalls.
    pub(super) stalled: bool,
}

impl Offer {
    /// The offer of a SYN, whose window is never scaled (RFC 7323 section 2.2).
    pub(super) fn new(next: u64, habits: &Habits, shift: u8) -> Self {
        Self { edge: next + habits.window.most().get().min(FIELD), shift, held_back: false }
    }

    /// Where the edge may be.
    fn wanted(&self, room: Room, habits: &Habits) -> u64 {
        let edge = match habits.window {
            // Data that waits for a stalled reader takes the room.
            Window::Fixed(_) if room.stalled => {
                self.edge.min(room.next + habits.window.most().get())
            }
            Window::Fixed(bytes) => room.next + bytes.get(),
            Window::Buffer(bytes) => room.next + bytes.get().saturating_sub(room.unread),
        };
        let most = room.next + (FIELD << self.shift);
        if room.stalled && habits.takes_window_back { room.next } else { edge.min(most) }
    }

    /// How far the edge may move now; nothing where that is too little to tell.
    fn opening(&self, room: Room, habits: &Habits) -> u64 {
        let opening = self.wanted(room, habits).saturating_sub(self.edge);
        let buffer = habits.window.most().get();
        let least = match (habits.least_opening, habits.window) {
            (Some(bytes), _) => bytes.get(),
            (None, Window::Fixed(_)) => 1,
            (None, Window::Buffer(_)) => (buffer / 2).min(u64::from(habits.mss)),
        };
        if opening >= least.max(1) { opening } else { 0 }
    }

    /// The window field of a segment that goes out now, and moves the edge with
    /// it. What was offered is not taken back, unless that is a habit.
    pub(super) fn window(&mut self, room: Room, habits: &Habits) -> u16 {
        let wanted = self.wanted(room, habits);
        if wanted < self.edge && habits.takes_window_back {
            self.edge = wanted.max(room.next);
        } else {
            self.edge += self.opening(room, habits);
        }
        self.held_back = room.stalled;
        let window = self.edge.saturating_sub(room.next);
        // Rounded up: rounded down it would take back what was offered.
        let field = window.div_ceil(1 << self.shift).min(FIELD);
        self.edge = room.next + (field << self.shift);
        u16::try_from(field).unwrap_or(u16::MAX)
    }

    /// Whether the opening is worth a segment of its own.
    pub(super) fn deserves_update(&self, room: Room, habits: &Habits, ack_waits: bool) -> bool {
        let opening = self.opening(room, habits);
        let left = self.edge.saturating_sub(room.next);
        if opening == 0 || (ack_waits && left >= u64::from(habits.mss)) {
            return false;
        }
        let buffer = habits.window.most().get();
        // A fixed window is offered by each ACK: only a stall makes it less.
        if matches!(habits.window, Window::Fixed(_)) && !self.held_back {
            return false;
        }
        match habits.updates {
            WindowUpdates::WhenGrown => opening >= (buffer / 2).min(2 * u64::from(habits.mss)),
            WindowUpdates::EachRead => true,
            WindowUpdates::WhenEmpty => room.unread == 0,
            WindowUpdates::AfterZero => left == 0,
            WindowUpdates::Never => false,
        }
    }
}
