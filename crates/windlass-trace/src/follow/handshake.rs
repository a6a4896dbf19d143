//! Options of both sides in the handshake.

use serde::Serialize;
use windlass_base::thresholds::SHORTEST_TIME;
use windlass_base::{Bytes, Span, Timestamp};
use windlass_macros::Packed;
use windlass_wire::{Flags, Segment};

/// Options of one side's SYN.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Packed)]
pub struct Offer {
    /// The packet of the last SYN that this side sent.
    pub packet: u64,
    /// Number of transmissions.
    pub sent: u32,
    /// The largest segment that this side takes, in bytes.
    pub mss: Option<u16>,
    /// The shift of this side's window field; null where it does not scale, or where the options
    /// are cut.
    pub window_scale: Option<u8>,
    /// True if this side takes selective acknowledgments.
    pub sack_permitted: bool,
    /// True if this side sends timestamps.
    pub timestamps: bool,
    /// True if this side takes part in Multipath TCP (RFC 8684).
    pub multipath: bool,
    /// True if this side asks for explicit congestion notification, or grants it (RFC 3168 section
    /// 6.1.1, RFC 9768 section 3.1.1).
    pub ecn: bool,
    /// True if it asks for accurate feedback of marks, or grants it.
    #[serde(skip)]
    pub(crate) accurate_ecn: bool,
    /// The window in the SYN itself, which is never scaled.
    pub first_window_bytes: Bytes,
    /// True if the snap length cut the options: an option that is not here may have been offered.
    pub options_cut: bool,
    #[serde(skip)]
    pub(crate) time: Timestamp,
    #[serde(skip)]
    pub(crate) sequence: u32,
    /// Its timestamp, and the one that it echoes.
    #[serde(skip)]
    pub(crate) stamps: Option<(u32, u32)>,
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
            ecn: offers_ecn(segment.flags) || offers_accurate_ecn(segment),
            accurate_ecn: offers_accurate_ecn(segment),
            first_window_bytes: Bytes::new(u64::from(segment.window)),
            options_cut: options.truncated,
            time: segment.time,
            sequence: segment.sequence.unwrap_or_default(),
            stamps: options.timestamps,
        }
    }
}

/// Returns whether the flags ask for ECN or grant it. An answer with both bits, or neither, grants
/// the accurate kind, whose bits count, or none.
const fn offers_ecn(flags: Flags) -> bool {
    flags.has(Flags::ECE) && flags.has(Flags::CWR) != flags.has(Flags::ACK)
}

/// Returns whether a SYN asks for accurate feedback of marks, or an answer grants it, which tells
/// the ECN field of the SYN (RFC 9768 section 3.1.1, table 2).
const fn offers_accurate_ecn(segment: &Segment) -> bool {
    let counter = segment.ace();
    if segment.flags.has(Flags::ACK) {
        matches!(counter, 0b010 | 0b011 | 0b100 | 0b110)
    } else {
        counter == 0b111
    }
}

/// The opening of a connection, as far as it was captured.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Handshake {
    /// Options by direction: 0 is that of the connection's first packet.
    pub(crate) offers: [Option<Offer>; 2],
    /// The direction of the SYN without ACK.
    pub(crate) opener: Option<usize>,
    /// The time when the first SYN came.
    first: Option<Timestamp>,
    third: Option<Timestamp>,
}

impl Handshake {
    pub(crate) fn syn(&mut self, segment: &Segment, direction: usize, answers: bool) {
        if answers
            && self.third.is_some()
            && let Some(offer) = &mut self.offers[direction]
        {
            // The SYN was answered, and the answer was late or lost.
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

    /// Sets the time of the first SYN.
    #[cfg(test)]
    pub(crate) fn asked_first(&mut self, time: Timestamp) {
        self.first = Some(time);
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

    /// Returns whether the answer is known to belong to another SYN than the last one, whose
    /// timestamp it does not echo. Then its time is unknown (Karn and Partridge 1987). With two
    /// SYNs this does not matter. Timers of a second at both ends (RFC 6298) send the second SYN,
    /// and the second answer to the first, a round trip apart. Far from the opener, the third
    /// segment tells the rest of the way.
    fn answers_another(&self, opener: usize) -> bool {
        let offers = [opener, 1 - opener].map(|side| self.offers[side].as_ref());
        let [Some(asked), Some(answered)] = offers else {
            return false;
        };
        let is_beside = self.turn_at(opener).is_some_and(|turn| turn < SHORTEST_TIME.get());
        let stamps = asked.stamps.zip(answered.stamps);
        asked.sent > 2 && is_beside && stamps.is_some_and(|(asked, echo)| asked.0 != echo.1)
    }

    /// Returns the time from the capture to the side that sends in `direction`, and back: from a
    /// packet to that side until its answer.
    pub(crate) fn turn_at(&self, direction: usize) -> Option<Span> {
        let opener = self.opener?;
        let [first, second] = [opener, 1 - opener].map(|side| self.offers[side].as_ref());
        let (first, second) = (first?, second?);
        let turn = if direction == opener {
            self.third?.since(second.time)
        } else if self.answers_another(opener) {
            return None;
        } else {
            second.time.since(first.time)
        };
        (turn >= Span::ZERO).then_some(turn)
    }

    /// Returns the whole round trip.
    pub(crate) fn rtt(&self) -> Option<Span> {
        Some(self.turn_at(0)? + self.turn_at(1)?)
    }

    /// Returns the time from the first SYN to the third segment, however often either was sent: the
    /// user's wait before any data could be sent.
    pub(crate) fn took(&self) -> Option<Span> {
        let took = self.third?.since(self.first?);
        (took >= Span::ZERO).then_some(took)
    }

    /// Returns whether both SYNs were captured whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.offers.iter().all(|offer| offer.is_some_and(|offer| !offer.options_cut))
    }

    /// Returns whether both sides agreed that queues may mark their data, and that ACKs echo the
    /// marks (RFC 3168).
    pub(crate) fn agrees_on_ecn(&self) -> bool {
        let all = self.offers.iter().all(|offer| offer.is_some_and(|offer| offer.ecn));
        let answer = self.opener.and_then(|opener| self.offers[1 - opener]);
        all && answer.is_some_and(|answer| !answer.accurate_ecn)
    }

    /// Returns whether both sides agreed that ACKs count the marks (RFC 9768).
    pub(crate) fn agrees_on_accurate_ecn(&self) -> bool {
        self.offers.iter().all(|offer| offer.is_some_and(|offer| offer.accurate_ecn))
    }

    /// Returns the shift of the windows that `direction` advertises; `None` if the handshake does
    /// not tell. Scaling holds only when both sides offered it (RFC 7323 section 2.2).
    pub(crate) fn shift(&self, direction: usize) -> Option<u8> {
        let own = self.offers[direction]?;
        let Some(shift) = own.window_scale.map(|shift| shift.min(14)) else {
            return (!own.options_cut).then_some(0);
        };
        // An answer scales only when the SYN it answers did.
        let answers = self.opener == Some(1 - direction);
        match self.offers[1 - direction] {
            Some(Offer { window_scale: Some(_), .. }) => Some(shift),
            Some(other) if !other.options_cut => Some(0),
            _ => answers.then_some(shift),
        }
    }
}
