//! Rates of a transfer while it was active: of acknowledged data while data was in flight, and of
//! reading while the receiver had unread data.
//!
//! A pause of the sender lets the path and the receiver catch up, so that time is not counted as
//! theirs. Without its pauses, the sender is no faster than the two were while active.

use windlass_base::thresholds::{ENOUGH, HABIT, SEVERAL_SEGMENTS};
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_macros::Packed;

use crate::follow::ack::Ack;

/// Segments that a delayed ACK may leave unacknowledged, also through a pause of the sender (RFC
/// 9293 section 3.8.6.3).
pub(crate) const DELAYED: u64 = 2;

/// Bytes that were moved, and the time that they took.
#[derive(Clone, Copy, Debug, Default, Packed)]
struct MovedBytes {
    bytes: u64,
    time: Span,
    steps: u32,
}

impl MovedBytes {
    fn add(&mut self, bytes: u64, time: Span) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.time += time.or_zero();
        self.steps = self.steps.saturating_add(1);
    }

    fn rate(&self, size: u64) -> Option<Rate> {
        let is_told = self.bytes >= ENOUGH.get() * size && self.steps >= HABIT.to::<u32>();
        (is_told && self.time > Span::ZERO).then(|| Bytes::new(self.bytes).per(self.time))
    }
}

/// The last ACK.
#[derive(Clone, Copy, Debug, Packed)]
struct AckSnapshot {
    time: Timestamp,
    ack: u64,
    edge: u64,
    /// True if data is in flight; and true for `moves` if it is more than a delayed ACK may leave.
    in_flight: bool,
    moves: bool,
    unread: bool,
}

/// Rates of a transfer while it was active.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct ActiveTime {
    last: Option<AckSnapshot>,
    acked: MovedBytes,
    read: MovedBytes,
}

/// Rates of acknowledging and of reading.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ActiveRates {
    /// Rate at which data was acknowledged while more was in flight.
    pub(crate) acked: Option<Rate>,
    /// Rate at which the receiver read while it had unread data.
    pub(crate) read: Option<Rate>,
}

impl ActiveTime {
    /// Takes an ACK with its window. `most` is the largest window, and `nxt` the end of the sent
    /// data.
    pub(crate) fn acked(&mut self, ack: &Ack, window: u64, most: u64, nxt: u64, size: u64) {
        let now = AckSnapshot {
            time: ack.time,
            ack: ack.ack,
            edge: ack.ack.saturating_add(window),
            in_flight: ack.ack < nxt,
            moves: ack.ack.saturating_add(DELAYED * size) < nxt,
            unread: window.saturating_add(SEVERAL_SEGMENTS.get() * size) <= most,
        };
        let Some(before) = self.last.replace(now) else { return };
        let time = now.time.since(before.time);
        let advanced = now.ack.saturating_sub(before.ack);
        if before.moves && now.in_flight {
            self.acked.add(advanced, time);
        }
        // Without ACKs, a receiver may read unseen: a step that ends with new data after a pause
        // does not show when.
        if before.unread && (before.in_flight || advanced == 0) {
            self.read.add(now.edge.saturating_sub(before.edge), time);
        }
    }

    pub(crate) fn rates(&self, size: u64) -> ActiveRates {
        ActiveRates { acked: self.acked.rate(size), read: self.read.rate(size) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const SIZE: u64 = 1_000;
    const BUFFER: u64 = 100_000;

    /// ACKs at these milliseconds of so many bytes, with the window, where data was sent up to
    /// there.
    fn moving(timeline: &[(i64, u64, u64, u64)]) -> ActiveRates {
        let mut moving = ActiveTime::default();
        for &(milli, acked, window, sent) in timeline {
            let time = Timestamp::from_nanos(milli * 1_000_000);
            let ack = Ack { time, ack: acked, ..Ack::default() };
            moving.acked(&ack, window, BUFFER, sent, SIZE);
        }
        moving.rates(SIZE)
    }

    /// A burst of 40 segments at once, of which a line delivers two each 2 ms, and a pause.
    #[test]
    fn a_line_is_seen_within_bursts() {
        let bursts = (0..3).flat_map(|burst: u64| {
            (1..=20).map(move |pair| {
                let acked = burst * 40 * SIZE + pair * 2 * SIZE;
                let milli = burst * 1_000 + pair * 2;
                (i64::try_from(milli).unwrap(), acked, BUFFER, (burst + 1) * 40 * SIZE)
            })
        });
        let rates = moving(&bursts.collect::<Vec<_>>());
        assert!((rates.acked.unwrap().bytes_per_second() / 1e6 - 1.0).abs() < 1e-9, "{rates:?}");
        assert_eq!(rates.read.map(Rate::bytes_per_second), None);
    }

    /// Fifty segments are acknowledged at once, and read one each millisecond in the pause.
    #[test]
    fn a_reader_is_seen_while_it_catches_up() {
        let bursts = (0..3).flat_map(|burst: u64| {
            let all = (burst + 1) * 50 * SIZE;
            (0..=50).map(move |read| {
                let milli = i64::try_from(burst * 1_000 + read).unwrap();
                (milli, all, BUFFER - 50 * SIZE + read * SIZE, all)
            })
        });
        let rates = moving(&bursts.collect::<Vec<_>>());
        assert!((rates.read.unwrap().bytes_per_second() / 1e6 - 1.0).abs() < 1e-9, "{rates:?}");
    }

    /// The odd segment before a pause has its ACK when more comes: no pace of the path.
    #[test]
    fn a_delayed_ack_over_a_pause_tells_nothing() {
        let bursts = (1..30_u64).map(|burst| {
            let milli = i64::try_from(burst * 500).unwrap();
            (milli, burst * 3 * SIZE - SIZE, BUFFER, burst * 3 * SIZE)
        });
        let rates = moving(&bursts.collect::<Vec<_>>());
        assert!(rates.acked.is_none() && rates.read.is_none(), "{rates:?}");
    }

    /// A receiver that reads in a silent pause takes no longer than the pause, and may take less.
    #[test]
    fn silence_tells_nothing_of_a_reader() {
        let bursts = (1..30_u64).map(|burst| {
            let milli = i64::try_from(burst * 500).unwrap();
            (milli, burst * 20 * SIZE, BUFFER - 20 * SIZE, burst * 20 * SIZE)
        });
        assert!(moving(&bursts.collect::<Vec<_>>()).read.is_none());
    }
}
