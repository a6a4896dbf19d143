//! Named pipes whose readers come and go.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// Opens a named pipe to write into it; nothing where nobody reads it yet. Who
/// writes waits where the pipe is full.
///
/// # Errors
/// Where it is not there, or may not be written to.
pub fn open(path: &Path) -> io::Result<Option<File>> {
    // Without this the kernel waits for a reader, and no signal ends that for a
    // program that takes signals (fifo(7)).
    let file = match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Ok(None),
        Err(error) => return Err(error),
    };
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(Some(file))
}

/// Whether somebody still reads what is written into a pipe.
///
/// # Errors
/// Where the kernel does not tell.
pub fn has_reader(pipe: &File) -> io::Result<bool> {
    let mut polled = [PollFd::new(pipe, PollFlags::empty())];
    match poll(&mut polled, Some(&Timespec::default())) {
        Ok(_) => Ok(!polled[0].revents().contains(PollFlags::ERR)),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_pipe_is_open_as_long_as_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert_eq!(open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let (kind, mode) = (FileType::Fifo, Mode::from_raw_mode(0o600));
        mknodat(CWD, &path, kind, mode, 0).unwrap();
        assert!(open(&path).unwrap().is_none(), "nobody reads it");
        let mut reader =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        let mut pipe = open(&path).unwrap().unwrap();
        assert!(has_reader(&pipe).unwrap());
        pipe.write_all(b"hello").unwrap();
        let mut got = [0; 5];
        reader.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"hello");
        let flags = fcntl_getfl(&pipe).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK), "a full pipe is waited for");
        drop(reader);
        assert!(!has_reader(&pipe).unwrap());
        assert_eq!(pipe.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
