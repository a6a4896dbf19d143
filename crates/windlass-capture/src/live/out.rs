//! Where the records of a capture go: files made with care, pipes and devices.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use windlass_base::Failure;
use windlass_sys::privileges::Identity;

/// Where the records go.
#[derive(Debug)]
pub(super) enum Out {
    /// A file on a disk, which can be cut.
    File(File),
    /// A pipe or a device.
    Stream(File),
}

/// Writes all of it; says how much went.
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

/// Cuts a file, and goes on from there.
pub(super) fn cut(file: &mut File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    file.seek(SeekFrom::Start(bytes)).map(drop)
}

/// Standard output, past the buffer that the library keeps for it.
pub(super) fn stdout() -> Result<Out, Failure> {
    let doing = || "cannot write the capture to standard output".to_owned();
    if io::IsTerminal::is_terminal(&io::stdout()) {
        return Err(Failure::usage(doing(), "it is a terminal")
            .advise("Name a file, or pipe it on: windlass capture eth0 -w - | wireshark -k -i -"));
    }
    let own = io::stdout();
    let copy = std::os::fd::AsFd::as_fd(&own).try_clone_to_owned();
    let file = File::from(copy.map_err(|error| Failure::new(doing(), error))?);
    let is_file = file.metadata().is_ok_and(|about| about.is_file());
    // What is behind `>>` must stay.
    Ok(if is_file && is_at_start(&file) { Out::File(file) } else { Out::Stream(file) })
}

fn is_at_start(mut file: &File) -> bool {
    file.stream_position().is_ok_and(|at| at == 0)
}

/// Makes a file on a disk, as [`create`] does.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    match create(path)? {
        Out::File(file) => Ok(file),
        Out::Stream(_) => Err(io::Error::other("it is no file on a disk")),
    }
}

/// Makes a file that only its owner can read, or opens what is there already.
///
/// A capture holds what others said. So it is not put into a file of somebody
/// else, and not where a link of somebody else leads: who may write to `/tmp`
/// could have put it there.
pub(super) fn create(path: &Path) -> io::Result<Out> {
    // Anybody may write to other folders there, as to /dev/shm.
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
        // A named pipe waits for its reader here.
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
        return Ok(Out::Stream(stream));
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
    Ok(Out::File(file))
}

pub(super) fn unwritable(name: &str, error: io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "Make the directory first.",
        io::ErrorKind::StorageFull => "Free some space, or write elsewhere.",
        _ => "Name another file, or check the right to write there.",
    };
    Failure::new(format!("cannot write {name}"), error).advise(advice)
}
