//! Files of Unix.

use std::fs::{Permissions, metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::Builder;

/// Returns whether both paths lead to one existing file, hard links included.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let of = |path| metadata(path).map(|about| (about.dev(), about.ino()));
    of(one).is_ok_and(|one| of(other).is_ok_and(|other| one == other))
}

/// Lets all users read and write the file, except as the umask forbids.
pub(super) fn anybodys<'a, 'b>(file: &'a mut Builder<'b, 'b>) -> &'a mut Builder<'b, 'b> {
    file.permissions(Permissions::from_mode(0o666))
}
