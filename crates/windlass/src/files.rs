//! Files of the user's: read whole, and written whole or not at all.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// The directory in which a file is or is to be.
pub(crate) fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// A file that takes its name only when it is whole: until then the old one of
/// that name stays, and nothing is left of this one where it never is.
#[derive(Debug)]
pub(crate) struct WholeFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl WholeFile {
    /// A file that is to be called `path`.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = tempfile::Builder::new()
            .prefix(".windlass-")
            // What anybody may do with it, less what the user's mask forbids.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory_of(path))
            .map_err(|error| without_name(&error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// What it is to be called.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A way to write it.
    pub(crate) fn writer(&self) -> io::Result<File> {
        self.file.as_file().try_clone()
    }

    /// It is whole.
    pub(crate) fn take_name(self) -> io::Result<()> {
        self.file.persist(&self.path).map(drop).map_err(|error| error.error)
    }
}

/// The library names its temporary file in errors, which says nothing to people.
fn without_name(error: &io::Error) -> io::Error {
    let whole = error.to_string();
    let system = whole.split(" at path ").next().unwrap_or(&whole);
    io::Error::new(error.kind(), system)
}
