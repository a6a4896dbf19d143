//! ACKs that come one by one, each as late: the way of a path.
//!
//! A receiver that takes its time mostly acknowledges at once all that came meanwhile. Where ACKs
//! leave data in flight, and each comes as long after its segment as the others, they may be on
//! their way for as long, however soon the SYN was answered: something nearer answers SYNs (a SYN
//! proxy, a firewall with SYN cookies), or the path became longer since.

use windlass_base::Span;
use windlass_macros::Packed;

use crate::distribution::Distribution;
use crate::queueing_delay::MIN_QUEUE;

/// So many ACKs tell, and at least so many of all leave data in flight.
const MIN_ACKS: u32 = 20;
const IN_FLIGHT: f64 = 0.3;

/// The latencies of those that are not delayed (at least four of ten) differ by no more than this.
const ALIKE: f64 = 1.25;

/// A path whose round trips vary by less than this is the one of its handshake.
const LONGER: f64 = 1.33;

/// What ACKs left in flight.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Pipeline {
    acks: u32,
    /// Those that left data in flight.
    partial: u32,
}

/// A path that may take longer than its handshake did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongerPath {
    /// From the SYN to its answer, as captured.
    pub(crate) handshake: Span,
    /// From data to its ACK, all but the quickest tenth.
    pub(crate) latency: Span,
}

impl Pipeline {
    /// An ACK of new data came, and left some in flight, or none.
    #[inline]
    pub(crate) fn acked(&mut self, leaves_some: bool) {
        self.acks = self.acks.saturating_add(1);
        self.partial = self.partial.saturating_add(u32::from(leaves_some));
    }

    /// The path, where these latencies may be its own and are longer than the handshake's.
    pub(crate) fn longer(
        &self,
        latency: &Distribution,
        handshake: Option<Span>,
    ) -> Option<LongerPath> {
        let handshake = handshake?;
        let (low, middle) = (latency.quantile(0.1)?, latency.median()?);
        let in_flight = f64::from(self.partial) >= IN_FLIGHT * f64::from(self.acks);
        let longer = low >= handshake.scaled(LONGER) + MIN_QUEUE;
        let alike = middle <= low.scaled(ALIKE);
        (self.acks >= MIN_ACKS && in_flight && alike && longer)
            .then_some(LongerPath { handshake, latency: low })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_longer(leaves_some: bool, took: [i64; 2]) -> bool {
        let (mut pipeline, mut latency) = (Pipeline::default(), Distribution::default());
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
