//! Names and standard input on Windows.

use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle;
use std::path::Path;

/// Returns whether standard input is a file, which may grow.
pub(super) fn stdin_grows() -> bool {
    let file = io::stdin().as_handle().try_clone_to_owned().map(File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|about| about.is_file())
}

/// Returns the bytes of a path, which is text.
pub(super) fn name(path: &Path) -> Option<&[u8]> {
    path.to_str().map(str::as_bytes)
}

/// Returns the path of this name.
pub(super) fn path(name: &[u8]) -> Option<&Path> {
    std::str::from_utf8(name).ok().map(Path::new)
}
