//! What a client is spoken with over: sockets of TCP and Unix sockets, and whatever is
//! put in their place.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use windlass_sys::socket::{receive_now, set_reset_on_close};

/// What bytes of a client come by, and go.
pub trait Stream: Read + Write + Send {
    /// Says that nothing more will be written.
    fn end(&mut self) {}

    /// Whether the client sees the end of this as a failure, and not as the end in order
    /// that it takes for a yes.
    fn set_reset_on_close(&mut self, _: bool) {}

    /// Reads what has come, without waiting; nothing where none has.
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>>;

    /// The socket of TCP below it, where it is nothing else.
    fn into_tcp(self: Box<Self>) -> Option<TcpStream> {
        None
    }
}

impl Stream for TcpStream {
    fn end(&mut self) {
        // Where the client has gone already it has nothing to hear.
        let _ = self.shutdown(Shutdown::Write);
    }

    fn set_reset_on_close(&mut self, resets: bool) {
        // Every socket can do it.
        let _ = set_reset_on_close(&*self, resets);
    }

    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        receive_now(&*self, bytes)
    }

    fn into_tcp(self: Box<Self>) -> Option<TcpStream> {
        Some(*self)
    }
}

/// In the place of a stream that was taken away.
pub(super) struct NoStream;

impl Read for NoStream {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

impl Write for NoStream {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for NoStream {
    fn read_now(&mut self, _: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(Some(0))
    }
}

impl Stream for UnixStream {
    fn end(&mut self) {
        // As above.
        let _ = self.shutdown(Shutdown::Write);
    }

    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        receive_now(&*self, bytes)
    }
}

/// A connection as it was made.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}
