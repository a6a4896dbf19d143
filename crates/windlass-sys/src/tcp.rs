//! A TCP socket in a namespace, and what the standard library cannot set on one.

use std::io;
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, AddressFamily, SocketType, sockopt};

use crate::call::checked;
use crate::namespace::{Namespace, NamespaceStep, Refused};
use crate::socket::set;

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
        let socket =
            namespace.socket(AddressFamily::INET, SocketType::STREAM, NamespaceStep::Socket)?;
        Ok(Self { stream: socket.into() })
    }

    /// The socket for reading and writing, once it is connected.
    pub const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The same, for whoever keeps it longer than this value.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Chooses the congestion control by its name, as `cubic`.
    ///
    /// # Errors
    /// Where the kernel has none of this name, or does not allow it.
    pub fn set_congestion(&self, name: &str) -> io::Result<()> {
        Ok(sockopt::set_tcp_congestion(&self.stream, name)?)
    }

    /// Asks for a send buffer of so many bytes. Linux doubles it, for what it
    /// keeps beside the data, and has a least (socket(7)):
    /// [`Self::send_buffer`] tells what was granted.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn set_send_buffer(&self, bytes: u64) -> io::Result<()> {
        let asked = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        set(&self.stream, libc::SOL_SOCKET, libc::SO_SNDBUF, &asked)
    }

    /// The send buffer, for data and what the kernel keeps beside it.
    ///
    /// # Errors
    /// Where the kernel does not tell.
    pub fn send_buffer(&self) -> io::Result<u64> {
        Ok(sockopt::socket_send_buffer_size(&self.stream)? as u64)
    }

    /// Connects, and waits until that is done.
    ///
    /// # Errors
    /// Where the peer refuses or does not answer, or [`Self::cut`] ends it.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        match retry_on_intr(|| net::connect(&self.stream, &to)) {
            // A wait that a signal ended, and that was over then.
            Err(Errno::ISCONN) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Listens on an address of its namespace; with port 0 on one that the
    /// kernel chooses.
    ///
    /// # Errors
    /// Where the namespace has no such address, or the port is taken.
    pub fn listen(self, on: SocketAddrV4) -> io::Result<TcpListener> {
        net::bind(&self.stream, &on)?;
        net::listen(&self.stream, BACKLOG)?;
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
        checked(unsafe {
            libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ as _, &raw mut bytes)
        })?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// Ends what waits for this socket in another thread.
    pub fn cut(&self) {
        // One that is not connected has nothing to end.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
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
