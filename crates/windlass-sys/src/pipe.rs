//! Named pipes whose readers come and go.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::call::checked;

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
    // SAFETY: it takes numbers only.
    let flags = checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: it takes numbers only.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) })?;
    Ok(Some(file))
}

/// Whether somebody still reads what is written into a pipe.
///
/// # Errors
/// Where the kernel does not tell.
pub fn has_reader(pipe: &File) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd: pipe.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one pollfd is there to be read and written.
    match checked(unsafe { libc::poll(&raw mut polled, 1, 0) }) {
        Ok(_) => Ok(polled.revents & libc::POLLERR == 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::io::Read;
    use std::io::Write;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_pipe_is_open_as_long_as_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert_eq!(open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name ends with a zero byte.
        checked(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }).unwrap();
        assert!(open(&path).unwrap().is_none(), "nobody reads it");
        let mut reader =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        let mut pipe = open(&path).unwrap().unwrap();
        assert!(has_reader(&pipe).unwrap());
        pipe.write_all(b"hello").unwrap();
        let mut got = [0; 5];
        reader.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"hello");
        // SAFETY: it takes numbers only.
        let flags = checked(unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_GETFL) }).unwrap();
        assert_eq!(flags & libc::O_NONBLOCK, 0, "a full pipe is waited for");
        drop(reader);
        assert!(!has_reader(&pipe).unwrap());
        assert_eq!(pipe.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
