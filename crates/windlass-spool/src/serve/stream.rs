//! Transports of a connection: TCP sockets, Unix sockets, and substitutes for them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_sys::socket::{receive_now, set_reset_on_close};
use windlass_sys::wait::ready;

/// A transport of a client's data.
pub trait Stream: Read + Write + Send {
    /// Closes the writing side.
    fn end(&mut self) {}

    /// Sets whether closing resets the connection, so that the client does not take the end for a
    /// success.
    fn set_reset_on_close(&mut self, _: bool) {}

    /// Reads available data without waiting; `None` if there is none.
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sleeps until data may be available or the server ends, up to the given time. Transports that
    /// cannot sleep are read again at once, and wait there.
    fn sleep(&self, _: &StopSignal, _: Duration) {}

    /// Returns the TCP socket, if the transport is nothing else.
    fn into_tcp(self: Box<Self>) -> Option<TcpStream> {
        None
    }
}

impl Stream for TcpStream {
    fn end(&mut self) {
        // A client that has gone needs no notice.
        let _ = self.shutdown(Shutdown::Write);
    }

    fn set_reset_on_close(&mut self, resets: bool) {
        // Every socket supports this option.
        let _ = set_reset_on_close(&*self, resets);
    }

    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        receive_now(&*self, bytes)
    }

    fn sleep(&self, stop: &StopSignal, most: Duration) {
        stop.wait_beside(self.as_fd(), most);
    }

    fn into_tcp(self: Box<Self>) -> Option<TcpStream> {
        Some(*self)
    }
}

/// Signal of the server's end. Threads that wait for a client wait for this signal as well:
/// periodic checks would keep a processor busy with thousands of clients.
#[derive(Debug)]
pub struct StopSignal {
    given: AtomicBool,
    /// Socket pair that becomes readable at the end; `None` if there was no file descriptor left.
    ends: Option<(UnixStream, UnixStream)>,
}

impl Default for StopSignal {
    fn default() -> Self {
        Self { given: AtomicBool::new(false), ends: UnixStream::pair().ok() }
    }
}

impl StopSignal {
    /// Returns whether the signal was given.
    pub(super) fn is_given(&self) -> bool {
        self.given.load(Ordering::Relaxed)
    }

    /// Gives the signal, and wakes all waiting threads.
    pub(super) fn give(&self) {
        self.given.store(true, Ordering::Relaxed);
        if let Some((there, _)) = &self.ends {
            // The other side becomes readable in any case.
            let _ = there.shutdown(Shutdown::Both);
        }
    }

    /// Waits until data is available or the server ends, up to `most`.
    pub(super) fn wait_beside(&self, file: BorrowedFd<'_>, most: Duration) {
        if let Some((_, here)) = &self.ends {
            // If waiting fails, reading does, too.
            let _ = ready(&[file, here.as_fd()], Some(most));
        }
    }
}

/// Placeholder of a stream that was taken away.
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
        // A client that has gone needs no notice.
        let _ = self.shutdown(Shutdown::Write);
    }

    fn sleep(&self, stop: &StopSignal, most: Duration) {
        stop.wait_beside(self.as_fd(), most);
    }

    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        receive_now(&*self, bytes)
    }
}

/// An accepted connection.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}
