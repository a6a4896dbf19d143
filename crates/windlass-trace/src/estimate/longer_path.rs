//! Test for a path longer than its handshake: ACKs come one by one, each with the same delay.
//!
//! A slow receiver mostly acknowledges at once all data that came meanwhile. Other ACKs leave data
//! in flight, each as long after its segment as the others. These may be on their way for that
//! long, however soon the SYN was answered. Then something nearer answers SYNs (a SYN proxy, a
//! firewall with SYN cookies), or the path became longer since.

use windlass_base::Span;
use windlass_base::thresholds::{A_QUARTER, BEYOND_JITTER, HOST_TIME, MANY};
use windlass_macros::Packed;

use crate::estimate::distribution::Distribution;

/// Counts of ACKs that left data in flight.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct LongerPathTest {
    acks: u32,
    /// Number of ACKs that left data in flight.
    partial: u32,
}

/// A path that may take longer than its handshake did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongerPath {
    /// Time from the SYN to its answer, as captured.
    pub(crate) handshake: Span,
    /// Time from data to its ACK, the quickest tenth left out.
    pub(crate) latency: Span,
}

impl LongerPathTest {
    /// Takes an ACK of new data, which left some data in flight, or none.
    #[inline]
    pub(crate) fn acked(&mut self, leaves_some: bool) {
        self.acks = self.acks.saturating_add(1);
        self.partial = self.partial.saturating_add(u32::from(leaves_some));
    }

    /// Returns the longer path, if these latencies may be its own and exceed the handshake's.
    pub(crate) fn longer(
        &self,
        latency: &Distribution,
        handshake: Option<Span>,
    ) -> Option<LongerPath> {
        let handshake = handshake?;
        let in_flight = f64::from(self.partial) >= A_QUARTER.get() * f64::from(self.acks);
        // Quantiles are sorted for, and few connections come so far.
        if self.acks < MANY.to::<u32>() || !in_flight || latency.count == 0 {
            return None;
        }
        let [low, middle] = latency.quantiles([0.1, 0.5]);
        let longer = low >= handshake.scaled(BEYOND_JITTER.get()) + HOST_TIME.get();
        let alike = middle <= low.scaled(BEYOND_JITTER.get());
        (alike && longer).then_some(LongerPath { handshake, latency: low })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_longer(leaves_some: bool, took: [i64; 2]) -> bool {
        let (mut pipeline, mut latency) = (LongerPathTest::default(), Distribution::default());
        for ack in 0..40 {
            pipeline.acked(leaves_some);
            latency.record(Span::from_millis(took[usize::from(ack % 4 > 0)]));
        }
        pipeline.longer(&latency, Some(Span::from_millis(2))).is_some()
    }

    #[test]
    fn acks_one_by_one_may_be_a_path() {
        assert!(is_longer(true, [40, 41]));
        assert!(!is_longer(false, [40, 41]), "a receiver that takes its time");
        assert!(!is_longer(true, [40, 90]), "a queue, or a busy host");
        assert!(!is_longer(true, [2, 3]), "the handshake's path");
    }
}
