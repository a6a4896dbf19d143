//! What a client is spoken with over: sockets of TCP and Unix sockets, and whatever is
//! put in their place.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_sys::socket::{receive_now, set_reset_on_close};
use windlass_sys::wait::ready;

/// What bytes of a client come by, and go.
pub trait Stream: Read + Write + Send {
    /// Says that nothing more will be written.
    fn end(&mut self) {}

    /// Whether the client sees the end of this as a failure, and not as the end in order
    /// that it takes for a yes.
    fn set_reset_on_close(&mut self, _: bool) {}

    /// Reads what has come, without waiting; nothing where none has.
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sleeps until more may have come or the server ends, for so long at the most. What cannot
    /// do that is read again at once, and waits there.
    fn sleep(&self, _: &StopSignal, _: Duration) {}

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

    fn sleep(&self, stop: &StopSignal, most: Duration) {
        stop.wait_beside(self.as_fd(), most);
    }

    fn into_tcp(self: Box<Self>) -> Option<TcpStream> {
        Some(*self)
    }
}

/// Whether the server ends. Who waits for a client waits for that, too: to look now and then
/// would keep a processor busy where there are thousands.
#[derive(Debug)]
pub struct StopSignal {
    given: AtomicBool,
    /// What can be read when it ends: none where there was no file for it.
    ends: Option<(UnixStream, UnixStream)>,
}

impl Default for StopSignal {
    fn default() -> Self {
        Self { given: AtomicBool::new(false), ends: UnixStream::pair().ok() }
    }
}

impl StopSignal {
    /// Whether it was given.
    pub(super) fn is_given(&self) -> bool {
        self.given.load(Ordering::Relaxed)
    }

    /// Gives it, and wakes all who wait.
    pub(super) fn give(&self) {
        self.given.store(true, Ordering::Relaxed);
        if let Some((there, _)) = &self.ends {
            // The other side can be read in any case.
            let _ = there.shutdown(Shutdown::Both);
        }
    }

    /// Waits until something can be read or the server ends, so long at the most.
    pub(super) fn wait_beside(&self, file: BorrowedFd<'_>, most: Duration) {
        if let Some((_, here)) = &self.ends {
            // Where waiting fails, reading does.
            let _ = ready(&[file, here.as_fd()], Some(most));
        }
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

    fn sleep(&self, stop: &StopSignal, most: Duration) {
        stop.wait_beside(self.as_fd(), most);
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
