//! Bursts that double from one to the next: a congestion window in slow start.
//!
//! A window of Linux counts packets. Each burst has twice the segments of the one before, with
//! nothing in flight between them. Then the pauses may be round trips of a path that is longer than
//! its handshake shows: a proxy answers a SYN sooner than the server behind it answers data.

use windlass_base::thresholds::A_TENTH;
use windlass_macros::Packed;

/// The bursts of one direction.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct DoublingBursts {
    /// Segments until the last pause.
    until: u64,
    last: u64,
    in_turn: u64,
}

impl DoublingBursts {
    /// Records a pause with nothing in flight, behind so many segments in all. Returns the number
    /// of bursts in turn, up to this pause, that had twice the segments of the one before.
    pub(crate) fn pause(&mut self, segments: u64) -> u64 {
        let burst = segments - self.until;
        let double = self.last * 2;
        let away = burst.abs_diff(double) as f64;
        let is_double = self.last > 1 && away <= double as f64 * A_TENTH.get();
        self.in_turn = if is_double { self.in_turn + 1 } else { 0 };
        (self.until, self.last) = (segments, burst);
        self.in_turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(bursts: &[u64]) -> u64 {
        let mut doubling = DoublingBursts::default();
        let mut segments = 0;
        let doubled = bursts.iter().map(|burst| {
            segments += burst;
            doubling.pause(segments)
        });
        doubled.max().unwrap_or(0)
    }

    #[test]
    fn a_window_that_doubles_shows() {
        assert_eq!(doubled(&[10, 20, 40]), 2);
        // A short write at its end, or a delayed ACK, leaves one more or less.
        assert_eq!(doubled(&[11, 20, 40]), 2);
        assert_eq!(doubled(&[10, 18, 36]), 2);
    }

    #[test]
    fn pieces_of_a_program_do_not_double() {
        assert_eq!(doubled(&[10, 10, 20, 10]), 1);
        assert_eq!(doubled(&[10, 17, 40]), 0);
        assert_eq!(doubled(&[1, 2, 1, 2]), 0);
        assert_eq!(doubled(&[]), 0);
    }
}
