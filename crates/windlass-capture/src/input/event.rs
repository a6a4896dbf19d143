//! Messages of the reading thread to the analysing thread.

use super::digest::Sha256;
use super::member::{ArchiveFormat, Name, Oddity};
use super::source::StreamError;

/// Capacity of a block for fresh bytes: small enough that two blocks stay in the caches.
const BLOCK: usize = 1 << 20;

/// Room before the fresh bytes for the rest of the previous block: a little more than the largest
/// packet.
pub(super) const HEADROOM: usize = 320 << 10;

/// Buffer of bytes, with headroom before them.
pub(super) struct Block {
    bytes: Box<[u8]>,
    /// Number of fresh bytes behind the headroom.
    fresh: usize,
}

impl Block {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; HEADROOM + BLOCK].into(), fresh: 0 }
    }

    /// Fills the block with the bytes that `read` puts into it; returns their number.
    pub(super) fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> usize) -> usize {
        self.fresh = read(&mut self.bytes[HEADROOM..]);
        self.fresh
    }

    /// Returns the fresh bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[HEADROOM..HEADROOM + self.fresh]
    }

    /// Returns `front` and the fresh bytes in one piece. `front` must fit into the headroom.
    pub(super) fn with_front(&mut self, front: &[u8]) -> &[u8] {
        let start = HEADROOM - front.len();
        self.bytes[start..HEADROOM].copy_from_slice(front);
        &self.bytes[start..HEADROOM + self.fresh]
    }
}

/// Message of the reading thread.
pub(super) enum Event {
    /// Bytes of the capture, or of the last named member.
    Block(Block),
    /// The input is an archive. Its members follow, and no bytes outside of them.
    Archive(ArchiveFormat, Option<&'static str>),
    /// A member begins, with its number.
    Member(Name, u64),
    /// The member ends; with the reason if it cannot be decompressed, and its digest if digests are
    /// on.
    MemberEnd(Option<String>, Option<Sha256>),
    /// A skipped member.
    Odd(Name, Oddity),
    /// The input is a zip in a stream, or in another compression.
    Unseekable,
    /// The input ends, after this number of members if it is an archive.
    End(u64),
    /// Reading fails: the offset, the number of members before it, and the reason.
    Broken { at: u64, after: u64, broken: StreamError },
}
