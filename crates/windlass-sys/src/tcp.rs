//! A TCP socket in a namespace, with options that the standard library cannot set.

use std::io;
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, AddressFamily, SocketType, sockopt};

use crate::call::checked;
use crate::namespace::{Namespace, NamespaceStep, Refusal};
use crate::socket::set;

/// Connections that may wait to be accepted, as with the standard library.
const BACKLOG: c_int = 128;

/// A TCP socket of the namespace in which it was opened. Any thread may use it.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
}

impl Socket {
    /// Opens a socket that is not connected yet.
    ///
    /// # Errors
    /// Fails if the namespace cannot be entered, or the system gives no socket.
    pub fn open_in(namespace: &Namespace) -> Result<Self, Refusal> {
        let socket =
            namespace.socket(AddressFamily::INET, SocketType::STREAM, NamespaceStep::Socket)?;
        Ok(Self { stream: socket.into() })
    }

    /// Returns the socket for reading and writing, once it is connected.
    pub const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Turns this value into the socket.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Chooses the congestion control by its name, as `cubic`.
    ///
    /// # Errors
    /// Fails if the kernel does not know the name, or does not allow it.
    pub fn set_congestion(&self, name: &str) -> io::Result<()> {
        Ok(sockopt::set_tcp_congestion(&self.stream, name)?)
    }

    /// Asks for a send buffer of this many bytes. Linux doubles the number, to have room for its
    /// own data beside the payload, and has a minimum (socket(7)). [`Self::send_buffer`] returns
    /// the size granted.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn set_send_buffer(&self, bytes: u64) -> io::Result<()> {
        let asked = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        set(&self.stream, libc::SOL_SOCKET, libc::SO_SNDBUF, &asked)
    }

    /// Returns the send buffer in bytes, including the kernel's own data.
    ///
    /// # Errors
    /// Fails if the kernel does not tell.
    pub fn send_buffer(&self) -> io::Result<u64> {
        Ok(sockopt::socket_send_buffer_size(&self.stream)? as u64)
    }

    /// Connects, and waits until the connection is open.
    ///
    /// # Errors
    /// Fails if the peer refuses or does not answer, or [`Self::cut`] ends the wait.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        match retry_on_intr(|| net::connect(&self.stream, &to)) {
            // A signal ended the wait, and the connection was open then.
            Err(Errno::ISCONN) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Listens on an address of its namespace. For port 0 the kernel chooses a port.
    ///
    /// # Errors
    /// Fails if the namespace has no such address, or the port is taken.
    pub fn listen(self, on: SocketAddrV4) -> io::Result<TcpListener> {
        net::bind(&self.stream, &on)?;
        net::listen(&self.stream, BACKLOG)?;
        Ok(OwnedFd::from(self.stream).into())
    }

    /// Returns the bytes that were written and are not acknowledged (`SIOCOUTQ` in tcp(7)).
    ///
    /// # Errors
    /// Fails if the socket has never been connected.
    pub fn unacknowledged(&self) -> io::Result<u64> {
        let mut bytes: c_int = 0;
        // SAFETY: TIOCOUTQ, which is SIOCOUTQ, writes a number.
        checked(unsafe {
            libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ as _, &raw mut bytes)
        })?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// Ends any wait for this socket in another thread.
    pub fn cut(&self) {
        // A socket that is not connected has nothing to end.
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
        // A port that listens outside does not exist in the namespace.
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
        // Another socket of the namespace finds a listener in it.
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
