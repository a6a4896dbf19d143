//! Segments that arrived damaged: with a wrong TCP checksum, so that the receiver drops them.
//!
//! A wrong checksum alone shows no damage. A capture at the sender holds segments whose checksum
//! the network card is still to fill in, and a tool that rewrites addresses or data may leave the
//! old one. So a direction is trusted only once segments at least as large had right checksums,
//! and no longer once the receiver acknowledges data that came in no other segment.

use windlass_base::thresholds::HABIT;
use windlass_macros::PackedSparsely;
use windlass_wire::Checksum;

use crate::follow::counts::Examples;

/// The damaged segments of one direction.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct DamageDetector {
    /// Segments with a right checksum, and the largest payload of them.
    right: u64,
    largest: u32,
    /// Segments that arrived damaged, and those of them whose data had arrived damaged before.
    damaged: u64,
    again: u64,
    /// Start of the data that has not arrived undamaged yet.
    awaited: Vec<u64>,
    /// True if the receiver took a segment with a wrong checksum.
    refuted: bool,
    packets: Examples,
}

/// Segments that arrived damaged, and were dropped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DamagedSegments {
    /// The number of segments.
    pub(crate) segments: u64,
    /// The number of those whose data had arrived damaged before.
    pub(crate) again: u64,
    /// The number of segments that were verified and right.
    pub(crate) right: u64,
    /// The first of them.
    pub(crate) packets: Examples,
}

impl DamageDetector {
    /// Takes a segment with `payload` bytes of data from `start`. Returns whether it is damaged.
    #[inline]
    pub(crate) fn saw(
        &mut self,
        checksum: Checksum,
        start: u64,
        payload: u32,
        packet: u64,
    ) -> bool {
        if checksum == Checksum::Unknown && self.awaited.is_empty() {
            return false;
        }
        self.verified(checksum, start, payload, packet)
    }

    #[inline(never)]
    fn verified(&mut self, checksum: Checksum, start: u64, payload: u32, packet: u64) -> bool {
        if checksum != Checksum::Wrong {
            let end = start + u64::from(payload);
            self.awaited.retain(|awaited| !(start..end).contains(awaited));
            if checksum == Checksum::Right {
                self.right += 1;
                self.largest = self.largest.max(payload);
            }
            return false;
        }
        let is_trusted = !self.refuted
            && self.right >= HABIT.get()
            && payload <= self.largest
            && self.damaged < self.right;
        if is_trusted {
            self.damaged += 1;
            self.packets.add(packet);
            if self.awaited.contains(&start) {
                self.again += 1;
            } else {
                self.awaited.push(start);
            }
        }
        is_trusted
    }

    /// Takes an ACK of all data before `ack`.
    #[inline]
    pub(crate) fn acked(&mut self, ack: u64) {
        if !self.awaited.is_empty() && self.awaited.iter().any(|start| *start < ack) {
            self.refuted = true;
            self.awaited.clear();
        }
    }

    /// Returns the damaged segments, if the evidence is trusted.
    pub(crate) fn damaged(self) -> Option<DamagedSegments> {
        let Self { right, damaged, again, packets, .. } = self;
        let is_shown = damaged > 0 && !self.refuted;
        is_shown.then_some(DamagedSegments { segments: damaged, again, right, packets })
    }

    /// Returns whether a segment was damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged > 0 && !self.refuted
    }
}

/// Selection of the packets whose checksums are verified: reading whole packets takes as long as
/// all other work.
///
/// Retransmissions reveal damage, so the packets behind a repair are verified, unless many were and
/// none was damaged. Behind damage, many more are verified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChecksumSelection {
    /// Number of the last packet to verify.
    until: u64,
    /// Number of further verifications before damage shows.
    left: u32,
}

impl Default for ChecksumSelection {
    fn default() -> Self {
        Self { until: VERIFIED, left: ROUNDS }
    }
}

/// Number of packets to verify at the start of a capture, and behind a repair: on a bad path, that
/// many packets include a few damaged ones.
const VERIFIED: u64 = 1_000;

/// Number of verifications while no packet is damaged.
const ROUNDS: u32 = 100;

impl ChecksumSelection {
    /// Returns whether the packet behind this many is verified.
    #[inline]
    pub(crate) const fn is_next(self, packets: u64) -> bool {
        packets < self.until
    }

    /// Takes a retransmission in the packet before this one.
    pub(crate) const fn repaired(&mut self, packets: u64, is_damaged: bool) {
        if is_damaged {
            self.left = ROUNDS;
            self.until = packets + VERIFIED * ROUNDS as u64;
        }
        if packets >= self.until && self.left > 0 {
            self.left -= 1;
            self.until = packets + VERIFIED;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted(right: u64) -> DamageDetector {
        let mut detector = DamageDetector::default();
        for index in 0..right {
            assert!(!detector.saw(Checksum::Right, index * 1_000, 1_000, index));
        }
        detector
    }

    fn is_trusted(mut detector: DamageDetector, payload: u32) -> bool {
        detector.saw(Checksum::Wrong, 50_000, payload, 50)
    }

    #[test]
    fn a_wrong_checksum_is_damage_beside_right_ones_of_as_large_segments() {
        let enough = HABIT.get();
        assert!(!is_trusted(trusted(enough - 1), 1_000));
        assert!(is_trusted(trusted(enough), 1_000));
        assert!(!is_trusted(trusted(enough), 1_001));
        assert_eq!(trusted(enough).damaged(), None);
    }

    #[test]
    fn a_card_that_fills_all_checksums_in_damages_nothing() {
        let mut detector = trusted(0);
        for index in 0..100 {
            assert!(!detector.saw(Checksum::Wrong, index * 1_000, 1_000, index));
        }
        assert_eq!(detector.damaged(), None);
    }

    #[test]
    fn an_ack_of_what_came_damaged_alone_refutes_it() {
        let enough = HABIT.get();
        let mut detector = trusted(enough);
        assert!(detector.saw(Checksum::Wrong, 50_000, 1_000, 50));
        detector.acked(50_000);
        assert!(detector.is_damaged());
        detector.acked(51_000);
        assert!(!detector.is_damaged());
        assert!(!detector.saw(Checksum::Wrong, 60_000, 1_000, 60));
        assert_eq!(detector.damaged(), None);
    }

    #[test]
    fn data_that_came_whole_later_may_be_acknowledged() {
        let mut detector = trusted(HABIT.get());
        for packet in [50, 51] {
            assert!(detector.saw(Checksum::Wrong, 50_000, 1_000, packet));
        }
        // A repair need not be cut as the first copy was, nor be verified.
        assert!(!detector.saw(Checksum::Unknown, 49_500, 1_000, 52));
        detector.acked(51_000);
        let damaged = detector.damaged().unwrap();
        assert_eq!((damaged.segments, damaged.again), (2, 1));
        assert_eq!(damaged.packets.as_slice(), [50, 51]);
    }

    #[test]
    fn packets_behind_a_repair_are_verified() {
        let mut verified = ChecksumSelection::default();
        assert!(verified.is_next(VERIFIED - 1) && !verified.is_next(VERIFIED));
        verified.repaired(5_000, false);
        assert!(verified.is_next(5_000) && !verified.is_next(5_000 + VERIFIED));
        for round in 1..u64::from(ROUNDS) {
            verified.repaired(5_000 + round * VERIFIED, false);
        }
        verified.repaired(1_000_000, false);
        assert!(!verified.is_next(1_000_000), "none was damaged");
        verified.repaired(1_000_000, true);
        assert!(verified.is_next(1_000_000 + VERIFIED * u64::from(ROUNDS) - 1));
    }
}
