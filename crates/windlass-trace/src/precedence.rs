//! What stands in a capture before the packet that it answers.
//!
//! Data and ACKs echo the last timestamp that came (RFC 7323), and the third packet of a handshake
//! acknowledges a SYN. Where the packet that is echoed comes later in the capture, no host did
//! that: the two directions were captured by clocks that differ, as by the two cards of a tap.

use windlass_base::{Span, Timestamp};
use windlass_macros::{Packed, PackedSparsely};
use windlass_wire::{Flags, Segment};

use crate::queueing_delay::QueueingDelay;

/// What a side answered that is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Packed)]
struct Awaited {
    since: Timestamp,
    value: u32,
    /// Whether that is the number behind a SYN, and no timestamp.
    syn: bool,
}

/// How far answers stand before what they answer, of one connection.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct Precedence {
    /// By the side that is to send it.
    awaited: [Option<Awaited>; 2],
}

impl Precedence {
    /// Takes a packet of this side, which has sent so many before; the clocks are those of both
    /// sides' timestamps. Gives how far behind its answer it stands.
    #[inline]
    pub(crate) fn saw(
        &mut self,
        segment: &Segment,
        side: usize,
        packets: [u64; 2],
        clocks: [&QueueingDelay; 2],
    ) -> Option<Span> {
        let by = self.awaited[side].and_then(|awaited| self.came(awaited, segment, side, clocks));
        if segment.flags.has(Flags::ACK) {
            self.answers(segment, side, packets, clocks);
        }
        by
    }

    /// The packet that was answered may have come.
    fn came(
        &mut self,
        awaited: Awaited,
        segment: &Segment,
        side: usize,
        clocks: [&QueueingDelay; 2],
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
        let is_known = clocks[side].reading().is_some() && value == awaited.value;
        is_known.then(|| (by - clocks[side].grain()).or_zero())
    }

    fn answers(
        &mut self,
        segment: &Segment,
        side: usize,
        packets: [u64; 2],
        clocks: [&QueueingDelay; 2],
    ) {
        let other = 1 - side;
        if self.awaited[other].is_some() {
            return;
        }
        let since = segment.time;
        self.awaited[other] = match (segment.options.timestamps, clocks[other].last()) {
            (Some((_, echo)), Some(last)) => {
                let ahead = echo.wrapping_sub(last);
                (1..1 << 31).contains(&ahead).then_some(Awaited { since, value: echo, syn: false })
            }
            _ if packets[other] == 0 && packets[side] > 0 => {
                Some(Awaited { since, value: segment.acknowledgment, syn: true })
            }
            _ => None,
        };
    }
}
