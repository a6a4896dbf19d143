//! Conversion between numbers and bytes in either byte order.

/// Byte order of the numbers in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first, as on most machines.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// Reads the 16-bit number at `at`, which must be inside `bytes`.
    pub(crate) const fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        match self {
            Self::Little => u16_at::<false>(bytes, at),
            Self::Big => u16_at::<true>(bytes, at),
        }
    }

    /// Reads the 32-bit number at `at`, which must be inside `bytes`.
    pub(crate) const fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        match self {
            Self::Little => u32_at::<false>(bytes, at),
            Self::Big => u32_at::<true>(bytes, at),
        }
    }

    /// Returns the bytes of a 16-bit number.
    pub(crate) const fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// Returns the bytes of a 32-bit number.
    pub(crate) const fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// Returns the bytes of a 64-bit number.
    pub(crate) const fn u64(self, value: u64) -> [u8; 8] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

/// Reads the 16-bit number at `at`, which must be inside `bytes`. The byte order is a constant so
/// that the loops over packets need no branch for it.
#[inline(always)]
pub(crate) const fn u16_at<const BIG: bool>(bytes: &[u8], at: usize) -> u16 {
    let four = [bytes[at], bytes[at + 1]];
    if BIG { u16::from_be_bytes(four) } else { u16::from_le_bytes(four) }
}

/// Reads the 32-bit number at `at`, which must be inside `bytes`.
#[inline(always)]
pub(crate) const fn u32_at<const BIG: bool>(bytes: &[u8], at: usize) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if BIG { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

/// Reads the 64-bit number at `at`, which must be inside `bytes`.
pub(crate) const fn u64_at<const BIG: bool>(bytes: &[u8], at: usize) -> u64 {
    let (first, second) = (u32_at::<BIG>(bytes, at) as u64, u32_at::<BIG>(bytes, at + 4) as u64);
    if BIG { first << 32 | second } else { second << 32 | first }
}
