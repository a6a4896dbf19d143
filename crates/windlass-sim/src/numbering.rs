//! Sequence numbers without their wrap.

/// Position of the initial sequence number. It lies so far from zero that a number before it has a
/// position, too. It is a multiple of 2³², so that a position's low bits are its distance from the
/// initial number.
pub(crate) const START: u64 = 1 << 32;

/// Turns 32-bit sequence numbers into 64-bit positions that do not wrap, and
/// back (RFC 9293 section 3.4). The SYN is at [`START`], the first byte of data
/// after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbering {
    initial: u32,
}

impl Numbering {
    pub(crate) const fn new(initial: u32) -> Self {
        Self { initial }
    }

    /// Returns the sequence number on the wire.
    #[expect(clippy::cast_possible_truncation, reason = "the number is what is left of it")]
    pub(crate) const fn number(self, position: u64) -> u32 {
        self.initial.wrapping_add(position as u32)
    }

    /// Returns the position nearest to `near` that has this number. `near` is at [`START`] or after
    /// it, and a distance is below 2³¹: nothing underflows.
    #[expect(clippy::cast_possible_wrap, reason = "the distance is read as signed on purpose")]
    pub(crate) const fn position(self, number: u32, near: u64) -> u64 {
        let distance = number.wrapping_sub(self.number(near)) as i32;
        near.saturating_add_signed(distance as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_go_on_past_the_wrap() {
        let numbering = Numbering::new(u32::MAX - 9);
        assert_eq!(numbering.number(START), u32::MAX - 9);
        assert_eq!(numbering.number(START + 10), 0);
        assert_eq!(numbering.position(5, START), START + 15);
        assert_eq!(numbering.position(u32::MAX, START + 15), START + 9);
        assert_eq!(numbering.position(u32::MAX - 10, START), START - 1);
        let far = START + 10_000_000_000;
        assert_eq!(numbering.position(numbering.number(far - 7), far), far - 7);
    }
}
