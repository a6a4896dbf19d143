//! Proportional rate reduction (RFC 6937): the flight shrinks during a recovery without a pause or
//! a burst.

/// The reduction of one recovery, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reduction {
    /// The flight when the recovery began (`RecoverFS`).
    flight: u64,
    /// Bytes delivered since (`prr_delivered`).
    delivered: u64,
    /// Bytes sent since (`prr_out`).
    out: u64,
    /// Bytes that may be under way now.
    pub(super) window: u64,
}

impl Reduction {
    /// Begins a recovery with `flight` bytes in flight, `pipe` of them under way.
    pub(super) const fn new(flight: u64, pipe: u64) -> Self {
        Self { flight, delivered: 0, out: 0, window: pipe }
    }

    pub(super) fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// Records that an ACK reported `bytes` as delivered. The flight shrinks to `threshold`.
    pub(super) fn delivered(&mut self, bytes: u64, pipe: u64, threshold: u64, mss: u64) {
        self.delivered += bytes;
        let allowed = if pipe > threshold {
            let share = u128::from(self.delivered) * u128::from(threshold);
            let due = share.div_ceil(u128::from(self.flight.max(1)));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            // The slow-start bound: the flight grows as in slow start, and no faster.
            let limit = self.delivered.saturating_sub(self.out).max(bytes) + mss;
            (threshold - pipe).min(limit)
        };
        self.window = pipe.saturating_add(allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flight_shrinks_in_proportion() {
        // 20 segments are in flight and shrink to 10: one leaves for every two that arrive.
        let mut reduction = Reduction::new(20, 17);
        let mut pipe = 17;
        let mut sent = 0;
        for _ in 0..7 {
            pipe -= 1;
            reduction.delivered(1, pipe, 10, 1);
            while pipe < reduction.window {
                pipe += 1;
                sent += 1;
                reduction.sent(1);
            }
        }
        assert_eq!((pipe, sent), (14, 4));
    }

    #[test]
    fn a_flight_below_the_threshold_grows_again() {
        let mut reduction = Reduction::new(20, 4);
        reduction.delivered(1, 4, 10, 1);
        assert_eq!(reduction.window, 6);
        reduction.delivered(100, 4, 10, 1);
        assert_eq!(reduction.window, 10);
    }
}
