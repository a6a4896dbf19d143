//! Rotation of capture files.

use windlass_base::{Bytes, Span};

/// Limits at which a file ends and the next begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// Size of a file.
    pub bytes: Option<Bytes>,
    /// Duration of a file.
    pub time: Option<Span>,
    /// Number of packets of a file.
    pub packets: Option<u64>,
    /// Number of the last files to keep.
    pub files: Option<u32>,
    /// Number of files after which the capture ends.
    pub most: Option<u32>,
}

impl Rotation {
    /// Returns whether there may be several files.
    pub const fn is_on(&self) -> bool {
        self.bytes.is_some() || self.time.is_some() || self.packets.is_some()
    }
}
