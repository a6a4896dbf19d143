//! Options of TCP sockets that the usual libraries do not have.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use libc::{c_int, c_void, socklen_t};

/// Keeps what a connection sends to so many bytes per second. The kernel paces
/// by its own timers where the interface has no queue that does.
///
/// # Errors
/// Where the kernel refuses.
pub fn set_pace(socket: impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_second.to_ne_bytes())
}

/// Keeps the window that a connection advertises to so many bytes.
///
/// # Errors
/// Where the kernel refuses.
pub fn set_window_clamp(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &bytes.to_ne_bytes())
}

/// Whether a read or a write has only waited for as long as it may at a time, or was
/// interrupted.
#[must_use]
pub fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Reads what has come, without waiting; `None` where nothing has. No bytes are
/// the end of a connection.
///
/// # Errors
/// Where the connection has failed.
pub fn receive_now(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: there is room for as many bytes as are stated.
    let received = unsafe {
        libc::recv(
            socket.as_fd().as_raw_fd(),
            bytes.as_mut_ptr().cast::<c_void>(),
            bytes.len(),
            libc::MSG_DONTWAIT,
        )
    };
    match usize::try_from(received) {
        Ok(received) => Ok(Some(received)),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
    }
}

pub(crate) fn set(socket: impl AsFd, level: c_int, option: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the value is there to be read, and its length is stated.
    let done = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            value.as_ptr().cast::<c_void>(),
            value.len() as socklen_t,
        )
    };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn nothing_is_waited_for() {
        let (mut there, here) = UnixStream::pair().unwrap();
        let mut bytes = [0; 8];
        assert_eq!(receive_now(&here, &mut bytes).unwrap(), None);
        there.write_all(b"abc").unwrap();
        assert_eq!(receive_now(&here, &mut bytes).unwrap(), Some(3));
        assert_eq!(&bytes[..3], b"abc");
        drop(there);
        assert_eq!(receive_now(&here, &mut bytes).unwrap(), Some(0));
        assert!(receive_now(std::fs::File::open("/dev/null").unwrap(), &mut bytes).is_err());
    }
}
