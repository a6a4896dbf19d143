//! Sizes of segments that pass the path, and sizes that never arrive.
//!
//! A router drops a segment that is too large for its next link, and reports this by ICMP (RFC
//! 1191, RFC 8201). If that message is filtered or ignored, the sender retransmits the segment
//! again and again, while smaller ones pass: a black hole (RFC 2923 section 2.1). A sender that
//! probes its way out (RFC 4821) proves the black hole: it sends the same data in smaller pieces,
//! and these arrive. A card that should split large packets of its system (segmentation offload),
//! and does not, loses each packet of several segments and no other.

use windlass_base::Timestamp;
use windlass_base::thresholds::{OFFLOAD_LOST, OFFLOAD_REPAIRS, SEVERAL};
use windlass_macros::{Packed, PackedSparsely};

use crate::follow::counts::Examples;

/// Segment that the receiver lacks, and that was retransmitted.
#[derive(Clone, Debug, PartialEq, Packed)]
struct StuckSegment {
    start: u64,
    /// Least size of its transmissions before the sender lowered the size.
    size: u64,
    /// Number of transmissions at this size.
    sends: u32,
    /// The packets that sent it again.
    numbers: Examples,
    /// The size to which the sender lowered it.
    lowered: Option<u64>,
}

/// Evidence of segments that were too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlackHoleSign {
    /// The sender lowered its size, and the pieces arrived.
    Escaped,
    /// Smaller ones arrived, and the sender never lowered its size.
    Smaller,
    /// A router told the largest packet that the next link takes, and the sender did not heed it.
    Told {
        /// Size of that packet, with its IP header.
        mtu: u64,
    },
    /// All packets of several segments were lost, and those of one were not.
    Offload,
}

/// Size that passed, while a larger one did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlackHole {
    /// The largest payload that arrived, and the least that did not.
    pub(crate) passes: u64,
    pub(crate) fails: u64,
    /// Number of lost transmissions; with offload, number of lost packets.
    pub(crate) sends: u32,
    pub(crate) numbers: Vec<u64>,
    pub(crate) sign: BlackHoleSign,
}

/// Router's message on the largest packet for its next link.
#[derive(Clone, Copy, Debug, Default, PartialEq, PackedSparsely)]
struct ReportedMtu {
    /// The largest packet, with its IP header, and the payload that it leaves.
    mtu: u64,
    passes: u64,
    time: Timestamp,
}

/// Packets of several segments that were lost at their first sending.
#[derive(Clone, Debug, Default, PartialEq, PackedSparsely)]
struct LostSuperPackets {
    count: u32,
    /// Repairs that they began.
    repairs: u32,
    /// The least of them.
    least: u64,
    /// Lost packets of a single segment.
    single: u32,
    numbers: Examples,
}

/// The sizes of one direction.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct BlackHoleDetector {
    stuck: Option<StuckSegment>,
    /// First segment that arrived after its size was lowered.
    escaped: Option<StuckSegment>,
    /// The largest payload that arrived before.
    before_escape: u64,
    /// Largest size that arrived after a retransmission.
    passed: u64,
    told: Option<ReportedMtu>,
    whole: LostSuperPackets,
}

/// Sizes that arrived, by the flow's other facts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivedSizes {
    /// Largest packet that arrived at its first sending: several segments, if offload left them
    /// whole.
    pub(crate) largest: u64,
    /// A full segment.
    pub(crate) segment: u64,
    /// Largest size that arrived behind the stuck segment, if only smaller ones did.
    pub(crate) behind: Option<u64>,
    /// True if the receiver sent something after the stuck segment was first sent.
    pub(crate) is_heard: bool,
}

impl BlackHoleDetector {
    /// Takes a retransmission of data from `start`, for which the receiver asked. The data was
    /// first sent in a segment of the size `first`.
    pub(crate) fn again(&mut self, number: u64, start: u64, length: u64, first: u64) {
        match &mut self.stuck {
            Some(stuck) if stuck.start == start => {
                if length < stuck.size && stuck.sends >= SEVERAL.to::<u32>() {
                    stuck.lowered = Some(length.max(stuck.lowered.unwrap_or(0)));
                } else if stuck.lowered.is_none() {
                    stuck.size = stuck.size.min(length);
                    stuck.sends = stuck.sends.saturating_add(1);
                }
                stuck.numbers.add(number);
            }
            _ => {
                let (size, mut numbers) = (first.min(length), Examples::default());
                numbers.add(number);
                self.stuck = Some(StuckSegment { start, size, sends: 2, numbers, lowered: None });
            }
        }
    }

    /// Takes packet `number` of this length, which was lost at its first sending; a full segment
    /// has `size`. `begins` is true if a repair begins with the packet.
    pub(crate) fn lost(&mut self, length: u64, size: u64, number: u64, begins: bool) {
        let whole = &mut self.whole;
        if length <= size {
            whole.single = whole.single.saturating_add(1);
            return;
        }
        whole.least = if whole.count == 0 { length } else { whole.least.min(length) };
        whole.count = whole.count.saturating_add(1);
        whole.repairs = whole.repairs.saturating_add(u32::from(begins));
        whole.numbers.add(number);
    }

    /// Takes a router's message with the next link's MTU, and the payload that this leaves.
    pub(crate) fn told(&mut self, mtu: u64, passes: u64, time: Timestamp) {
        if self.told.is_none_or(|told| mtu < told.mtu) {
            self.told = Some(ReportedMtu { mtu, passes, time });
        }
    }

    /// Returns whether a router reported, after this time, that a packet of this length is too
    /// large.
    pub(crate) fn is_too_large(&self, length: u64, sent: Timestamp) -> bool {
        self.told.is_some_and(|told| length > told.passes && sent <= told.time)
    }

    /// Takes an ACK of new data. The largest segment that has arrived so far holds `largest`.
    pub(crate) fn advance(&mut self, ack: u64, largest: u64) {
        let Some(stuck) = self.stuck.take_if(|stuck| ack > stuck.start) else { return };
        match stuck.lowered {
            None => self.passed = self.passed.max(stuck.size.min(ack - stuck.start)),
            // The first tells most: what follows goes by the lowered size.
            Some(_) if self.escaped.is_none() => {
                self.escaped = Some(stuck);
                self.before_escape = self.passed.max(largest);
            }
            Some(_) => {}
        }
    }

    /// Returns the largest size that arrived though it had to be sent again.
    pub(crate) const fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the start and the size of the stuck segment.
    pub(crate) fn stuck(&self) -> Option<(u64, u64)> {
        self.stuck.as_ref().map(|stuck| (stuck.start, stuck.size))
    }

    /// Returns the black hole that these sizes show.
    pub(crate) fn hole(&self, arrived: ArrivedSizes) -> Option<BlackHole> {
        let passed = self.passed.max(arrived.largest.min(arrived.segment));
        let is_stuck =
            |stuck: &StuckSegment, sends| stuck.sends >= sends && stuck.lowered.is_none();
        let stuck = self.stuck.as_ref();
        let told = self.told.zip(stuck).filter(|(told, stuck)| {
            is_stuck(stuck, SEVERAL.to::<u32>()) && stuck.size > told.passes
        });
        let alone = stuck.filter(|stuck| is_stuck(stuck, SEVERAL.to::<u32>()));
        let before = Some(passed).filter(|passed| arrived.is_heard && *passed > 0);
        let found = if let Some(stuck) = &self.escaped {
            (stuck.lowered.unwrap_or(0), stuck, BlackHoleSign::Escaped)
        } else if let Some((told, stuck)) = told {
            (told.passes, stuck, BlackHoleSign::Told { mtu: told.mtu })
        } else if let Some((stuck, passes)) = alone.zip(arrived.behind.or(before)) {
            (passes, stuck, BlackHoleSign::Smaller)
        } else {
            return self.whole.hole(arrived);
        };
        let (passes, &StuckSegment { size: fails, sends, ref numbers, .. }, sign) = found;
        // With offload, a packet of several lowered segments is longer than the segment that
        // failed.
        let is_whole = sign == BlackHoleSign::Escaped && arrived.largest > arrived.segment;
        let passes = passes.max(if is_whole { self.before_escape } else { passed });
        let numbers = numbers.as_slice().to_vec();
        (fails > passes).then_some(BlackHole { passes, fails, sends, numbers, sign })
    }
}

impl LostSuperPackets {
    fn hole(&self, arrived: ArrivedSizes) -> Option<BlackHole> {
        let none_came = arrived.largest <= arrived.segment;
        let is_habit = self.count >= OFFLOAD_LOST.get()
            && self.repairs >= OFFLOAD_REPAIRS.get()
            && self.single * OFFLOAD_LOST.get() <= self.count;
        (none_came && is_habit && arrived.largest > 0).then(|| BlackHole {
            passes: arrived.segment,
            fails: self.least,
            sends: self.count,
            numbers: self.numbers.as_slice().to_vec(),
            sign: BlackHoleSign::Offload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1_448;

    fn arrived(largest: u64) -> ArrivedSizes {
        ArrivedSizes { largest, segment: SEGMENT, behind: None, is_heard: true }
    }

    /// A segment that was sent so many times in all.
    fn stuck(sends: u32) -> BlackHoleDetector {
        let mut sizes = BlackHoleDetector::default();
        for number in 1..u64::from(sends) {
            sizes.again(number, 1, SEGMENT, SEGMENT);
        }
        sizes
    }

    #[test]
    fn it_is_sent_often_enough_before_its_size_matters() {
        let sends = SEVERAL.to::<u32>();
        let hole = stuck(sends).hole(arrived(1_000)).unwrap();
        assert_eq!((hole.passes, hole.fails, hole.sign), (1_000, SEGMENT, BlackHoleSign::Smaller));
        assert_eq!(stuck(sends - 1).hole(arrived(1_000)), None);
        // Nothing smaller arrived, one as large did, or nobody was heard of.
        assert_eq!(stuck(sends).hole(arrived(0)), None);
        assert_eq!(stuck(sends).hole(arrived(SEGMENT)), None);
        assert_eq!(stuck(sends).hole(ArrivedSizes { is_heard: false, ..arrived(1_000) }), None);
    }

    #[test]
    fn a_router_is_believed_sooner_and_not_where_as_much_arrives() {
        let told = |sends, passes| {
            let mut sizes = stuck(sends);
            sizes.told(passes + 52, passes, Timestamp::from_nanos(0));
            sizes.hole(ArrivedSizes { is_heard: false, ..arrived(0) })
        };
        let hole = told(SEVERAL.to::<u32>(), SEGMENT - 1).unwrap();
        assert_eq!(
            (hole.passes, hole.sign),
            (SEGMENT - 1, BlackHoleSign::Told { mtu: SEGMENT + 51 })
        );
        assert_eq!(told(SEVERAL.to::<u32>() - 1, SEGMENT - 1), None);
        assert_eq!(told(SEVERAL.to::<u32>(), SEGMENT), None);
    }

    #[test]
    fn a_sender_that_heeds_it_has_no_hole() {
        let mut sizes = stuck(2);
        sizes.told(1_420, 1_368, Timestamp::from_nanos(0));
        sizes.again(7, 1, 1_368, SEGMENT);
        sizes.advance(1_369, 0);
        assert_eq!(sizes.hole(arrived(1_368)), None);
    }

    #[test]
    fn lowered_segments_in_one_packet_do_not_hide_the_escape() {
        let escaped = |before| {
            let mut sizes = stuck(SEVERAL.to::<u32>());
            sizes.again(7, 1, 1_024, SEGMENT);
            sizes.advance(1_025, before);
            sizes.hole(arrived(2 * 1_024))
        };
        let hole = escaped(0).unwrap();
        assert_eq!((hole.passes, hole.fails, hole.sign), (1_024, SEGMENT, BlackHoleSign::Escaped));
        assert_eq!(escaped(SEGMENT), None);
    }

    #[test]
    fn a_router_tells_of_what_was_sent_before() {
        let time = Timestamp::from_nanos;
        let mut sizes = BlackHoleDetector::default();
        assert!(!sizes.is_too_large(SEGMENT, time(1)));
        sizes.told(1_420, 1_368, time(5));
        assert!(sizes.is_too_large(1_369, time(5)));
        assert!(!sizes.is_too_large(1_368, time(5)));
        assert!(!sizes.is_too_large(1_369, time(6)));
    }

    #[test]
    fn all_packets_of_several_segments_are_lost_and_no_other() {
        let lost = |whole: u32, repairs: u32, single: u32| {
            let mut sizes = BlackHoleDetector::default();
            for number in 0..whole {
                sizes.lost(2 * SEGMENT, SEGMENT, number.into(), number < repairs);
            }
            (0..single).for_each(|number| sizes.lost(SEGMENT, SEGMENT, number.into(), false));
            sizes
        };
        let (many, repairs) = (OFFLOAD_LOST.get(), OFFLOAD_REPAIRS.get());
        let hole = lost(many, repairs, 1).hole(arrived(SEGMENT)).unwrap();
        assert_eq!(
            (hole.fails, hole.sends, hole.sign),
            (2 * SEGMENT, many, BlackHoleSign::Offload)
        );
        for (whole, repairs, single) in
            [(many - 1, repairs, 0), (many, repairs - 1, 0), (many, repairs, 2)]
        {
            assert_eq!(lost(whole, repairs, single).hole(arrived(SEGMENT)), None);
        }
        assert_eq!(lost(many, repairs, 0).hole(arrived(2 * SEGMENT)), None);
        assert_eq!(lost(many, repairs, 0).hole(arrived(0)), None);
    }
}
