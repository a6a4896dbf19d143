//! The window that a device offers: the right edge and how it moves
//! (RFC 9293 sections 3.8.6 and 3.8.6.2.2).

use super::habits::{Habits, Window, WindowUpdates};

/// The largest window field.
const FIELD: u64 = 0xFFFF;

/// Right edge of the window that a device offers.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// The first position that the peer may not send.
    pub(super) edge: u64,
    shift: u8,
    /// True if the last segment offered less because the reader stalled.
    held_back: bool,
}

/// State that the window depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// RCV.NXT.
    pub(super) next: u64,
    /// Bytes that the program has not read.
    pub(super) unread: u64,
    /// True if the reader stalls.
    pub(super) stalled: bool,
}

impl Offer {
    /// Returns the offer of a SYN, whose window is never scaled (RFC 7323 section 2.2).
    pub(super) fn new(next: u64, habits: &Habits, shift: u8) -> Self {
        Self { edge: next + habits.window.most().get().min(FIELD), shift, held_back: false }
    }

    /// Returns the position at which the edge may be.
    fn wanted(&self, room: Room, habits: &Habits) -> u64 {
        let edge = match habits.window {
            // Data that waits for a stalled reader uses up the window.
            Window::Fixed(_) if room.stalled => {
                self.edge.min(room.next + habits.window.most().get())
            }
            Window::Fixed(bytes) => room.next + bytes.get(),
            Window::Buffer(bytes) => room.next + bytes.get().saturating_sub(room.unread),
        };
        let most = room.next + (FIELD << self.shift);
        if room.stalled && habits.takes_window_back { room.next } else { edge.min(most) }
    }

    /// Returns the number of bytes by which the edge may move now; 0 if they are too few to
    /// announce.
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

    /// Returns the window field of a segment that leaves now, and moves the edge to match. The edge
    /// never moves left, unless that is a habit of the device.
    pub(super) fn window(&mut self, room: Room, habits: &Habits) -> u16 {
        let wanted = self.wanted(room, habits);
        if wanted < self.edge && habits.takes_window_back {
            self.edge = wanted.max(room.next);
        } else {
            self.edge += self.opening(room, habits);
        }
        self.held_back = room.stalled;
        let window = self.edge.saturating_sub(room.next);
        // Rounded up: rounding down would move the edge left.
        let field = window.div_ceil(1 << self.shift).min(FIELD);
        self.edge = room.next + (field << self.shift);
        u16::try_from(field).unwrap_or(u16::MAX)
    }

    /// Returns whether the opening is worth a segment of its own.
    pub(super) fn deserves_update(&self, room: Room, habits: &Habits, ack_waits: bool) -> bool {
        let opening = self.opening(room, habits);
        let left = self.edge.saturating_sub(room.next);
        if opening == 0 || (ack_waits && left >= u64::from(habits.mss)) {
            return false;
        }
        let buffer = habits.window.most().get();
        // Each ACK offers the full fixed window: only a stall reduces it.
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
