//! The line itself: it sends one item after the other.

use std::collections::VecDeque;

use windlass_base::{Bytes, Rate, Span, Timestamp, whole_part};

use super::Queue;
use super::fading::Fading;

/// Nanoseconds of a byte at one bit a second.
const BYTE_NANOS: u64 = 8_000_000_000;

/// The line and the queue before it.
///
/// Time is exact: an item takes `bytes · 8 / rate`, and the remainder below a nanosecond is carried
/// over to the next item. A million items take the time of their bytes, without a rounding error
/// for each.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Bits in a second; `None` for a line that takes no time.
    rate: Option<u64>,
    /// The fading, the full rate from which it starts, and its seed.
    fading: Option<(Fading, Rate, u64)>,
    bound: Option<u64>,
    /// Time at which the line will have sent everything.
    free: Timestamp,
    /// Remainder that `free` lacks, in nanoseconds divided by `rate`.
    fraction: u64,
    /// Items whose transmission has not begun, with the time at which it will.
    waiting: VecDeque<(Timestamp, u32)>,
    waiting_bytes: u64,
    most_waiting: u64,
}

/// An item's turn on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// Time at which the last bit is on the line.
    pub(crate) done: Timestamp,
    /// Transmission time.
    pub(crate) took: Span,
}

impl Line {
    pub(crate) fn new(rate: Option<Rate>, bound: Option<Bytes>) -> Self {
        Self {
            rate: rate.map(bits_per_second),
            fading: None,
            bound: bound.map(Bytes::get),
            free: Timestamp::from_nanos(i64::MIN),
            fraction: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            most_waiting: 0,
        }
    }

    /// Returns the line with a rate that changes from here on.
    pub(crate) fn fading(mut self, fading: Option<Fading>, seed: u64) -> Self {
        let rate = self.rate.map(|rate| Rate::from_bits_per_second(rate as f64));
        self.fading = fading.zip(rate).map(|(fading, rate)| (fading, rate, seed));
        self
    }

    /// Returns the bits in a second for an item that begins at this time.
    fn rate_at(&self, begins: Timestamp, usual: u64) -> u64 {
        let Some((fading, rate, seed)) = self.fading else { return usual };
        bits_per_second(fading.rate(rate, seed, begins))
    }

    /// Schedules an item, and returns its transmission; `None` if the queue has no room for it. An
    /// item that need not wait needs no room.
    pub(crate) fn enqueue(&mut self, now: Timestamp, bytes: u32) -> Option<Work> {
        let Some(rate) = self.rate else {
            return Some(Work { done: now, took: Span::ZERO });
        };
        while let Some(&(begins, bytes)) = self.waiting.front()
            && begins <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
        }
        let begins = if self.free <= now {
            // The line was idle: no remainder is carried over.
            self.fraction = 0;
            now
        } else {
            let waiting = self.waiting_bytes + u64::from(bytes);
            if self.bound.is_some_and(|bound| waiting > bound) {
                return None;
            }
            self.waiting.push_back((self.free, bytes));
            self.waiting_bytes = waiting;
            self.most_waiting = self.most_waiting.max(waiting);
            self.free
        };
        let rate = self.rate_at(begins, rate);
        // Saturates above 2 GB in one item, which no link carries.
        let parts = u64::from(bytes).saturating_mul(BYTE_NANOS).saturating_add(self.fraction);
        let took = Span::from_nanos(i64::try_from(parts / rate).unwrap_or(i64::MAX));
        self.fraction = parts % rate;
        self.free = begins + took;
        Some(Work { done: self.free, took })
    }

    pub(crate) const fn most_waiting(&self) -> Bytes {
        Bytes::new(self.most_waiting)
    }

    /// Returns the queue at this time.
    pub(crate) fn queue(&self, now: Timestamp) -> Queue {
        let waiting = self.waiting.iter().filter(|(begins, _)| *begins > now);
        let bytes = waiting.map(|(_, bytes)| u64::from(*bytes)).sum();
        Queue { bytes: Bytes::new(bytes), wait: self.free.max(now).since(now) }
    }
}

/// Returns the whole bits in a second, at least one: a line without any rate would hold its queue
/// for ever.
fn bits_per_second(rate: Rate) -> u64 {
    whole_part(rate.bits_per_second().round()).max(1)
}
