//! What Windows knows of files.

use std::path::Path;

use tempfile::Builder;

/// Whether both are there and are one file, whichever way its path is written. Of two names of
/// one file (a hard link) it does not know.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// What those may read and write who may in its folder.
pub(super) const fn anybodys<'a, 'b>(file: &'a mut Builder<'b, 'b>) -> &'a mut Builder<'b, 'b> {
    file
}
