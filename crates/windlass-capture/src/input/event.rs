//! What the reading thread says to the one that analyses.

use super::digest::Sha256;
use super::member::{ArchiveFormat, Name, Oddity};
use super::source::Broken;

/// Fresh bytes in a block: small enough that two blocks stay in the caches.
const BLOCK: usize = 1 << 20;

/// Room before the fresh bytes for what was left of the block before: a little
/// more than the largest packet.
pub(super) const HEADROOM: usize = 320 << 10;

/// Some bytes, with room before them.
pub(super) struct Block {
    bytes: Box<[u8]>,
    /// Fresh bytes behind the headroom.
    fresh: usize,
}

impl Block {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; HEADROOM + BLOCK].into(), fresh: 0 }
    }

    /// Fills it by what `read` puts into it; gives how much that is.
    pub(super) fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> usize) -> usize {
        self.fresh = read(&mut self.bytes[HEADROOM..]);
        self.fresh
    }

    /// The fresh bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[HEADROOM..HEADROOM + self.fresh]
    }

    /// The fresh bytes behind `front`, which is no longer than the headroom.
    pub(super) fn with_front(&mut self, front: &[u8]) -> &[u8] {
        let start = HEADROOM - front.len();
        self.bytes[start..HEADROOM].copy_from_slice(front);
        &self.bytes[start..HEADROOM + self.fresh]
    }
}

/// What the reading thread has to say.
pub(super) enum Event {
    /// Some bytes: of the capture, or of the member that was named last.
    Block(Block),
    /// It is an archive. Its members follow, and no bytes outside of them.
    Archive(ArchiveFormat, Option<&'static str>),
    /// A member begins, of this number.
    Member(Name, u64),
    /// The member has no more bytes; or they cannot be unpacked, in words. With what its own
    /// bytes are known by, where that is asked for.
    MemberEnd(Option<String>, Option<Sha256>),
    /// A member that is passed over.
    Odd(Name, Oddity),
    /// It is a zip that comes as a stream, or within another packing.
    Unseekable,
    /// No more bytes; of an archive, after so many members.
    End(u64),
    /// The rest cannot be had: the place, the members before it, and why.
    Broken { at: u64, after: u64, broken: Broken },
}
