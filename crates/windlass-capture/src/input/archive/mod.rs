//! Archives: a thread reads their members one after the other and writes nothing to disk.

mod tar;
mod walk;
mod zip;

pub(super) use walk::{Walk, walk_tar, walk_zip};
pub(super) use zip::ZipFile;

use windlass_wire::capture::is_binary;

use super::member::Oddity;
use super::source::Stream;

/// Kind of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberKind {
    /// A file, with the size in bytes that its archive states.
    File { size: u64 },
    /// A member without bytes that needs no mention.
    Folder,
    /// A skipped member.
    Odd(Oddity),
}

/// Format of a file by its first bytes.
pub(super) enum DetectedFormat {
    /// A tar.
    Tar,
    /// A zip.
    Zip,
    /// A capture, or an unknown format.
    Other,
}

/// Recognises an archive by its first bytes.
pub(super) fn first(stream: &mut Stream) -> DetectedFormat {
    let is_capture = |start: &[u8]| start.first_chunk().is_some_and(|magic| is_binary(*magic));
    let start = stream.look(|start| {
        start.len() >= 8
            && (is_capture(start)
                || is_zip(start)
                || start.len() >= tar::BLOCK
                || start.len() >= NAMED && !start[..NAMED].contains(&0))
    });
    if is_zip(start) {
        DetectedFormat::Zip
    } else if !is_capture(start) && tar::begins(start) {
        DetectedFormat::Tar
    } else {
        DetectedFormat::Other
    }
}

/// Bytes of the name and the numbers in a tar's first header, which always contain a zero. A text
/// contains none, so reading can stop here.
const NAMED: usize = 156;

/// Returns whether the bytes begin a zip member, or the end of a list without members.
fn is_zip(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
}
