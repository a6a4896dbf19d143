//! ACKs, as seen by the direction that they acknowledge.

use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

/// An ACK of the other direction.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Ack {
    pub(crate) time: Timestamp,
    pub(crate) number: u64,
    pub(crate) ack: u64,
    /// The window field as sent.
    pub(crate) window: u16,
    /// True if it carries data of its own.
    pub(crate) carries_data: bool,
    /// True if it says that data above a gap has arrived.
    pub(crate) sacks: bool,
    /// Its first SACK block, if that lies below the ACK: this data arrived twice (RFC 2883).
    pub(crate) d_sack: Option<(u64, u64)>,
    pub(crate) echo: Option<u32>,
    pub(crate) timestamp: Option<u32>,
    /// The time for which it stood in queues before the capture, by its timestamp.
    pub(crate) queued: Span,
    /// True if it tells that a queue marked data (ECE of RFC 3168).
    pub(crate) marked: bool,
    /// Number of packets that it reports as marked since the last ACK (RFC 9768).
    pub(crate) newly_marked: u64,
    /// True if it ends the connection, which makes its window meaningless.
    pub(crate) closing: bool,
    /// True if its sender has no more data (FIN).
    pub(crate) is_last: bool,
}

impl Ack {
    /// Returns whether it may be a duplicate: without data, and not the end (RFC 5681 section 2).
    pub(crate) fn is_bare(&self) -> bool {
        !self.carries_data && !self.closing && !self.is_last
    }
}
