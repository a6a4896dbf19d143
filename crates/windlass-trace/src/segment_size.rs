//! The size of a full segment.

use windlass_macros::Packed;

/// Ethernet's segment without options: 1,500 − 20 − 20.
const ETHERNET: u64 = 1460;
/// The size that every host must take (RFC 9293 section 3.7.1).
const MIN: u64 = 536;

/// What timestamps take from each segment (RFC 7323 appendix A; RFC 6691).
const TIMESTAMPS: u64 = 12;

/// The payload of a full segment: from the handshake, or from what was sent.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct SegmentSize {
    known: Option<u64>,
    /// The MSS that the receiver takes, which some senders fill with payload
    /// although they add timestamps.
    mss: u64,
    largest: u64,
    /// Whether the largest one was seen twice, so that it is a habit.
    repeated: bool,
    bound_by_window: bool,
    /// What follows from all that: asked for with each segment.
    full: u64,
}

impl Default for SegmentSize {
    fn default() -> Self {
        Self {
            known: None,
            mss: 0,
            largest: 0,
            repeated: false,
            bound_by_window: false,
            full: ETHERNET,
        }
    }
}

impl SegmentSize {
    /// From the receiver's MSS option, which is what the sender may fill, and whether
    /// timestamps are in use. What the sender offers itself says only how large its
    /// own line's packets are as a rule: it holds until a larger segment comes.
    pub(crate) fn from_handshake(offer: u16, own: Option<u16>, timestamps: bool) -> Self {
        let likely = own.map_or(offer, |own| own.min(offer));
        let size = u64::from(likely).max(64) - if timestamps { TIMESTAMPS } else { 0 };
        Self { known: Some(size), mss: u64::from(offer), full: size, ..Self::default() }
    }

    /// Whether a segment of this length fits into the receiver's offer, and is none that
    /// a network card will cut. One larger than Ethernet carries is whole only where it
    /// fills the offer.
    fn is_whole(&self, length: u64) -> bool {
        let full = [self.mss, self.mss.saturating_sub(TIMESTAMPS)];
        length <= self.mss && (length <= ETHERNET || full.contains(&length))
    }

    /// Takes the size of a segment that was sent under windows of at most
    /// `window`.
    pub(crate) fn saw(&mut self, length: u64, window: u64) {
        if self.known.is_some_and(|size| length > size) && self.is_whole(length) {
            (self.known, self.full) = (Some(length), length);
        }
        if length > self.largest {
            self.largest = length;
            self.repeated = false;
            self.bound_by_window = length == window;
        } else if length == self.largest {
            self.repeated = true;
        } else {
            return;
        }
        self.full = self.told();
    }

    /// Takes a window that the receiver offered.
    pub(crate) fn offered(&mut self, window: u64) {
        if window == self.largest {
            self.bound_by_window = true;
            self.full = self.told();
        }
    }

    /// The size of a full segment in bytes.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.full
    }

    fn told(&self) -> u64 {
        match self.known {
            // The SYN-ACK's options are not whole in the capture, and timestamps are in use.
            Some(size) if self.repeated && self.largest + TIMESTAMPS == size => self.largest,
            Some(size) => size,
            // A segment as large as the window says nothing of the MSS, and a
            // larger one than Ethernet carries is the work of an offload.
            None if self.repeated
                && !self.bound_by_window
                && (MIN..=ETHERNET).contains(&self.largest) =>
            {
                self.largest
            }
            None => ETHERNET,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_fills_the_window_is_no_full_one() {
        let mut size = SegmentSize::default();
        for _ in 0..3 {
            size.saw(1024, 1024);
        }
        assert_eq!(size.get(), 1460);
        let mut size = SegmentSize::default();
        for _ in 0..3 {
            size.saw(1368, 65_535);
        }
        assert_eq!(size.get(), 1368);
        assert_eq!(SegmentSize::from_handshake(1460, Some(1460), true).get(), 1448);
    }

    #[test]
    fn the_receiver_says_what_a_sender_may_fill() {
        // A side that takes little may send much.
        let mut size = SegmentSize::from_handshake(1460, Some(536), false);
        assert_eq!(size.get(), 536);
        size.saw(1460, 65_535);
        assert_eq!(size.get(), 1460);
        // Jumbo frames at the receiver: what the card cuts is no full segment.
        let mut size = SegmentSize::from_handshake(8960, Some(1460), true);
        size.saw(2896, 65_535);
        assert_eq!(size.get(), 1448);
        size.saw(8948, 65_535);
        assert_eq!(size.get(), 8948);
        // Timestamps that the handshake, as captured, does not offer.
        let mut size = SegmentSize::from_handshake(1460, Some(1460), false);
        size.saw(1448, 65_535);
        assert_eq!(size.get(), 1460);
        size.saw(1448, 65_535);
        assert_eq!(size.get(), 1448);
        size.saw(1460, 65_535);
        assert_eq!(size.get(), 1460);
        // The sender takes more than it may send.
        let mut size = SegmentSize::from_handshake(1380, Some(1460), false);
        size.saw(1460, 65_535);
        assert_eq!(size.get(), 1380);
    }
}
