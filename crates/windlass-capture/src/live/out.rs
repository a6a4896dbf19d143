//! Outputs of a capture: safely created files, pipes and devices.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use windlass_base::Failure;
use windlass_sys::privileges::Identity;

/// Output for the records.
#[derive(Debug)]
pub(super) enum RecordOutput {
    /// File on a disk, which can be truncated.
    File(File),
    /// Pipe or device.
    Stream(File),
}

/// Writes `bytes`; returns the number of written bytes, and the error if one occurred.
pub(super) fn write(file: &mut File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < bytes.len() {
        match file.write(&bytes[done..]) {
            Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
}

/// Truncates a file, and continues at its new end.
pub(super) fn cut(file: &mut File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    file.seek(SeekFrom::Start(bytes)).map(drop)
}

/// Returns standard output, bypassing the buffer of Rust's library.
pub(super) fn stdout() -> Result<RecordOutput, Failure> {
    let doing = || "cannot write the capture to standard output".to_owned();
    if io::IsTerminal::is_terminal(&io::stdout()) {
        return Err(Failure::usage(doing(), "it is a terminal")
            .advise("Name a file, or pipe it on: windlass capture eth0 -w - | wireshark -k -i -"));
    }
    let own = io::stdout();
    let copy = std::os::fd::AsFd::as_fd(&own).try_clone_to_owned();
    let file = File::from(copy.map_err(|error| Failure::new(doing(), error))?);
    let is_file = file.metadata().is_ok_and(|about| about.is_file());
    // With `>>`, existing content must stay.
    Ok(if is_file && is_at_start(&file) {
        RecordOutput::File(file)
    } else {
        RecordOutput::Stream(file)
    })
}

fn is_at_start(mut file: &File) -> bool {
    file.stream_position().is_ok_and(|at| at == 0)
}

/// Creates a file on a disk, as [`create`] does.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    match create(path)? {
        RecordOutput::File(file) => Ok(file),
        RecordOutput::Stream(_) => Err(io::Error::other("it is no file on a disk")),
    }
}

/// Creates a file that only its owner can read, or opens an existing one.
///
/// A capture contains other people's messages. It is therefore not written into another user's
/// file, nor through another user's link: anyone with write access to `/tmp` could have prepared
/// one.
pub(super) fn create(path: &Path) -> io::Result<RecordOutput> {
    // Other users may write to folders below it, such as /dev/shm.
    let is_device = path.parent() == Some(Path::new("/dev"))
        || ["/dev/fd", "/proc"].iter().any(|folder| path.starts_with(folder));
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if let Ok(about) = std::fs::metadata(path)
        && !about.is_file()
    {
        if about.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // Opening a named pipe waits for its reader.
        let kind = about.file_type();
        let stream = kind.is_fifo() || kind.is_char_device() || kind.is_socket();
        if !stream {
            return Err(io::Error::other("it is neither a file nor a pipe"));
        }
        let stream = options.open(path)?;
        let about = stream.metadata()?;
        if about.is_file() {
            return Err(io::Error::other("it has been replaced by a file"));
        }
        if about.file_type().is_fifo() && !is_device && about.uid() != Identity::own().user {
            return Err(io::Error::other("it belongs to another user"));
        }
        return Ok(RecordOutput::Stream(stream));
    }
    let no_links = if is_device { 0 } else { windlass_sys::privileges::NO_LINKS };
    let file = options.create(true).custom_flags(no_links).open(path).map_err(|error| {
        let is_link = std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
        if is_link { io::Error::other("it is a symbolic link") } else { error }
    })?;
    let about = file.metadata()?;
    if about.uid() != Identity::own().user {
        return Err(io::Error::other("it belongs to another user"));
    }
    file.set_len(0)?;
    Ok(RecordOutput::File(file))
}

pub(super) fn unwritable(name: &str, error: io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "Create the directory first.",
        io::ErrorKind::StorageFull => "Free some space, or write elsewhere.",
        _ => "Name another file, or check the permission to write there.",
    };
    Failure::new(format!("cannot write {name}"), error).advise(advice)
}
