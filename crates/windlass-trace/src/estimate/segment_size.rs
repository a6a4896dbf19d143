//! The size of a full segment.

use windlass_base::thresholds::{MANY, SEVERAL_SEGMENTS};
use windlass_macros::Packed;

/// Ethernet's segment without options: 1,500 − 20 − 20.
const ETHERNET: u64 = 1460;
/// The size that every host must take (RFC 9293 section 3.7.1).
const MIN: u64 = 536;

/// Size of timestamps in each segment (RFC 7323 appendix A; RFC 6691).
pub(crate) const TIMESTAMPS: u64 = 12;

/// Payload of a full segment: by the handshake, or by the sent segments.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct SegmentSize {
    known: Option<u64>,
    /// MSS of the receiver. Some senders fill it with payload although they add timestamps.
    mss: u64,
    largest: u64,
    /// True if the largest segment was seen twice, so that it is a habit.
    repeated: bool,
    bound_by_window: bool,
    /// The largest segment, offload aside: one larger than Ethernet carries may be several.
    whole: u64,
    /// Segments of that size that were cut from more data, and segments that were cut to another
    /// size.
    cuts: u32,
    others: u32,
    /// Full size by all these fields; read for each segment.
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
            whole: 0,
            cuts: 0,
            others: 0,
            full: ETHERNET,
        }
    }
}

impl SegmentSize {
    /// Returns the size by the receiver's MSS option, which the sender may fill, and by the use of
    /// timestamps. The sender's own offer tells only the usual packet size of its line: it holds
    /// until a larger segment comes.
    pub(crate) fn from_handshake(offer: u16, own: Option<u16>, timestamps: bool) -> Self {
        let likely = own.map_or(offer, |own| own.min(offer));
        let size = u64::from(likely).max(64) - if timestamps { TIMESTAMPS } else { 0 };
        Self { known: Some(size), mss: u64::from(offer), full: size, ..Self::default() }
    }

    /// Returns whether a segment of this length fits into the receiver's offer, and no network card
    /// will cut it. A segment larger than Ethernet's is whole only if it fills the offer.
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
        if length > self.whole && length <= self.known.unwrap_or(ETHERNET).min(ETHERNET) {
            (self.whole, self.cuts, self.others) = (length, 0, 0);
            self.full = self.told();
        }
        if length > self.largest {
            self.largest = length;
            self.repeated = false;
            self.bound_by_window = length == window;
        } else if length == self.largest && !self.repeated {
            self.repeated = true;
        } else {
            return;
        }
        self.full = self.told();
    }

    /// Takes the size of a segment that its sender cut from more data: the next one followed at
    /// once, the window had room for more, and no PSH ended the data (RFC 9293 section 3.9.1,
    /// MUST-61).
    ///
    /// A sender that cuts all of its data to one size has a reason to: a smaller path MTU, or its
    /// configuration. The small writes of a program (`TCP_NODELAY`) are pushed, each by itself.
    pub(crate) fn was_cut(&mut self, length: u64) {
        if length == self.whole {
            self.cuts = self.cuts.saturating_add(1);
        } else if !length.is_multiple_of(self.whole) {
            self.others = self.others.saturating_add(1);
        } else {
            return;
        }
        self.full = self.told();
    }

    /// Returns whether data is always cut to the size of the largest segment.
    fn is_cut_smaller(&self) -> bool {
        self.cuts >= SEVERAL_SEGMENTS.to::<u32>()
            && self.others.saturating_mul(MANY.to::<u32>()) <= self.cuts
    }

    /// Takes a window that the receiver offered.
    pub(crate) fn offered(&mut self, window: u64) {
        if window == self.largest {
            self.bound_by_window = true;
            self.full = self.told();
        }
    }

    /// Returns the size of a full segment in bytes.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.full
    }

    fn told(&self) -> u64 {
        match self.known {
            // The SYN-ACK's options are not whole in the capture, and timestamps are in use.
            Some(size) if self.repeated && self.largest + TIMESTAMPS == size => self.largest,
            Some(size) if self.whole < size && self.is_cut_smaller() => self.whole,
            Some(size) => size,
            None if self.is_cut_smaller() => self.whole,
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

/// Returns whether data ends with a short segment where a full one carries `size` bytes. A card may
/// have joined several.
#[inline]
pub(crate) fn has_short_end(length: u64, size: u64) -> bool {
    // A division costs more than all else here, and most segments are full.
    length != size && !length.is_multiple_of(size)
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
    fn a_size_that_data_is_cut_to_is_the_full_one() {
        let cut = |size: &mut SegmentSize, length: u64, count: u32| {
            for _ in 0..count {
                size.saw(length, 65_535);
                size.was_cut(length);
            }
            size.get()
        };
        for (mss, length) in [(1_460, 1_400), (1_440, 512), (8_960, 1_448), (536, 128)] {
            let mut size = SegmentSize::from_handshake(mss, None, false);
            assert_eq!(cut(&mut size, length, SEVERAL_SEGMENTS.to::<u32>() - 1), u64::from(mss));
            assert_eq!(cut(&mut size, length, 1), length);
            // Offload joins more of them than the MSS allows.
            assert_eq!(cut(&mut size, (u64::from(mss) / length + 1) * length, 5), length);
            assert_eq!(cut(&mut size, length - 1, 1), u64::from(mss));
            assert_eq!(cut(&mut size, length, MANY.to::<u32>()), length);
            // A larger one takes that back.
            assert_eq!(cut(&mut size, length + 1, 1), u64::from(mss));
        }
        // Nothing says that the pieces of a program are cut.
        let mut size = SegmentSize::from_handshake(1_460, None, false);
        for _ in 0..100 {
            size.saw(200, 65_535);
        }
        assert_eq!(size.get(), 1_460);
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
