//! Files of the user's: read whole, and written whole or not at all.

#[cfg_attr(windows, path = "elsewhere/windows.rs")]
#[cfg_attr(unix, path = "files/unix.rs")]
mod system;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use windlass_base::Failure;

use self::system::{anybodys, is_same};

/// The most bytes of a text: scenarios, profiles and plans are written by hand.
const MOST_TEXT: u64 = 16 << 20;

/// Reads the text of a file.
///
/// # Errors
/// Fails where it cannot be read, is no UTF-8, or has more than 16 MiB.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MOST_TEXT + 1).read_to_string(&mut text)?;
    if read as u64 > MOST_TEXT {
        return Err(io::Error::other("it has more than 16 MiB"));
    }
    Ok(text)
}

/// The directory in which a file is or is to be.
pub(crate) fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Refuses an output that is no file to be replaced, or the file that is read. `what` names what
/// is to be written, as `the page`.
pub(crate) fn check_output(input: &Path, output: &Path, what: &str) -> Result<(), Failure> {
    let doing = format!("cannot write {}", output.display());
    if output == Path::new("-") {
        return Err(Failure::usage(doing, "the report goes to standard output")
            .advise(format!("Name a file for {what}.")));
    }
    let directory = directory_of(output);
    if !directory.is_dir() {
        let wrong = format!("there is no directory {}", directory.display());
        return Err(Failure::new(doing, wrong).advise("Make it, or write elsewhere."));
    }
    let Ok(about) = std::fs::metadata(output) else { return Ok(()) };
    if !about.is_file() {
        return Err(Failure::usage(doing, "it is there and is no file")
            .advise(format!("Give {what} another name.")));
    }
    if is_same(&windlass_capture::file_of(input), output) {
        return Err(Failure::usage(doing, "it is the capture that is being read")
            .advise(format!("Give {what} another name.")));
    }
    Ok(())
}

/// Why a file cannot be written, while this was being done.
pub(crate) fn unwritable(doing: String, error: &io::Error) -> Failure {
    Failure::new(doing, error).advise("Name a file that can be written, on a disk that has room.")
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
        let file = anybodys(tempfile::Builder::new().prefix(".windlass-"))
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
