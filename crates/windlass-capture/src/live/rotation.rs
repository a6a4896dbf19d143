//! When a capture goes on in another file.

use windlass_base::{Bytes, Span};

/// When a file ends and the next begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// From this size on.
    pub bytes: Option<Bytes>,
    /// After so long.
    pub time: Option<Span>,
    /// After so many packets.
    pub packets: Option<u64>,
    /// How many files are kept: the last ones.
    pub files: Option<u32>,
    /// With how many files the capture ends.
    pub most: Option<u32>,
}

impl Rotation {
    /// Whether there is more than one file.
    pub const fn is_on(&self) -> bool {
        self.bytes.is_some() || self.time.is_some() || self.packets.is_some()
    }
}
