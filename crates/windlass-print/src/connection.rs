//! A connection to a server: by TCP, bare or encrypted, or over a Unix socket.

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

/// When a silent peer is asked by TCP, how often then, and after how many questions without an
/// answer it is gone: 15 minutes, as long as Linux repeats data (`tcp_retries2` in tcp(7)).
const KEEP_ALIVE: (Duration, Duration, u32) =
    (Duration::from_secs(30), Duration::from_secs(15), 58);

/// A connection.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    /// What encrypts it.
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
    /// The same, over which a session of TLS was agreed upon.
    pub(crate) fn encrypted(self, session: Session) -> Self {
        Self { tls: Some(Mutex::new(session)), ..self }
    }

    /// The socket of TCP, which the kernel keeps account of.
    pub fn tcp(&self) -> Option<&Arc<TcpStream>> {
        match &self.socket {
            Socket::Tcp(stream) => Some(stream),
            Socket::Unix(_) => None,
        }
    }

    /// The same, taken out of this; nothing where it is none, or is in use elsewhere.
    pub(crate) fn into_tcp(self) -> Option<TcpStream> {
        match self.socket {
            Socket::Tcp(stream) => Arc::into_inner(stream),
            Socket::Unix(_) => None,
        }
    }

    /// Whether it is encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// How long a read or a write waits at a time.
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

    /// Has the kernel ask a silent peer whether it is there, so that a connection whose peer is
    /// gone fails.
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

    /// What the kernel says of it; nothing of a Unix socket.
    pub(crate) fn info(&self) -> io::Result<TcpInfo> {
        self.tcp().map_or_else(|| Ok(TcpInfo::default()), |stream| tcp_info(&**stream))
    }

    fn session(&self) -> Option<MutexGuard<'_, Session>> {
        let session = self.tls.as_ref()?;
        Some(session.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What of it came already and needs no look at the socket.
    pub(crate) fn read_kept(&self, bytes: &mut [u8]) -> Option<usize> {
        self.session()?.read_kept(bytes)
    }

    /// Reads what has come, or waits for it for so long as it may.
    pub(crate) fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.session() {
            Some(mut session) => session.read(&mut &self.socket, bytes),
            None => (&self.socket).read(bytes),
        }
    }

    /// Writes some of it. What TLS has taken may be on its way still.
    pub(crate) fn write_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.session() {
            Some(mut session) => session.write_vectored(&mut &self.socket, pieces),
            None => (&self.socket).write_vectored(pieces),
        }
    }

    /// Gives the kernel what TLS has taken.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.session().map_or(Ok(()), |mut session| session.flush(&mut &self.socket))
    }

    /// The bytes that were written to the socket, where that is more than was written to
    /// this.
    pub(crate) fn sent(&self) -> Option<u64> {
        self.session().map(|session| session.sent)
    }

    /// Says that nothing more is sent.
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
