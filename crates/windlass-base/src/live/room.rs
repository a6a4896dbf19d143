//! Room in windows and buffers.

use super::facts::Facts;
use crate::thresholds::{
    FEW_ROUND_TRIPS, FILLS_WINDOW, KEEPS_PACE, LEAVES_ROOM, MOST_OF_IT, MOSTLY_BUFFERED,
    OVERFILLS_WINDOW, QUEUELESS_SEGMENTS,
};
use crate::{Bytes, Rate, Span};

impl Facts {
    /// Returns the bytes that windows and send buffers allow in flight.
    pub(super) fn room(&self) -> Bytes {
        self.window.unwrap_or_default().min(self.buffer)
    }

    /// Returns the mean opening of the window, as a share of its maximum or of the requested size.
    /// (Until a clamp holds, more may be offered for a moment.)
    pub(super) fn open(&self) -> Option<f64> {
        let asked = self.asked_window.filter(|asked| asked.get() > 0);
        let of_asked =
            asked.map(|asked| (self.one_window().get() as f64 / asked.get() as f64).min(1.0));
        self.open_share.map(|open| of_asked.map_or(open, |share| share.max(open)))
    }

    /// Returns the flight by rate and RTT. Samples of the flight miss data acknowledged just before
    /// them.
    pub(super) fn flight_by_rate(&self) -> f64 {
        flight(self.rate, self.rtt.unwrap_or_default())
    }

    /// Returns whether a stream may have only a few segments in flight: by its windows and buffers,
    /// or at both looks.
    pub(super) fn is_few(&self) -> bool {
        let few = QUEUELESS_SEGMENTS.get() * self.segment.max(1) * self.streams.max(1);
        if self.is_glance() {
            let segments = (self.flight_by_rate() / self.segment.max(1) as f64).ceil();
            let sampled = self.flight.get() as f64 / self.segment.max(1) as f64;
            return segments.max(sampled) < QUEUELESS_SEGMENTS.get() as f64;
        }
        self.window.is_some() && self.room().get() <= few
    }

    /// Returns whether the send buffer allows only a few segments at a time. It limited the sender
    /// most of the time, so the mean flight is the part beside the kernel's own bookkeeping.
    pub(super) fn is_buffered_by_few(&self) -> bool {
        let few = QUEUELESS_SEGMENTS.get() * self.segment.max(1) * self.streams.max(1);
        !self.is_glance()
            && self.flight.get() <= few
            && self.buffer_held >= self.busy.scaled(MOSTLY_BUFFERED.get())
    }

    /// Returns whether neither window is nearly full.
    pub(super) fn leaves_room(&self) -> bool {
        let flight = self.flight_by_rate();
        let has_room = |room: Bytes| flight < FILLS_WINDOW.get() * room.get() as f64;
        has_room(self.congestion_window) && self.window.is_none_or(has_room)
    }

    /// Returns whether no window is nearly full, and less than a segment waits to be sent.
    pub(super) fn has_nothing_to_send(&self) -> bool {
        let flight = self.flight_by_rate().max(self.flight.get() as f64);
        let has_room = |room: Bytes| flight < FILLS_WINDOW.get() * room.get() as f64;
        // A small full buffer holds mostly its own bookkeeping.
        self.has_sent_all()
            && has_room(self.congestion_window)
            && self.window.is_none_or(has_room)
            && !self.has_small_buffer()
    }

    /// Returns whether less than a segment waits to be sent.
    pub(super) fn has_sent_all(&self) -> bool {
        self.unsent.is_some_and(|unsent| unsent.get() < self.segment)
    }

    /// Returns whether a flight fills the congestion window.
    pub(super) fn uses_congestion_window(&self) -> bool {
        self.flight_by_rate() >= LEAVES_ROOM.get() * self.congestion_window.get() as f64
    }

    /// Returns whether the send buffer is smaller than the congestion window. A buffer sized by the
    /// kernel holds two of them (`tcp_sndbuf_expand`).
    pub(super) fn has_small_buffer(&self) -> bool {
        self.buffer > Bytes::ZERO && self.buffer < self.congestion_window
    }

    /// Returns whether the flight fills the offered window, and the congestion window would allow
    /// more. Linux counts the time of a full window in jiffies (`tcp_chrono_set`), so on a path
    /// shorter than a jiffy much of it is missed.
    pub(super) fn fills_window(&self) -> bool {
        let flight = self.flight_by_rate();
        self.window.is_some_and(|window| {
            window > Bytes::ZERO
                && fills(flight, window)
                && flight <= OVERFILLS_WINDOW.get() * window.get() as f64
                && self.congestion_window > window
        })
    }

    /// Returns whether the flight fills the send buffer, and the congestion window would allow
    /// more. Linux does not count all of that wait. A write that finds room takes a whole segment
    /// of the stack (up to 64 KB). While that segment is in flight, the kernel waits for ACKs and
    /// not for room. A buffer sized by the kernel holds twice the congestion window
    /// (`tcp_sndbuf_expand`), so no flight fills it before that window is full.
    pub(super) fn fills_buffer(&self) -> bool {
        let flight = self.flight_by_rate();
        let is_below = |room: Bytes| flight < MOST_OF_IT.get() * room.get() as f64;
        self.buffer > Bytes::ZERO
            && fills(flight, self.buffer)
            && flight <= MOST_OF_IT.get() * self.congestion_window.get() as f64
            && self.window.is_none_or(is_below)
    }

    /// Returns whether a window of a few segments limits the sender, without small messages to tell
    /// a queue from a late receiver. So few segments do not queue, and neither the congestion
    /// window nor the buffer is as small.
    pub(super) fn holds_by_few(&self) -> bool {
        let window = self.window.unwrap_or_default();
        !self.is_glance()
            && self.loaded.is_none()
            && self.is_few()
            && self.congestion_window > window
            && self.buffer > window
            && !self.fills_buffer()
    }

    /// Returns whether the transfer took only a few round trips.
    pub(super) fn is_short(&self) -> bool {
        self.seconds < self.rtt.unwrap_or_default().scaled(FEW_ROUND_TRIPS.get())
    }

    /// Returns whether the congestion window has never met a loss. At least half of it must be in
    /// use, as in Linux's slow start: otherwise it has room, and is no limit. (A transfer that ends
    /// before the second look has no sample with data in flight.)
    pub(super) fn starts_slowly(&self) -> bool {
        let flight = (self.flight.get() as f64).max(self.flight_by_rate());
        let in_use = 2.0 * flight >= self.congestion_window.get() as f64;
        let is_unseen = self.flight == Bytes::ZERO && self.pace.is_none() && !self.is_glance();
        // Linux may leave slow start before any loss (HyStart), and reaches its window no sooner.
        let is_first = !self.is_glance() && self.is_short() && self.lost == 0 && self.marked == 0;
        (self.never_left_slow_start || is_first) && (in_use || is_unseen)
    }

    /// Returns whether the requested pace was kept, except in timeouts and for moments.
    pub(super) fn keeps_its_pace(&self) -> bool {
        let Some(pace) = self.pace else { return false };
        let usual = self.delivery.map(|delivery| delivery.usual);
        let whole = Rate::from_bytes_per_second(self.rate_outside_timeouts());
        keeps(pace, whole) || usual.is_some_and(|usual| keeps(pace, usual))
    }
}

/// Returns the mean flight in bytes: the rate times the RTT (Little 1961).
pub fn flight(rate: Rate, rtt: Span) -> f64 {
    rate.bytes_per_second() * rtt.as_seconds()
}

/// Returns whether this flight nearly fills a window or a buffer.
pub fn fills(flight: f64, room: Bytes) -> bool {
    flight >= FILLS_WINDOW.get() * room.get() as f64
}

/// Returns whether a rate is that of the requested pace.
pub fn keeps(pace: Rate, rate: Rate) -> bool {
    rate.bytes_per_second() > pace.bytes_per_second() * KEEPS_PACE.get()
}
