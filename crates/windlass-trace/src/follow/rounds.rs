//! Round trips, counted by sequence numbers, and how the flight grows in them.

use windlass_base::thresholds::BEYOND_JITTER;
use windlass_macros::Packed;

/// Round trips of a flow: a round ends when an ACK passes the data sent before its start (as in
/// BBR, Cardwell et al. 2016).
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct Rounds {
    end: Option<u64>,
    flight: u64,
    last_flight: u64,
    pub(crate) slow_start: bool,
    flat: u8,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { end: None, flight: 0, last_flight: 0, slow_start: true, flat: 0 }
    }
}

impl Rounds {
    pub(crate) fn is_running(&self) -> bool {
        self.end.is_some()
    }

    pub(crate) fn start(&mut self, end: u64) {
        self.end = Some(end);
    }

    pub(crate) fn flight(&mut self, flight: u64) {
        self.flight = self.flight.max(flight);
    }

    /// Returns the greatest flight of this round and the last.
    pub(crate) fn recent_flight(&self) -> u64 {
        self.flight.max(self.last_flight)
    }

    pub(crate) fn lose(&mut self) {
        self.slow_start = false;
    }

    /// Takes an ACK, and returns whether it ended a round; `next` is the end of the sent data.
    pub(crate) fn acknowledged(&mut self, ack: u64, next: u64) -> bool {
        let Some(end) = self.end else {
            return false;
        };
        if ack < end {
            return false;
        }
        self.end = (next > ack).then_some(next);
        if self.flight == 0 {
            // Nothing was sent in it, so it says nothing of growth.
            return true;
        }
        if self.slow_start && self.last_flight > 0 {
            if (self.flight as f64) < self.last_flight as f64 * BEYOND_JITTER.get() {
                self.flat += 1;
                self.slow_start = self.flat < 2;
            } else {
                self.flat = 0;
            }
        }
        self.last_flight = std::mem::take(&mut self.flight);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_ends_when_the_flight_stops_growing() {
        let mut rounds = Rounds::default();
        let mut sent = 0;
        for flight in [10, 20, 40, 80] {
            rounds.flight(flight);
            sent += flight;
            rounds.start(sent);
            assert!(rounds.acknowledged(sent, sent));
            assert!(rounds.slow_start);
        }
        for _ in 0..2 {
            rounds.flight(80);
            sent += 80;
            rounds.start(sent);
            assert!(!rounds.acknowledged(sent - 1, sent));
            assert!(rounds.acknowledged(sent, sent));
        }
        assert!(!rounds.slow_start);
    }
}
