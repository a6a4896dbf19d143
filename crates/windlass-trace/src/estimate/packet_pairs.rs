//! Transmission time of a segment on the bottleneck, by the ACKs of bursts.
//!
//! Segments that leave at once and are acknowledged one behind the other stood in a queue
//! before something that takes so long for each: a line, or a host that is as slow as one.
//! Their ACKs come at its pace (packet-pair dispersion: Keshav 1991), however long the way
//! is. A receiver that is only late to acknowledge does not part them. Where what was
//! acknowledged took all of a time at that pace, the narrowest place was busy all along,
//! and no window or buffer held the transfer back, however few segments it holds.

use windlass_base::thresholds::{EVEN_SPACING, HABIT, HALF_OF_IT};
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::distribution::Distribution;

/// Unit in bytes of the recorded times.
const UNIT: u64 = 1 << 16;

/// The pace at which bursts are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    pub(crate) rate: Rate,
    /// Pace of the slowest pair.
    pub(crate) slowest: Rate,
    /// True if enough bursts have it in common.
    pub(crate) sure: bool,
}

/// Estimator of the bottleneck rate by the ACKs of bursts.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct PacketPairRate {
    /// Last ACK: its time, the time when the last segment that it covers was sent, and the bytes
    /// that it covers.
    last: Option<(Timestamp, (Timestamp, u64))>,
    /// The time for [`UNIT`] bytes, by pair of ACKs.
    times: Distribution,
}

impl PacketPairRate {
    /// Takes an ACK of so many bytes, the last of which were sent at that time. Data from the
    /// `next` time on is still in flight.
    pub(crate) fn acked(
        &mut self,
        time: Timestamp,
        sent: Timestamp,
        bytes: u64,
        next: Option<Timestamp>,
    ) {
        let Some((before, (sent_before, covered))) = self.last.replace((time, (sent, bytes)))
        else {
            return;
        };
        let (gap, spread) = (time.since(before), sent.since(sent_before));
        // All of it had left when the ACK of what was ahead of it came.
        let at_once = gap.scaled(HALF_OF_IT.get());
        let queued = sent < before && spread >= Span::ZERO && spread <= at_once;
        // The rest of a burst may have an ACK of its own, which a timer delays.
        let followed = next.is_some_and(|next| next.since(sent) <= at_once);
        if queued && (followed || bytes >= covered) && bytes > 0 {
            self.times.record(gap.scaled(UNIT as f64 / bytes as f64));
        }
    }

    /// Returns the pace that bursts have in common.
    pub(crate) fn pace(&self) -> Option<Pace> {
        let low = self.times.quantile(0.25).filter(|low| *low > Span::ZERO)?;
        let alike =
            self.times.median().is_some_and(|middle| middle <= low.scaled(EVEN_SPACING.get()));
        let sure = self.times.count >= HABIT.get() && alike;
        let rate = |time| Bytes::new(UNIT).per(time);
        let slowest = self.times.quantile(1.0).map_or(Rate::ZERO, rate);
        Some(Pace { rate: rate(low), slowest, sure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1_460;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    /// Bursts of five segments, each acknowledged alone.
    fn bursts(acks: [i64; 5]) -> Option<Pace> {
        let mut service = PacketPairRate::default();
        for burst in 0..3 {
            let start = burst * 100_000;
            for (place, ack) in (0..).zip(acks) {
                let next = (place < 4).then(|| at(start + place * 5 + 5));
                service.acked(at(start + ack), at(start + place * 5), FULL, next);
            }
        }
        service.pace()
    }

    #[test]
    fn a_line_parts_the_acks_of_a_burst() {
        // 10 Mbit/s takes a full segment 1.23 ms.
        let pace = bursts([1_330, 2_560, 3_790, 5_020, 6_250]).unwrap();
        assert!((pace.rate.bytes_per_second() / 1.187e6 - 1.0).abs() < 0.01, "{pace:?}");
        assert!(pace.sure);
    }

    #[test]
    fn a_late_receiver_does_not() {
        // Its ACKs come after 50 ms, as close as the line of 100 Mbit/s has the data.
        let pace = bursts([50_123, 50_246, 50_369, 50_492, 50_615]).unwrap();
        assert!((pace.rate.bytes_per_second() / 11.87e6 - 1.0).abs() < 0.01, "{pace:?}");
        // One ACK for all of it tells nothing.
        let mut service = PacketPairRate::default();
        (0..9).for_each(|n| {
            service.acked(at(n * 117_000), at(n * 117_000 - 116_000), 2_920, None);
        });
        assert_eq!(service.pace(), None);
    }

    #[test]
    fn a_host_that_stands_still_hides_no_line_and_makes_none() {
        // One ACK of five comes late.
        assert!(bursts([1_330, 2_560, 3_790, 9_000, 10_230]).unwrap().sure);
        assert!(!bursts([100, 400, 2_500, 9_000, 9_030]).unwrap().sure);
    }

    #[test]
    fn a_delayed_ack_for_the_last_of_a_burst_is_no_pace() {
        let mut service = PacketPairRate::default();
        for burst in 0..9 {
            let (start, next) = (burst * 100_000, Some(at(burst * 100_000 + 50_000)));
            service.acked(at(start + 50_000), at(start), 2 * FULL, Some(at(start + 5)));
            service.acked(at(start + 90_000), at(start + 5), FULL, next);
        }
        assert_eq!(service.pace(), None);
    }

    #[test]
    fn what_the_sender_parts_is_its_own_pace() {
        let mut service = PacketPairRate::default();
        (0..20).for_each(|n| {
            service.acked(at(n * 1_000 + 5_000), at(n * 1_000), FULL, Some(at(n * 1_000 + 1_000)));
        });
        assert_eq!(service.pace(), None);
    }
}
