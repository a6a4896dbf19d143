//! Where the table and the page go.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use windlass_base::Failure;

use super::args::STDOUT;
use crate::files::{self, WholeFile};

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
    Whole(WholeFile),
    /// A pipe or a device, which nothing can take the place of.
    Special(File),
}

impl Target {
    /// Where `what` goes.
    pub(super) fn open(what: &'static str, path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == STDOUT {
            return Ok(Self::Stdout);
        }
        let cannot = |error: std::io::Error| unwritable(what, path, &error);
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let to = if special {
            To::Special(File::options().write(true).open(path).map_err(cannot)?)
        } else if path.is_dir() || path.file_name().is_none() {
            return Err(cannot(std::io::ErrorKind::IsADirectory.into()));
        } else {
            To::Whole(WholeFile::create(path).map_err(cannot)?)
        };
        Ok(Self::File(Written { what, path: path.to_owned(), to }))
    }
}

impl Written {
    /// Writes all of it. Where it cannot be written, the file is as it was before then.
    pub(super) fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        let Self { what, path, to } = self;
        let cannot = |error: std::io::Error| unwritable(what, &path, &error);
        match to {
            To::Special(mut file) => {
                file.write_all(bytes).and_then(|()| file.flush()).map_err(cannot)
            }
            To::Whole(file) => {
                let write = |mut out: File| out.write_all(bytes).and_then(|()| out.flush());
                file.writer().and_then(write).and_then(|()| file.take_name()).map_err(cannot)
            }
        }
    }
}

fn unwritable(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    files::unwritable(format!("cannot write {what} to {}", path.display()), error)
}
