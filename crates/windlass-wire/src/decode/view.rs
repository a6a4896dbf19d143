//! The bytes of a packet from some header on.

use super::Stop;

/// What was captured from here on, and how much there was on the wire.
///
/// The two differ: a snap length cuts what was captured, and old FDDI captures
/// hold a byte more than they say was there. The larger number counts as the
/// wire's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View<'a> {
    /// The captured bytes.
    pub(crate) data: &'a [u8],
    /// The bytes on the wire.
    pub(crate) wire: u32,
    /// The bytes that the headers before allow: a header after them that states
    /// more counts padding as its own. `u32::MAX` where they state nothing.
    pub(crate) allowed: u32,
}

impl<'a> View<'a> {
    /// The view of a whole packet.
    #[inline]
    pub(crate) fn new(data: &'a [u8], original_length: u32) -> Self {
        let captured = u32::try_from(data.len()).unwrap_or(u32::MAX);
        Self { data, wire: original_length.max(captured), allowed: u32::MAX }
    }

    /// The first `N` captured bytes, where there are so many.
    #[inline]
    pub(crate) fn head<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.data.first_chunk()
    }

    /// The same where the packet is damaged without them.
    #[inline]
    pub(crate) fn need<const N: usize>(&self) -> Result<&'a [u8; N], Stop> {
        self.head().ok_or(Stop::SHORT)
    }

    /// The view after `count` bytes. What was not captured there is empty.
    #[inline]
    pub(crate) fn skip(self, count: u32) -> Self {
        let data = self.data.get(count as usize..).unwrap_or_default();
        let allowed = match self.allowed {
            u32::MAX => u32::MAX,
            allowed => allowed.saturating_sub(count),
        };
        Self { data, wire: self.wire.saturating_sub(count), allowed }
    }

    /// The view without its last `count` bytes on the wire.
    pub(crate) fn without_last(self, count: u32) -> Self {
        self.at_most(self.wire.saturating_sub(count))
    }

    /// The view of the first `count` bytes on the wire.
    pub(crate) fn at_most(self, count: u32) -> Self {
        let wire = self.wire.min(count);
        Self { data: &self.data[..self.data.len().min(wire as usize)], wire, ..self }
    }
}

/// The 16-bit number in network byte order at `at`. The caller knows that it is
/// inside: `bytes` is an array whose length the compiler sees.
#[inline]
pub(crate) fn be16<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The 32-bit number in network byte order at `at`; see [`be16`].
#[inline]
pub(crate) fn be32<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The 16-bit number, least byte first, at `at`; see [`be16`].
#[inline]
pub(crate) fn le16<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The 32-bit number, least byte first, at `at`; see [`be16`].
#[inline]
pub(crate) fn le32<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
