//! The congestion window (RFC 5681).

use windlass_base::{Bytes, Span, Timestamp, whole_part};

use super::cubic::{BETA, Cubic};
use super::settings::Congestion;

/// Congestion window without a bound.
const UNBOUNDED: u64 = u64::MAX >> 1;

/// Algorithm that moves the window.
#[derive(Clone, Copy, Debug)]
enum Control {
    None,
    /// With the bytes acknowledged so far towards the next segment.
    Reno(u64),
    Cubic(Cubic),
}

/// The congestion window of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct CongestionWindow {
    control: Control,
    pub(super) mss: u64,
    initial: u64,
    /// Bytes that may be under way.
    pub(super) window: u64,
    /// Slow-start threshold: below it, the window doubles each round trip.
    threshold: u64,
}

impl CongestionWindow {
    pub(super) fn new(congestion: Congestion, initial: Bytes, mss: u64) -> Self {
        let control = match congestion {
            Congestion::None => Control::None,
            Congestion::Reno => Control::Reno(0),
            Congestion::Cubic => Control::Cubic(Cubic::default()),
        };
        let initial = initial.get().max(mss);
        let window = if let Control::None = control { UNBOUNDED } else { initial };
        Self { control, mss, initial, window, threshold: UNBOUNDED }
    }

    pub(super) const fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Records that new data was acknowledged after a timeout. An ACK may stand for much data that
    /// arrived before, so it counts for one segment (RFC 3465 section 2.3).
    pub(super) fn acknowledged_after_timeout(&mut self, now: Timestamp, bytes: u64, rtt: Span) {
        self.acknowledged(now, bytes.min(self.mss), rtt);
    }

    /// Records that new data was acknowledged while the congestion window held data back.
    pub(super) fn acknowledged(&mut self, now: Timestamp, bytes: u64, round_trip: Span) {
        if let Control::None = self.control {
            return;
        }
        let mut bytes = bytes;
        if self.is_in_slow_start() {
            // Bytes count, not ACKs (RFC 3465): a stretch ACK opens the window as far as the ACKs
            // for which it stands.
            let step = bytes.min(self.threshold - self.window);
            self.window += step;
            bytes -= step;
        }
        if bytes == 0 {
            return;
        }
        match &mut self.control {
            Control::None => {}
            Control::Reno(towards) => {
                *towards += bytes;
                if *towards >= self.window {
                    *towards -= self.window;
                    self.window += self.mss;
                }
            }
            Control::Cubic(cubic) => {
                let mss = self.mss as f64;
                let window =
                    cubic.grown(self.window as f64 / mss, bytes as f64 / mss, now, round_trip);
                self.window = whole_part(window * mss).max(self.window);
            }
        }
    }

    /// Reduces the window after a loss that duplicate ACKs reported, with `flight` bytes in flight.
    pub(super) fn lost(&mut self, flight: u64) {
        self.threshold = self.reduced(flight);
        if !matches!(self.control, Control::None) {
            self.window = self.threshold;
        }
    }

    /// Reduces the window after a timeout. Only the first of several timeouts is a new loss (RFC
    /// 5681 section 3.1, equation 4).
    pub(super) fn timed_out(&mut self, flight: u64, first: bool) {
        if first {
            self.threshold = self.reduced(flight);
        }
        if !matches!(self.control, Control::None) {
            self.window = self.mss;
        }
    }

    /// Reduces the window after an idle time longer than the RTO (RFC 5681 section 4.1).
    pub(super) fn idle(&mut self) {
        if !matches!(self.control, Control::None) {
            self.window = self.window.min(self.initial);
        }
    }

    /// Returns the window after a loss. During a long repair the flight also counts data that has
    /// arrived beyond the gap, and may exceed the window. It counts up to the window only (RFC 9438
    /// section 4.6 allows both).
    fn reduced(&mut self, flight: u64) -> u64 {
        let least = 2 * self.mss;
        let flight = flight.min(self.window);
        match &mut self.control {
            Control::None => UNBOUNDED,
            Control::Reno(towards) => {
                *towards = 0;
                (flight / 2).max(least)
            }
            Control::Cubic(cubic) => {
                cubic.lost(self.window as f64 / self.mss as f64);
                whole_part(flight as f64 * BETA).max(least)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(10);

    fn window(congestion: Congestion) -> CongestionWindow {
        CongestionWindow::new(congestion, Bytes::new(10_000), 1_000)
    }

    #[test]
    fn slow_start_doubles_and_avoidance_adds_a_segment_a_round_trip() {
        let mut reno = window(Congestion::Reno);
        reno.acknowledged(Timestamp::ZERO, 10_000, RTT);
        assert_eq!(reno.window, 20_000);
        reno.lost(20_000);
        assert_eq!((reno.window, reno.is_in_slow_start()), (10_000, false));
        for _ in 0..10 {
            reno.acknowledged(Timestamp::ZERO, 1_000, RTT);
        }
        assert_eq!(reno.window, 11_000);
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_half_the_flight_as_threshold() {
        let mut reno = window(Congestion::Reno);
        reno.timed_out(8_000, true);
        assert_eq!(reno.window, 1_000);
        reno.timed_out(1_000, false);
        reno.acknowledged(Timestamp::ZERO, 10_000, RTT);
        assert_eq!(reno.window, 4_000 + 1_000);
        let mut cubic = window(Congestion::Cubic);
        cubic.lost(10_000);
        assert_eq!(cubic.window, 7_000);
    }

    #[test]
    fn without_control_nothing_holds_back() {
        let mut none = window(Congestion::None);
        none.timed_out(5_000, true);
        none.lost(5_000);
        none.idle();
        assert_eq!(none.window, UNBOUNDED);
    }
}
