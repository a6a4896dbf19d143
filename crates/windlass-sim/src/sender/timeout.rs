//! The retransmission timeout (RFC 6298).

use windlass_base::Span;

/// The timeout before the first measurement (RFC 6298 section 2.1).
const FIRST: Span = Span::from_millis(1_000);

/// The longest timeout (RFC 6298 section 2.5 asks for 60 s at least; Linux has
/// 120 s).
const LONGEST: Span = Span::from_millis(120_000);

/// Doublings after which the timeout is at its longest anyway.
const MAX_DOUBLINGS: u32 = 16;

/// The estimator and its back-off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeout {
    /// SRTT and RTTVAR, once there is a measurement.
    smoothed: Option<(Span, Span)>,
    /// Shortest round trip that was measured.
    shortest: Span,
    least: Span,
    doublings: u32,
}

impl Timeout {
    pub(super) const fn new(least: Span) -> Self {
        Self { smoothed: None, shortest: Span::MAX, least, doublings: 0 }
    }

    /// Records a round-trip time, measured on a segment that was sent once (Karn).
    pub(super) fn measured(&mut self, rtt: Span) {
        self.shortest = self.shortest.min(rtt);
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((smoothed, variation)) => {
                let off = smoothed - rtt;
                let off = if off < Span::ZERO { -off } else { off };
                // Alpha is 1/8 and beta 1/4 (section 2.3).
                ((smoothed * 7 + rtt) / 8, (variation * 3 + off) / 4)
            }
        });
        self.doublings = 0;
    }

    /// Ends the back-off of the SYN: the handshake is done, even if it gave no measurement.
    pub(super) const fn opened(&mut self) {
        self.doublings = 0;
    }

    /// Doubles the timeout after the timer expired (section 5.5).
    pub(super) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(MAX_DOUBLINGS);
    }

    /// Returns the smoothed round trip.
    pub(super) fn round_trip(&self) -> Option<Span> {
        self.smoothed.map(|(smoothed, _)| smoothed)
    }

    /// Returns the shortest round trip that was measured; zero before the first measurement.
    pub(super) fn shortest(&self) -> Span {
        if self.shortest == Span::MAX { Span::ZERO } else { self.shortest }
    }

    /// Returns the timeout without its back-off. Persist probes begin with it.
    pub(super) fn base(&self) -> Span {
        let timeout = self.smoothed.map_or(FIRST, |(smoothed, variation)| smoothed + variation * 4);
        timeout.max(self.least).min(LONGEST)
    }

    /// Returns the timeout, doubled for each time that the timer expired.
    pub(super) fn current(&self) -> Span {
        doubled(self.base(), self.doublings)
    }
}

/// Returns `span` doubled `times` times, up to the longest timeout.
pub(super) fn doubled(span: Span, times: u32) -> Span {
    (span * (1 << times.min(MAX_DOUBLINGS))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_round_trip_ends_at_the_least_timeout() {
        let mut timeout = Timeout::new(Span::from_millis(200));
        assert_eq!(timeout.current(), Span::from_millis(1_000));
        timeout.measured(Span::from_millis(100));
        assert_eq!(timeout.current(), Span::from_millis(300));
        for _ in 0..50 {
            timeout.measured(Span::from_millis(100));
        }
        assert_eq!(timeout.current(), Span::from_millis(200));
        assert_eq!(timeout.round_trip(), Some(Span::from_millis(100)));
    }

    #[test]
    fn each_timeout_doubles_the_next_up_to_two_minutes() {
        let mut timeout = Timeout::new(Span::from_millis(200));
        timeout.measured(Span::from_millis(10));
        let waits: Vec<i64> = (0..12)
            .map(|_| {
                let wait = timeout.current().as_nanos() / 1_000_000;
                timeout.back_off();
                wait
            })
            .collect();
        assert_eq!(&waits[..5], [200, 400, 800, 1_600, 3_200]);
        assert_eq!(waits[11], 120_000);
        timeout.opened();
        assert_eq!(timeout.current(), Span::from_millis(200));
    }
}
