//! View of a packet's bytes from one header on.

use super::Stop;

/// Captured bytes from one header on, and their number on the wire.
///
/// The two numbers may differ: a snap length cuts the captured bytes, and old FDDI captures hold
/// one byte more than they state. The larger number counts as that on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View<'a> {
    /// Captured bytes.
    pub(crate) data: &'a [u8],
    /// Number of bytes on the wire.
    pub(crate) wire: u32,
    /// Number of bytes that the preceding headers allow: a later header that states more counts
    /// padding as its own. `u32::MAX` if they state no length.
    pub(crate) allowed: u32,
}

impl<'a> View<'a> {
    /// Returns the view of a whole packet.
    #[inline]
    pub(crate) fn new(data: &'a [u8], original_length: u32) -> Self {
        let captured = u32::try_from(data.len()).unwrap_or(u32::MAX);
        Self { data, wire: original_length.max(captured), allowed: u32::MAX }
    }

    /// Returns the first `N` captured bytes, or `None` if fewer were captured.
    #[inline]
    pub(crate) fn head<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.data.first_chunk()
    }

    /// Returns the first `N` captured bytes.
    ///
    /// # Errors
    /// Fails with [`Stop::SHORT`] if fewer were captured.
    #[inline]
    pub(crate) fn need<const N: usize>(&self) -> Result<&'a [u8; N], Stop> {
        self.head().ok_or(Stop::SHORT)
    }

    /// Returns the view after `count` bytes. Its data is empty if none was captured there.
    #[inline]
    pub(crate) fn skip(self, count: u32) -> Self {
        let data = self.data.get(count as usize..).unwrap_or_default();
        let allowed = match self.allowed {
            u32::MAX => u32::MAX,
            allowed => allowed.saturating_sub(count),
        };
        Self { data, wire: self.wire.saturating_sub(count), allowed }
    }

    /// Returns the view without its last `count` bytes on the wire.
    pub(crate) fn without_last(self, count: u32) -> Self {
        self.at_most(self.wire.saturating_sub(count))
    }

    /// Returns the view of the first `count` bytes on the wire.
    pub(crate) fn at_most(self, count: u32) -> Self {
        let wire = self.wire.min(count);
        Self { data: &self.data[..self.data.len().min(wire as usize)], wire, ..self }
    }
}

/// Reads the 16-bit number in network byte order at `at`. The caller guarantees that the number is
/// inside: `bytes` is an array whose length the compiler knows.
#[inline]
pub(crate) fn be16<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Reads the 32-bit number in network byte order at `at`; see [`be16`].
#[inline]
pub(crate) fn be32<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Reads the little-endian 16-bit number at `at`; see [`be16`].
#[inline]
pub(crate) fn le16<const N: usize>(bytes: &[u8; N], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Reads the little-endian 32-bit number at `at`; see [`be16`].
#[inline]
pub(crate) fn le32<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
