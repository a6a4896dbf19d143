//! Destinations of the table and the page.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use windlass_base::Failure;

use super::args::STDOUT;
use crate::files::{self, WholeFile};

/// Destination of an output.
pub(super) enum Target {
    /// Standard output.
    Stdout,
    /// A file.
    File(OutputFile),
}

/// A file that is to be written. The file is opened before the first measurement: a sweep of an
/// hour must not end with a wrong path.
pub(super) struct OutputFile {
    what: &'static str,
    path: PathBuf,
    to: FileKind,
}

enum FileKind {
    /// A file that takes its name once it is complete: until then the file of the last sweep
    /// stays.
    Whole(WholeFile),
    /// A pipe or a device, which cannot be replaced.
    Special(File),
}

impl Target {
    /// Opens the destination of `what`.
    pub(super) fn open(what: &'static str, path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == STDOUT {
            return Ok(Self::Stdout);
        }
        let cannot = |error: std::io::Error| unwritable(what, path, &error);
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let to = if special {
            FileKind::Special(File::options().write(true).open(path).map_err(cannot)?)
        } else if path.is_dir() || path.file_name().is_none() {
            return Err(cannot(std::io::ErrorKind::IsADirectory.into()));
        } else {
            FileKind::Whole(WholeFile::create(path).map_err(cannot)?)
        };
        Ok(Self::File(OutputFile { what, path: path.to_owned(), to }))
    }
}

impl OutputFile {
    /// Writes all of it. Where it cannot be written, the file is as it was before then.
    pub(super) fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        let Self { what, path, to } = self;
        let cannot = |error: std::io::Error| unwritable(what, &path, &error);
        match to {
            FileKind::Special(mut file) => {
                file.write_all(bytes).and_then(|()| file.flush()).map_err(cannot)
            }
            FileKind::Whole(file) => {
                let write = |mut out: File| out.write_all(bytes).and_then(|()| out.flush());
                file.writer().and_then(write).and_then(|()| file.take_name()).map_err(cannot)
            }
        }
    }
}

fn unwritable(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    files::unwritable(format!("cannot write {what} to {}", path.display()), error)
}
