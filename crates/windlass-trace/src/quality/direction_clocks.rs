//! Detection of replies that stand in a capture before the packets that they answer.
//!
//! Data and ACKs echo the last timestamp that came (RFC 7323), and the third packet of a handshake
//! acknowledges a SYN. If the echoed packet comes later in the capture, no host caused that. The
//! two directions were captured by clocks that differ, as by the two cards of a tap.

use windlass_base::{Span, Timestamp};
use windlass_macros::{Packed, PackedSparsely};
use windlass_wire::{Flags, Segment};

use crate::estimate::queueing_delay::QueueingDelay;

/// A reply to a packet that is not captured yet.
#[derive(Clone, Copy, Debug, PartialEq, Packed)]
struct AwaitedPacket {
    since: Timestamp,
    value: u32,
    /// True if `value` is the number behind a SYN, and no timestamp.
    syn: bool,
}

/// Distance of replies before the packets that they answer, in one connection.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct DirectionClockSkew {
    /// Awaited packets, by the side that sends them.
    awaited: [Option<AwaitedPacket>; 2],
}

impl DirectionClockSkew {
    /// Takes a packet of this side. `packets` are the numbers of packets that each side sent
    /// before, its own first, and `clocks` the clocks of their timestamps. Returns the packet's
    /// distance behind its answer.
    #[inline]
    pub(crate) fn saw(
        &mut self,
        segment: &Segment,
        side: usize,
        packets: (u64, u64),
        (own, other): (&QueueingDelay, &QueueingDelay),
    ) -> Option<Span> {
        let by = self.awaited[side].and_then(|awaited| self.came(awaited, segment, side, own));
        if segment.flags.has(Flags::ACK) && self.awaited[1 - side].is_none() {
            let awaited = Self::answered(segment, packets, other);
            if awaited.is_some() {
                self.awaited[1 - side] = awaited;
            }
        }
        by
    }

    /// Takes a packet that may be the answered one.
    #[cold]
    fn came(
        &mut self,
        awaited: AwaitedPacket,
        segment: &Segment,
        side: usize,
        clock: &QueueingDelay,
    ) -> Option<Span> {
        let by = segment.time.since(awaited.since);
        if awaited.syn {
            self.awaited[side] = None;
            let opens = segment.flags.has(Flags::SYN);
            let number = segment.sequence?.wrapping_add(1);
            return (opens && number == awaited.value).then_some(by);
        }
        let (value, _) = segment.options.timestamps?;
        if value.wrapping_sub(awaited.value) >= 1 << 31 {
            return None;
        }
        self.awaited[side] = None;
        // Another packet of the same tick may have been answered, which is not in the capture.
        let is_known = clock.reading().is_some() && value == awaited.value;
        is_known.then(|| (by - clock.grain()).or_zero())
    }

    /// Returns the data that this ACK answers and that the other side has not sent yet, according
    /// to the capture.
    #[inline]
    fn answered(
        segment: &Segment,
        (own_packets, other_packets): (u64, u64),
        clock: &QueueingDelay,
    ) -> Option<AwaitedPacket> {
        let since = segment.time;
        match (segment.options.timestamps, clock.last()) {
            (Some((_, echo)), Some(last)) => {
                let ahead = echo.wrapping_sub(last);
                (1..1 << 31).contains(&ahead).then_some(AwaitedPacket {
                    since,
                    value: echo,
                    syn: false,
                })
            }
            _ if other_packets == 0 && own_packets > 0 => {
                Some(AwaitedPacket { since, value: segment.acknowledgment, syn: true })
            }
            _ => None,
        }
    }
}
