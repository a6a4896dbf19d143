//! A TCP socket in a namespace, and what the standard library cannot set on one.

use std::io;
use std::mem::size_of;
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_int, c_void, socklen_t};

use crate::namespace::{Namespace, Refused};

/// How many connections may wait to be accepted, as with the standard library.
const BACKLOG: c_int = 128;

/// A TCP socket of the namespace in which it was opened, wherever it is used.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
}

impl Socket {
    /// Opens a socket that is not connected yet.
    ///
    /// # Errors
    /// Where the namespace cannot be entered, or no socket is to be had.
    pub fn open_in(namespace: &Namespace) -> Result<Self, Refused> {
        Ok(Self { stream: namespace.tcp()?.into() })
    }

    /// The socket for reading and writing, once it is connected.
    #[must_use]
    pub const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The same, for whoever keeps it longer than this value.
    #[must_use]
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Chooses the congestion control by its name, as `cubic`.
    ///
    /// # Errors
    /// Where the kernel has none of this name, or does not allow it.
    pub fn set_congestion(&self, name: &str) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
    }

    /// Asks for a send buffer of so many bytes. Linux doubles it, for what it
    /// keeps beside the data, and has a least (socket(7)):
    /// [`Self::send_buffer`] tells what was granted.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn set_send_buffer(&self, bytes: u64) -> io::Result<()> {
        let asked = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &asked.to_ne_bytes())
    }

    /// The send buffer, for data and what the kernel keeps beside it.
    ///
    /// # Errors
    /// Where the kernel does not tell.
    pub fn send_buffer(&self) -> io::Result<u64> {
        let mut granted: c_int = 0;
        let mut length = size_of::<c_int>() as socklen_t;
        // SAFETY: a number is there to be written, and its length is stated.
        check(unsafe {
            libc::getsockopt(
                self.stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_SNDBUF,
                (&raw mut granted).cast::<c_void>(),
                &raw mut length,
            )
        })?;
        Ok(u64::try_from(granted).unwrap_or(0))
    }

    /// Connects, and waits until that is done.
    ///
    /// # Errors
    /// Where the peer refuses or does not answer, or [`Self::cut`] ends it.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        let address = socket_address(to);
        loop {
            // SAFETY: the address is there to be read, and its length is stated.
            let done = unsafe {
                libc::connect(
                    self.stream.as_raw_fd(),
                    (&raw const address).cast::<libc::sockaddr>(),
                    size_of::<libc::sockaddr_in>() as socklen_t,
                )
            };
            match check(done) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A wait that a signal ended, and that was over then.
                Err(error) if error.raw_os_error() == Some(libc::EISCONN) => return Ok(()),
                done => return done,
            }
        }
    }

    /// Listens on an address of its namespace; with port 0 on one that the
    /// kernel chooses.
    ///
    /// # Errors
    /// Where the namespace has no such address, or the port is taken.
    pub fn listen(self, on: SocketAddrV4) -> io::Result<TcpListener> {
        let address = socket_address(on);
        // SAFETY: the address is there to be read, and its length is stated.
        check(unsafe {
            libc::bind(
                self.stream.as_raw_fd(),
                (&raw const address).cast::<libc::sockaddr>(),
                size_of::<libc::sockaddr_in>() as socklen_t,
            )
        })?;
        // SAFETY: it takes numbers only.
        check(unsafe { libc::listen(self.stream.as_raw_fd(), BACKLOG) })?;
        Ok(OwnedFd::from(self.stream).into())
    }

    /// The bytes that were written and are not acknowledged (`SIOCOUTQ` in
    /// tcp(7)).
    ///
    /// # Errors
    /// Where the socket has never been connected.
    pub fn unacknowledged(&self) -> io::Result<u64> {
        let mut bytes: c_int = 0;
        // SAFETY: TIOCOUTQ, which is SIOCOUTQ, writes a number.
        check(unsafe {
            libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ as _, &raw mut bytes)
        })?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// Ends what waits for this socket in another thread.
    pub fn cut(&self) {
        // One that is not connected has nothing to end.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn set(&self, level: c_int, option: c_int, value: &[u8]) -> io::Result<()> {
        // SAFETY: so many bytes are there to be read.
        check(unsafe {
            libc::setsockopt(
                self.stream.as_raw_fd(),
                level,
                option,
                value.as_ptr().cast::<c_void>(),
                value.len() as socklen_t,
            )
        })
    }
}

const fn socket_address(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

fn check(result: c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    #[test]
    fn a_socket_is_in_its_namespace_and_says_what_it_holds() {
        let test = "a_socket_is_in_its_namespace_and_says_what_it_holds";
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(refused) => return eprintln!("skipped: {test}: {refused}"),
        };
        // A port that listens out here is not there in the namespace.
        let outside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = outside.local_addr().unwrap().port();
        let socket = Socket::open_in(&namespace).unwrap();
        socket.set_congestion("reno").unwrap();
        assert!(socket.set_congestion("no-such-control").is_err());
        socket.set_send_buffer(20_000).unwrap();
        assert_eq!(socket.send_buffer().unwrap(), 40_000, "Linux doubles it");
        socket.set_send_buffer(1).unwrap();
        assert!(socket.send_buffer().unwrap() > 2_048, "Linux has a least");
        let refused = socket.connect(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        // A listener in the namespace is found by another socket of it.
        let own = Socket::open_in(&namespace).unwrap();
        let own = own.listen(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = own.local_addr().unwrap().port();
        let elsewhere = SocketAddrV4::new([192, 0, 2, 9].into(), 0);
        assert!(Socket::open_in(&namespace).unwrap().listen(elsewhere).is_err());
        let socket = Socket::open_in(&namespace).unwrap();
        socket.connect(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).unwrap();
        let (mut peer, _) = own.accept().unwrap();
        socket.stream().write_all(b"hello").unwrap();
        let mut got = [0; 5];
        peer.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"hello");
        socket.cut();
        assert_eq!(peer.read(&mut got).unwrap(), 0, "it was cut");
    }
}
