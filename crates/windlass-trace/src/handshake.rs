//! What both sides offered when they opened the connection.

use serde::Serialize;
use windlass_base::{Bytes, Span, Timestamp};
use windlass_macros::Packed;
use windlass_wire::{Flags, Segment};

/// What one side's SYN offered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Packed)]
pub struct Offer {
    /// The packet of the last SYN that this side sent.
    pub packet: u64,
    /// How often it was sent.
    pub sent: u32,
    /// The largest segment that this side takes, in bytes.
    pub mss: Option<u16>,
    /// The shift of this side's window field; null where it does not scale.
    pub window_scale: Option<u8>,
    /// Whether this side takes selective acknowledgments.
    pub sack_permitted: bool,
    /// Whether this side sends timestamps.
    pub timestamps: bool,
    /// Whether this side takes part in Multipath TCP (RFC 8684).
    pub multipath: bool,
    /// Whether this side asks for explicit congestion notification, or grants it (RFC 3168 section
    /// 6.1.1).
    pub ecn: bool,
    /// The window in the SYN itself, which is never scaled.
    pub first_window_bytes: Bytes,
    /// Whether the snap length cut the options, so that some may be missing.
    pub options_cut: bool,
    #[serde(skip)]
    pub(crate) time: Timestamp,
    #[serde(skip)]
    pub(crate) sequence: u32,
}

impl Offer {
    fn new(segment: &Segment, sent: u32) -> Self {
        let options = &segment.options;
        Self {
            packet: segment.number,
            sent,
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps.is_some(),
            multipath: options.multipath,
            ecn: offers_ecn(segment.flags),
            first_window_bytes: Bytes::new(u64::from(segment.window)),
            options_cut: options.truncated,
            time: segment.time,
            sequence: segment.sequence.unwrap_or_default(),
        }
    }
}

/// An answer that has both bits, or neither, grants the accurate kind (RFC 9768), whose bits count,
/// or none.
const fn offers_ecn(flags: Flags) -> bool {
    flags.has(Flags::ECE) && flags.has(Flags::CWR) != flags.has(Flags::ACK)
}

/// The opening of a connection, as far as it was captured.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Handshake {
    /// By direction: 0 is the one of the connection's first packet.
    pub(crate) offers: [Option<Offer>; 2],
    /// The direction of the SYN without ACK.
    pub(crate) opener: Option<usize>,
    /// When the first SYN came.
    first: Option<Timestamp>,
    third: Option<Timestamp>,
}

impl Handshake {
    pub(crate) fn syn(&mut self, segment: &Segment, direction: usize, answers: bool) {
        if answers
            && self.third.is_some()
            && let Some(offer) = &mut self.offers[direction]
        {
            // It was answered, and its answer was late or lost.
            offer.sent = offer.sent.saturating_add(1);
            return;
        }
        if !answers {
            self.first = self.first.or(Some(segment.time));
        }
        let sent = self.offers[direction].map_or(0, |offer| offer.sent);
        self.offers[direction] = Some(Offer::new(segment, sent + 1));
        self.third = None;
        self.opener = Some(if answers { 1 - direction } else { direction });
    }

    /// Takes the first ACK of the opener.
    pub(crate) fn completed(&mut self, time: Timestamp, direction: usize) {
        if self.third.is_none()
            && self.opener == Some(direction)
            && self.offers.iter().all(Option::is_some)
        {
            self.third = Some(time);
        }
    }

    pub(crate) fn needs_third(&self) -> bool {
        self.third.is_none() && self.opener.is_some()
    }

    /// From the capture to the side that sends in `direction`, and back: the
    /// time between what it was sent and what it answered.
    pub(crate) fn turn_at(&self, direction: usize) -> Option<Span> {
        let opener = self.opener?;
        let (first, second) = (self.offers[opener]?, self.offers[1 - opener]?);
        let turn = if direction == opener {
            self.third?.since(second.time)
        } else {
            second.time.since(first.time)
        };
        (turn >= Span::ZERO).then_some(turn)
    }

    /// The whole round trip.
    pub(crate) fn rtt(&self) -> Option<Span> {
        Some(self.turn_at(0)? + self.turn_at(1)?)
    }

    /// From the first SYN to the third segment, however often either was sent: what
    /// the user waited before anything could be sent.
    pub(crate) fn took(&self) -> Option<Span> {
        let took = self.third?.since(self.first?);
        (took >= Span::ZERO).then_some(took)
    }

    /// Whether both SYNs were captured whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.offers.iter().all(|offer| offer.is_some_and(|offer| !offer.options_cut))
    }

    /// Whether both sides agreed that queues may mark what they send.
    pub(crate) fn agrees_on_ecn(&self) -> bool {
        self.offers.iter().all(|offer| offer.is_some_and(|offer| offer.ecn))
    }

    /// The shift of the windows that `direction` advertises; `None` where the
    /// handshake does not tell. Scaling holds only when both sides offered it
    /// (RFC 7323 section 2.2).
    pub(crate) fn shift(&self, direction: usize) -> Option<u8> {
        let own = self.offers[direction]?;
        if own.options_cut {
            return None;
        }
        match self.offers[1 - direction] {
            Some(other) => Some(match (own.window_scale, other.window_scale) {
                (Some(shift), Some(_)) => shift.min(14),
                _ => 0,
            }),
            // An answer scales only when the SYN it answers did.
            None if self.opener == Some(1 - direction) => {
                Some(own.window_scale.unwrap_or(0).min(14))
            }
            None => None,
        }
    }
}
