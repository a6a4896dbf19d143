//! Files that windlass puts into folders of Wireshark: by a line of theirs they are known again.

use std::fs;
use std::io;
use std::path::Path;

/// No file of ours is longer.
const LONGEST: u64 = 65_536;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    Nothing,
    /// A file that windlass has written.
    Own,
    Other,
}

/// Looks whose a file is. A link is somebody's, as is what is no text.
pub(super) fn look(path: &Path, is_own: impl Fn(&str) -> bool) -> io::Result<There> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(There::Nothing),
        Err(error) => return Err(error),
        Ok(about) if !about.is_file() || about.len() > LONGEST => return Ok(There::Other),
        Ok(_) => {}
    }
    let text = fs::read(path)?;
    Ok(if is_own(&String::from_utf8_lossy(&text)) { There::Own } else { There::Other })
}
