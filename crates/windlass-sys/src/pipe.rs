//! Named pipes whose readers come and go.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};

use crate::wait::writable;

/// Opens a named pipe for writing. Returns `None` if nobody reads the pipe yet. Writes wait while
/// the pipe is full.
///
/// # Errors
/// Fails if the pipe does not exist, or may not be written to.
pub fn open(path: &Path) -> io::Result<Option<File>> {
    // Without this the kernel waits for a reader, and no signal ends that wait in a program that
    // handles signals (fifo(7)).
    let file = match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Ok(None),
        Err(error) => return Err(error),
    };
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(Some(file))
}

/// Returns whether a pipe still has a reader.
///
/// # Errors
/// Fails if the kernel does not tell.
pub fn has_reader(pipe: &File) -> io::Result<bool> {
    let mut polled = [PollFd::new(pipe, PollFlags::empty())];
    match poll(&mut polled, Some(&Timespec::default())) {
        Ok(_) => Ok(!polled[0].revents().contains(PollFlags::ERR)),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Bytes for which a pipe has room when poll(2) calls it writable (`PIPE_BUF`, pipe(7)).
const ROOM: usize = 4_096;

/// Writes as many bytes as go at once; [`io::ErrorKind::WouldBlock`] if none do. The file's flags
/// do not change, as others may write to the file and wait.
///
/// # Errors
/// Fails if the pipe has no reader any more, and as write(2) does.
pub fn write_without_waiting(file: &File, bytes: &[u8]) -> io::Result<usize> {
    // With this offset the kernel writes at the file's position, as write(2) does.
    match pwritev2(file, &[IoSlice::new(bytes)], u64::MAX, ReadWriteFlags::NOWAIT) {
        // Files of some kinds, and Linux before 5.10, do not support the flag.
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::SPIPE) => {
            if !writable(file.as_fd(), Some(Duration::ZERO))? {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let mut file = file;
            file.write(&bytes[..bytes.len().min(ROOM)])
        }
        wrote => wrote.map_err(io::Error::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_full_pipe_is_not_waited_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        let pipe = File::from(OwnedFd::from(writer));
        let mut written = 0;
        let error = loop {
            match write_without_waiting(&pipe, &[7; 10_000]) {
                Ok(bytes) => written += bytes,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let mut got = vec![0; written];
        reader.read_exact(&mut got).unwrap();
        assert!(written >= ROOM && got.iter().all(|byte| *byte == 7), "{written}");
        assert_eq!(write_without_waiting(&pipe, b"more").unwrap(), 4);
        drop(reader);
        let error = write_without_waiting(&pipe, b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        // A file is written from its position on.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        for part in [b"one ", b"two "] {
            assert_eq!(write_without_waiting(&file, part).unwrap(), 4);
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"one two ");
    }

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
