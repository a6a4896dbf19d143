//! Sequence numbers without their wrap.

use windlass_macros::Packed;

/// Start of unwrapped numbers, so that numbers before the first one stay positive.
const ORIGIN: u64 = 1 << 40;

/// Converter of 32-bit sequence numbers to 64-bit offsets that do not wrap (RFC 9293 section 3.4):
/// each number is taken as the one nearest to the last.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct SequenceUnwrapper {
    last: Option<(u32, u64)>,
}

/// Returns the end of the range that an offset would pass: a branch costs less than saturation.
#[inline]
fn end(distance: i32) -> u64 {
    if distance < 0 { 0 } else { u64::MAX }
}

impl SequenceUnwrapper {
    /// Returns the offset of `number`, which becomes the new point of reference.
    #[inline]
    pub(crate) fn advance(&mut self, number: u32) -> u64 {
        let offset = self.peek(number);
        self.last = Some((number, offset));
        offset
    }

    /// Returns the offset of `number`; the point of reference stays.
    #[inline]
    #[expect(clippy::cast_possible_wrap, reason = "the distance is read as signed on purpose")]
    pub(crate) fn peek(&self, number: u32) -> u64 {
        match self.last {
            None => ORIGIN,
            Some((last, offset)) => {
                let distance = number.wrapping_sub(last) as i32;
                offset.checked_add_signed(i64::from(distance)).unwrap_or_else(|| end(distance))
            }
        }
    }

    /// Returns the offset of the point of reference.
    pub(crate) fn last(&self) -> u64 {
        self.last.map_or(ORIGIN, |(_, offset)| offset)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_past_the_wrap() {
        let mut unwrap = SequenceUnwrapper::default();
        let first = unwrap.advance(u32::MAX - 9);
        assert_eq!(unwrap.advance(10) - first, 20);
        assert_eq!(first - unwrap.peek(u32::MAX - 10), 1);
    }
}
