//! A range of a capture: from one packet or time to another.

use windlass_base::{Span, Timestamp};

/// A position in a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CapturePosition {
    /// This time after the first packet.
    After(Span),
    /// At the packet of this number, as Wireshark counts.
    Packet(u64),
}

/// A range of a capture, both ends included. The default is the whole capture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketRange {
    /// Beginning; `None` for the first packet.
    pub from: Option<CapturePosition>,
    /// End; `None` for the last packet.
    pub to: Option<CapturePosition>,
}

impl PacketRange {
    /// Returns whether the end is before the beginning, as far as that shows without a capture.
    pub fn is_backwards(&self) -> bool {
        match (self.from, self.to) {
            (Some(CapturePosition::After(from)), Some(CapturePosition::After(to))) => from > to,
            (Some(CapturePosition::Packet(from)), Some(CapturePosition::Packet(to))) => from > to,
            _ => false,
        }
    }
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
            Some(CapturePosition::After(span)) => after >= span,
            Some(CapturePosition::Packet(first)) => number >= first,
        };
        let goes_on = match to {
            None => true,
            Some(CapturePosition::After(span)) => after <= span,
            Some(CapturePosition::Packet(last)) => number <= last,
        };
        has_begun && goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of the packets in a range, among ten packets one second apart.
    fn picked(from: Option<CapturePosition>, to: Option<CapturePosition>) -> Vec<u64> {
        let mut picker = RangePicker::new(PacketRange { from, to });
        let numbers = (1..=10).filter(|number: &u64| {
            let time = Timestamp::from_nanos(7_000_000_000 + number.cast_signed() * 1_000_000_000);
            picker.has(time, *number)
        });
        numbers.collect()
    }

    #[test]
    fn a_range_has_both_its_ends() {
        let after = |seconds| Some(CapturePosition::After(Span::from_seconds(seconds)));
        assert_eq!(picked(None, None).len(), 10);
        assert_eq!(picked(after(2.0), after(4.0)), [3, 4, 5]);
        assert_eq!(picked(Some(CapturePosition::Packet(9)), None), [9, 10]);
        assert_eq!(picked(None, Some(CapturePosition::Packet(2))), [1, 2]);
        assert_eq!(picked(after(8.5), Some(CapturePosition::Packet(99))), [10]);
        assert!(picked(after(20.0), None).is_empty());
        for (from, to) in [
            (after(3.0), after(2.0)),
            (Some(CapturePosition::Packet(9)), Some(CapturePosition::Packet(8))),
        ] {
            assert!(PacketRange { from, to }.is_backwards());
            assert!(!PacketRange { from: to, to: from }.is_backwards());
            assert!(picked(from, to).is_empty());
        }
        assert!(
            !PacketRange { from: after(3.0), to: Some(CapturePosition::Packet(2)) }.is_backwards()
        );
    }
}
