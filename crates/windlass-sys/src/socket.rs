//! Options of sockets that the usual libraries lack.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use libc::{c_int, c_void, socklen_t};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_socket_keepalive, set_socket_linger, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, connect_unspec, socket_with};

use crate::call::checked;

/// Limits a connection's sending rate in bytes per second. The kernel paces by its own timers if
/// the interface's queue does not pace.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn set_pace(socket: impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_second)
}

/// Limits the window that a connection advertises, in bytes.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn set_window_clamp(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &bytes)
}

/// Lets the kernel size a socket's buffers again after they were set (`SO_BUF_LOCK` in socket(7)).
///
/// # Errors
/// Fails if the kernel has no such option (before Linux 5.14).
pub fn release_buffers(socket: impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_BUF_LOCK, &0_u32)
}

/// Returns whether a read or a write has only reached its time limit, or was interrupted.
pub fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Sets whether closing the socket resets the connection, also when this process ends in any way
/// (`SO_LINGER` with a time of 0 in socket(7)). The peer then sees no orderly end. Connections of a
/// listening socket inherit the setting.
///
/// # Errors
/// Fails if the file is no socket.
pub fn set_reset_on_close(socket: impl AsFd, resets: bool) -> io::Result<()> {
    Ok(set_socket_linger(socket, resets.then_some(Duration::ZERO))?)
}

/// Resets a TCP connection now, even if others hold its socket. The kernel drops unsent data and
/// forgets the connection (`AF_UNSPEC` in connect(2)).
///
/// # Errors
/// Fails if the kernel does not reset the connection.
pub fn reset(socket: impl AsFd) -> io::Result<()> {
    Ok(connect_unspec(socket)?)
}

/// Has the kernel probe the peer of a silent connection: after `idle`, then every `interval`. After
/// this many unanswered probes in a row the connection fails (`SO_KEEPALIVE` in tcp(7)).
///
/// # Errors
/// Fails if the socket is no TCP socket.
pub fn set_keep_alive(
    socket: impl AsFd,
    idle: Duration,
    interval: Duration,
    unanswered: u32,
) -> io::Result<()> {
    let socket = socket.as_fd();
    set_socket_keepalive(socket, true)?;
    set_tcp_keepidle(socket, idle)?;
    set_tcp_keepintvl(socket, interval)?;
    Ok(set_tcp_keepcnt(socket, unanswered)?)
}

/// Sets how many connections of a listening socket may wait to be accepted (listen(2)), up to the
/// system's limit (`net.core.somaxconn`). The client of one more waits for a second and tries
/// again. Sockets of the standard library have 128.
///
/// # Errors
/// Fails if the socket does not listen.
pub fn set_backlog(socket: impl AsFd, connections: u16) -> io::Result<()> {
    Ok(rustix::net::listen(socket, i32::from(connections))?)
}

/// Reads received data without waiting; `None` if there is none. Zero bytes mean the end of a
/// connection.
///
/// # Errors
/// Fails if the connection has failed.
pub fn receive_now(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<Option<usize>> {
    match rustix::net::recv(socket, bytes, RecvFlags::DONTWAIT) {
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
        received => Ok(Some(received?.0)),
    }
}

/// Returns how many packets were dropped for lack of room in the socket since it was opened. The
/// kernel's count of 32 bits wraps.
///
/// # Errors
/// Fails if the kernel does not tell (before Linux 4.12).
pub fn overflowed(socket: impl AsFd) -> io::Result<u32> {
    /// Index of the count (`SK_MEMINFO_DROPS`).
    const DROPS: usize = 8;
    let (counts, _) = get::<[u32; DROPS + 1]>(socket, libc::SOL_SOCKET, libc::SO_MEMINFO)?;
    Ok(counts[DROPS])
}

/// Opens a socket of this type with the family's usual protocol.
pub(crate) fn open(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// Sets an option to a value that the kernel reads: bytes, a number or a structure.
pub(crate) fn set<T: ?Sized>(
    socket: impl AsFd,
    level: c_int,
    option: c_int,
    value: &T,
) -> io::Result<()> {
    let (bytes, length) = ((&raw const *value).cast::<c_void>(), size_of_val(value) as socklen_t);
    // SAFETY: the value is there to be read, and its length is stated.
    let done =
        unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, bytes, length) };
    checked(done).map(drop)
}

/// A type that an option can be read into.
///
/// # Safety
/// Any bytes must be a valid value: the type consists of numbers only.
pub(crate) unsafe trait Numbers {}
// SAFETY: a number.
unsafe impl Numbers for c_int {}
// SAFETY: a number.
unsafe impl Numbers for u32 {}
// SAFETY: so many numbers.
unsafe impl<const COUNT: usize> Numbers for [u32; COUNT] {}
// SAFETY: three numbers.
unsafe impl Numbers for libc::tpacket_stats_v3 {}

/// Reads an option into zeros of its type. Also returns how many bytes the kernel wrote.
pub(crate) fn get<T: Numbers>(
    socket: impl AsFd,
    level: c_int,
    option: c_int,
) -> io::Result<(T, usize)> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as socklen_t;
    let (socket, bytes) = (socket.as_fd().as_raw_fd(), value.as_mut_ptr().cast::<c_void>());
    // SAFETY: there is room for as many bytes as are stated.
    checked(unsafe { libc::getsockopt(socket, level, option, bytes, &raw mut length) })?;
    // SAFETY: what was not written stays zero, and any bytes are a value.
    Ok((unsafe { value.assume_init() }, length as usize))
}

/// Makes a message of one part, with control messages or room for them.
pub(crate) fn message(part: &mut libc::iovec, control: &mut [u64]) -> libc::msghdr {
    // SAFETY: all zeros is a valid msghdr: no name, no parts, no control.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (part, 1);
    message.msg_control = control.as_mut_ptr().cast::<c_void>();
    message.msg_controllen = size_of_val(control) as _;
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_connection_is_reset_while_another_holds_its_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let held = near.try_clone().unwrap();
        set_keep_alive(&near, Duration::from_secs(30), Duration::from_secs(10), 9).unwrap();
        reset(&near).unwrap();
        let error = far.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        assert!(!crate::tcp_info::tcp_info(&held).unwrap().is_established);
        assert!(held.peer_addr().is_err());
    }

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

    #[test]
    fn a_connection_is_reset_unless_it_is_settled() {
        use std::io::Read;
        use std::net::{Shutdown, TcpListener, TcpStream};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_reset_on_close(&listener, true).unwrap();
        let ended = |is_settled: bool| {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.write_all(b"all that there is").unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            // All data was read, so that without the option this looks like an orderly end.
            stream.read_to_end(&mut Vec::new()).unwrap();
            if is_settled {
                set_reset_on_close(&stream, false).unwrap();
            }
            drop(stream);
            client.read(&mut [0]).map_err(|error| error.kind())
        };
        assert_eq!(ended(false), Err(io::ErrorKind::ConnectionReset));
        assert_eq!(ended(true), Ok(0));
    }

    #[test]
    fn what_a_full_socket_drops_is_counted() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = receiver.local_addr().unwrap();
        assert_eq!(overflowed(&receiver).unwrap(), 0);
        let mut sent = 0;
        while overflowed(&receiver).unwrap() == 0 {
            sender.send_to(&[0; 8_000], to).unwrap();
            sent += 1;
            assert!(sent < 100_000, "a socket has room for no end");
        }
    }
}
