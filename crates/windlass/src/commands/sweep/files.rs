//! Where the table and the page go.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use windlass_base::Failure;

use super::args::STDOUT;

/// Where something goes.
pub(super) enum Target {
    /// To standard output.
    Stdout,
    /// To a file.
    File(Written),
}

/// A file that is to be written. It is opened before anything is measured: a
/// sweep of an hour must not end with a path that is wrong.
pub(super) struct Written {
    what: &'static str,
    path: PathBuf,
    to: To,
}

enum To {
    /// It takes its name when it is whole: until then the one of the last sweep
    /// stays.
    Temporary(NamedTempFile),
    /// A pipe or a device, which nothing can take the place of.
    Special(File),
}

impl Target {
    /// Where `what` goes.
    ///
    /// # Errors
    /// Where nothing can be written there.
    pub(super) fn open(what: &'static str, path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == STDOUT {
            return Ok(Self::Stdout);
        }
        let cannot = |error: std::io::Error| unwritable(what, path, &error);
        // The library names its temporary file, which says nothing to people.
        let without_name = |error: std::io::Error| {
            let whole = error.to_string();
            let system = whole.split(" at path ").next().unwrap_or(&whole);
            cannot(std::io::Error::new(error.kind(), system))
        };
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let to = if special {
            To::Special(File::options().write(true).open(path).map_err(cannot)?)
        } else if path.is_dir() || path.file_name().is_none() {
            return Err(cannot(std::io::ErrorKind::IsADirectory.into()));
        } else {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let file = tempfile::Builder::new()
                .prefix(".windlass-")
                .permissions(fs::Permissions::from_mode(0o666))
                .tempfile_in(folder.unwrap_or(Path::new(".")))
                .map_err(without_name)?;
            To::Temporary(file)
        };
        Ok(Self::File(Written { what, path: path.to_owned(), to }))
    }
}

impl Written {
    /// Writes all of it.
    ///
    /// # Errors
    /// Where it cannot be written; the file is as it was before then.
    pub(super) fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        let Self { what, path, to } = self;
        let cannot = |error: std::io::Error| unwritable(what, &path, &error);
        match to {
            To::Special(mut file) => {
                file.write_all(bytes).and_then(|()| file.flush()).map_err(cannot)
            }
            To::Temporary(mut file) => {
                file.write_all(bytes).and_then(|()| file.flush()).map_err(cannot)?;
                file.persist(&path).map_err(|error| cannot(error.error))?;
                Ok(())
            }
        }
    }
}

fn unwritable(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {what} to {}", path.display()), error)
        .advise("Name a file that can be written, on a disk that has room.")
}
