//! Files of windlass in folders of Wireshark, recognised by a marking line.

use std::fs;
use std::io;
use std::path::Path;

/// Maximum size of a file of windlass.
const LONGEST: u64 = 65_536;

/// Contents of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathContents {
    Nothing,
    /// A file that windlass has written.
    Own,
    Other,
}

/// Returns the owner of a file. Links and binary files are not windlass's.
pub(super) fn look(path: &Path, is_own: impl Fn(&str) -> bool) -> io::Result<PathContents> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PathContents::Nothing),
        Err(error) => return Err(error),
        Ok(about) if !about.is_file() || about.len() > LONGEST => return Ok(PathContents::Other),
        Ok(_) => {}
    }
    let text = fs::read(path)?;
    Ok(if is_own(&String::from_utf8_lossy(&text)) {
        PathContents::Own
    } else {
        PathContents::Other
    })
}
