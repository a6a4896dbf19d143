//! User files: read completely, and written completely or not at all.

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
/// Fails if the file cannot be read, is not UTF-8, or has more than 16 MiB.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MOST_TEXT + 1).read_to_string(&mut text)?;
    if read as u64 > MOST_TEXT {
        return Err(io::Error::other("it has more than 16 MiB"));
    }
    Ok(text)
}

/// Returns the directory of a file.
pub(crate) fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Refuses an output that is not a replaceable file, or that is the input. `what` names the output,
/// as `the page`.
pub(crate) fn check_output(input: &Path, output: &Path, what: &str) -> Result<(), Failure> {
    let doing = format!("cannot write {}", output.display());
    if output == Path::new("-") {
        return Err(Failure::usage(doing, "the report goes to standard output")
            .advise(format!("Name a file for {what}.")));
    }
    let directory = directory_of(output);
    if !directory.is_dir() {
        let wrong = format!("there is no directory {}", directory.display());
        return Err(Failure::new(doing, wrong).advise("Create it, or name another directory."));
    }
    let Ok(about) = std::fs::metadata(output) else { return Ok(()) };
    if !about.is_file() {
        return Err(Failure::usage(doing, "it exists and is not a regular file")
            .advise(format!("Give {what} another name.")));
    }
    if is_same(&windlass_capture::file_of(input), output) {
        return Err(Failure::usage(doing, "it is the capture that is being read")
            .advise(format!("Give {what} another name.")));
    }
    Ok(())
}

/// Returns the failure of an action that could not write a file.
pub(crate) fn unwritable(doing: String, error: &io::Error) -> Failure {
    Failure::new(doing, error).advise("Name a file that you can write, on a disk with free space.")
}

/// A file that takes its name only once it is written completely. Until then the old file of that
/// name stays; an incomplete file is removed.
#[derive(Debug)]
pub(crate) struct WholeFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl WholeFile {
    /// Creates a file that is to be named `path`, under a temporary name in the same directory.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = anybodys(tempfile::Builder::new().prefix(".windlass-"))
            .tempfile_in(directory_of(path))
            .map_err(|error| without_name(&error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Returns the path that the file is to have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens another handle for writing the file.
    pub(crate) fn writer(&self) -> io::Result<File> {
        self.file.as_file().try_clone()
    }

    /// Gives the file its name once all of it is written.
    pub(crate) fn take_name(self) -> io::Result<()> {
        self.file.persist(&self.path).map(drop).map_err(|error| error.error)
    }
}

/// Removes the name of the temporary file from an error: it tells the user nothing.
fn without_name(error: &io::Error) -> io::Error {
    let whole = error.to_string();
    let system = whole.split(" at path ").next().unwrap_or(&whole);
    io::Error::new(error.kind(), system)
}
