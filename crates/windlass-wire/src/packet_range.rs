//! A stretch of a capture: from one packet or time of it to another.

use windlass_base::{Span, Timestamp};

/// A place in a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// So long after its first packet.
    After(Span),
    /// At the packet of this number, as Wireshark counts.
    Packet(u64),
}

/// A stretch of a capture, both ends of which belong to it; all of it by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketRange {
    /// Its beginning; with the first packet where nothing is said.
    pub from: Option<Place>,
    /// Its end; with the last packet where nothing is said.
    pub to: Option<Place>,
}

/// Picks the packets of a range out of a capture as it is read.
#[derive(Debug, Default)]
pub(crate) struct RangePicker {
    range: PacketRange,
    first: Option<Timestamp>,
}

impl RangePicker {
    pub(crate) const fn new(range: PacketRange) -> Self {
        Self { range, first: None }
    }

    /// Returns whether the next packet of the capture, at a time, is in the range.
    #[inline]
    pub(crate) fn has(&mut self, time: Timestamp, number: u64) -> bool {
        let PacketRange { from, to } = self.range;
        if from.is_none() && to.is_none() {
            return true;
        }
        let after = time.since(*self.first.get_or_insert(time));
        let has_begun = match from {
            None => true,
            Some(Place::After(span)) => after >= span,
            Some(Place::Packet(first)) => number >= first,
        };
        let goes_on = match to {
            None => true,
            Some(Place::After(span)) => after <= span,
            Some(Place::Packet(last)) => number <= last,
        };
        has_begun && goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of ten packets a second apart, the numbers of those that are in a range.
    fn picked(from: Option<Place>, to: Option<Place>) -> Vec<u64> {
        let mut picker = RangePicker::new(PacketRange { from, to });
        let numbers = (1..=10).filter(|number: &u64| {
            let time = Timestamp::from_nanos(7_000_000_000 + number.cast_signed() * 1_000_000_000);
            picker.has(time, *number)
        });
        numbers.collect()
    }

    #[test]
    fn a_range_has_both_its_ends() {
        let after = |seconds| Some(Place::After(Span::from_seconds(seconds)));
        assert_eq!(picked(None, None).len(), 10);
        assert_eq!(picked(after(2.0), after(4.0)), [3, 4, 5]);
        assert_eq!(picked(Some(Place::Packet(9)), None), [9, 10]);
        assert_eq!(picked(None, Some(Place::Packet(2))), [1, 2]);
        assert_eq!(picked(after(8.5), Some(Place::Packet(99))), [10]);
        assert!(picked(after(20.0), None).is_empty());
        assert!(picked(after(3.0), after(2.0)).is_empty());
    }
}
