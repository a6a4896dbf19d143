//! Rotation of logs: large logs get a number, by this server or another program.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// File mode of logs: who prints what is private. CUPS's logs have the same default (`LogFilePerm`,
/// cups-files.conf(5)).
const MODE: u32 = 0o640;

/// Opens a log for appending, or creates it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(MODE).open(path)
}

/// Returns whether a path still leads to this very file: another program may have rotated it.
pub(crate) fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Renames `FILE` to `FILE.1`, an earlier `FILE.1` to `FILE.2` and so on; keeps `keep` of them.
pub(crate) fn set_aside(path: &Path, keep: u32) -> io::Result<()> {
    let aside = |number: u32| {
        let mut name = path.to_path_buf().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    // Renames up to the first free number.
    let is_free = |number: &u32| fs::symlink_metadata(aside(*number)).is_err();
    let last = (1..keep).find(is_free).unwrap_or(keep);
    for number in (1..last).rev() {
        fs::rename(aside(number), aside(number + 1))?;
    }
    if keep > 0 { fs::rename(path, aside(1)) } else { fs::remove_file(path) }
}
