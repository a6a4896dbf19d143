//! Names and standard input on Unix.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns whether standard input is a file, which may grow.
pub(super) fn stdin_grows() -> bool {
    let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|about| about.is_file())
}

/// Returns the bytes of a path.
pub(super) fn name(path: &Path) -> Option<&[u8]> {
    Some(path.as_os_str().as_bytes())
}

/// Returns the path of this name.
pub(super) fn path(name: &[u8]) -> Option<&Path> {
    Some(Path::new(OsStr::from_bytes(name)))
}
