//! Files of Windows.

use std::path::Path;

use tempfile::Builder;

/// Returns whether both paths lead to one existing file, however each path is written. Two hard
/// links to one file count as different files.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Leaves the permissions to the folder: its users may read and write the file.
pub(super) const fn anybodys<'a, 'b>(file: &'a mut Builder<'b, 'b>) -> &'a mut Builder<'b, 'b> {
    file
}
