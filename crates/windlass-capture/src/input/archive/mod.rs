//! Archives: their members one after the other, as a thread reads them, and nothing
//! on a disk.

mod tar;
mod walk;
mod zip;

pub(super) use walk::{Walk, walk_tar, walk_zip};
pub(super) use zip::Parts;

use windlass_wire::capture::is_binary;

use super::member::Oddity;
use super::source::Stream;

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A file of so many bytes, as its archive states.
    File { size: u64 },
    /// Something that holds no bytes and needs no mention.
    Folder,
    /// What is passed over.
    Odd(Oddity),
}

/// What the first bytes of a file are.
pub(super) enum First {
    /// A tar.
    Tar,
    /// A zip.
    Zip,
    /// A capture, or nothing that is known here.
    Other,
}

/// Tells an archive by its first bytes.
pub(super) fn first(stream: &mut Stream) -> First {
    let is_capture = |start: &[u8]| start.first_chunk().is_some_and(|magic| is_binary(*magic));
    let start = stream.look(|start| {
        start.len() >= 8
            && (is_capture(start)
                || is_zip(start)
                || start.len() >= tar::BLOCK
                || start.len() >= NAMED && !start[..NAMED].contains(&0))
    });
    if is_zip(start) {
        First::Zip
    } else if !is_capture(start) && tar::begins(start) {
        First::Tar
    } else {
        First::Other
    }
}

/// Bytes of a tar's first header among which there is a zero in any case: its name and
/// the numbers behind it. A text has none, and need not be waited for.
const NAMED: usize = 156;

/// A member, or the end of a list without members.
fn is_zip(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
}
