//! Connection to a server: over TCP, plain or encrypted, or over a Unix socket.

use std::io::{self, IoSlice};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_sys::socket::{reset, set_keep_alive, set_reset_on_close};
use windlass_sys::tcp_info::{TcpInfo, tcp_info};

use crate::tls::Session;

/// TCP keep-alive: time until the first probe, time between probes, and number of unanswered probes
/// after which the peer is gone. The total is 15 minutes, as long as Linux retransmits data
/// (`tcp_retries2` in tcp(7)).
const KEEP_ALIVE: (Duration, Duration, u32) =
    (Duration::from_secs(30), Duration::from_secs(15), 58);

/// Connection to a server.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    /// TLS session; nothing without encryption.
    tls: Option<Mutex<Session>>,
}

#[derive(Debug)]
enum Socket {
    Tcp(Arc<TcpStream>),
    Unix(UnixStream),
}

impl From<TcpStream> for Connection {
    fn from(stream: TcpStream) -> Self {
        Self { socket: Socket::Tcp(Arc::new(stream)), tls: None }
    }
}

impl From<UnixStream> for Connection {
    fn from(stream: UnixStream) -> Self {
        Self { socket: Socket::Unix(stream), tls: None }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&**stream).read(bytes),
            Socket::Unix(stream) => (&*stream).read(bytes),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&**stream).write(bytes),
            Socket::Unix(stream) => (&*stream).write(bytes),
        }
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&**stream).write_vectored(pieces),
            Socket::Unix(stream) => (&*stream).write_vectored(pieces),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Connection {
    /// Adds a TLS session that was agreed upon.
    pub(crate) fn encrypted(self, session: Session) -> Self {
        Self { tls: Some(Mutex::new(session)), ..self }
    }

    /// Returns the TCP socket, for which the kernel has figures.
    pub fn tcp(&self) -> Option<&Arc<TcpStream>> {
        match &self.socket {
            Socket::Tcp(stream) => Some(stream),
            Socket::Unix(_) => None,
        }
    }

    /// Takes the TCP socket out of the connection; nothing if there is none, or it is shared.
    pub(crate) fn into_tcp(self) -> Option<TcpStream> {
        match self.socket {
            Socket::Tcp(stream) => Arc::into_inner(stream),
            Socket::Unix(_) => None,
        }
    }

    /// Returns whether the connection is encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Sets the longest time of a single read or write.
    pub(crate) fn set_waits(&self, wait: Duration) -> io::Result<()> {
        let wait = Some(wait);
        match &self.socket {
            Socket::Tcp(stream) => {
                stream.set_read_timeout(wait)?;
                stream.set_write_timeout(wait)
            }
            Socket::Unix(stream) => {
                stream.set_read_timeout(wait)?;
                stream.set_write_timeout(wait)
            }
        }
    }

    /// Lets the kernel probe a silent peer, so that a connection to a vanished peer fails.
    pub(crate) fn keep_alive(&self) -> io::Result<()> {
        self.tcp().map_or(Ok(()), |stream| {
            set_keep_alive(&**stream, KEEP_ALIVE.0, KEEP_ALIVE.1, KEEP_ALIVE.2)
        })
    }

    /// Sets whether the end of this process, or the last use of the socket, resets the connection.
    pub(crate) fn reset_on_close(&self, resets: bool) -> io::Result<()> {
        self.tcp().map_or(Ok(()), |stream| set_reset_on_close(&**stream, resets))
    }

    /// Ends the connection now, whoever else holds its socket. The kernel sends nothing more.
    pub(crate) fn reset(&self) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => reset(&**stream),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        }
    }

    /// Returns the kernel's figures; empty ones for a Unix socket.
    pub(crate) fn info(&self) -> io::Result<TcpInfo> {
        self.tcp().map_or_else(|| Ok(TcpInfo::default()), |stream| tcp_info(&**stream))
    }

    fn session(&self) -> Option<MutexGuard<'_, Session>> {
        let session = self.tls.as_ref()?;
        Some(session.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads bytes that TLS has decrypted already, without a look at the socket.
    pub(crate) fn read_kept(&self, bytes: &mut [u8]) -> Option<usize> {
        self.session()?.read_kept(bytes)
    }

    /// Reads the bytes that have come, or waits for them up to the timeout.
    pub(crate) fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.session() {
            Some(mut session) => session.read(&mut &self.socket, bytes),
            None => (&self.socket).read(bytes),
        }
    }

    /// Writes a part of the pieces. TLS may still hold bytes that it has accepted.
    pub(crate) fn write_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.session() {
            Some(mut session) => session.write_vectored(&mut &self.socket, pieces),
            None => (&self.socket).write_vectored(pieces),
        }
    }

    /// Passes the bytes held by TLS to the kernel.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.session().map_or(Ok(()), |mut session| session.flush(&mut &self.socket))
    }

    /// Returns the number of bytes written to the socket, if it differs from the number written to
    /// this connection.
    pub(crate) fn sent(&self) -> Option<u64> {
        self.session().map(|session| session.sent)
    }

    /// Closes this end's direction.
    pub(crate) fn half_close(&self) -> io::Result<()> {
        if let Some(mut session) = self.session() {
            session.end(&mut &self.socket)?;
        }
        match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }
}
