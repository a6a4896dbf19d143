//! The window of connections to the server's port, from their handshake on.
//!
//! A receive window follows from the buffer that the listening socket has when the SYN comes: the
//! first window is in the SYN-ACK. All tests share one port, so a test that wants a window has the
//! listener for itself until its streams are open. Streams of other tests that come meanwhile get
//! the system's own buffer back.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use socket2::SockRef;
use windlass_base::Bytes;
use windlass_sys::socket::{has_set_receive_buffer, release_buffers, set_window_clamp};

use crate::error::Error;
use crate::socket::set_window;

/// Longest wait for another test that opens its streams. After that the window is set when a stream
/// has come.
const PATIENCE: Duration = Duration::from_secs(2);

/// Largest window of TCP (RFC 7323, section 2.3), which limits nothing.
const NO_CLAMP: u64 = 65_535 << 14;

/// The listening socket of a server.
pub(crate) struct Door {
    listener: TcpListener,
    /// The system's own receive buffer, as the kernel counts it; `None` if the kernel cannot go back
    /// to it (before Linux 5.14).
    usual: Option<usize>,
    is_taken: Mutex<bool>,
    freed: Condvar,
}

impl Door {
    pub(super) fn of(listener: &TcpListener) -> io::Result<Self> {
        let listener = listener.try_clone()?;
        let usual = SockRef::from(&listener).recv_buffer_size()?;
        let usual = release_buffers(&listener).is_ok().then_some(usual);
        Ok(Self { listener, usual, is_taken: Mutex::default(), freed: Condvar::new() })
    }

    fn is_taken(&self) -> MutexGuard<'_, bool> {
        self.is_taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives connections from here on this window, until the result is dropped. Returns `None` if
    /// they cannot have it from the handshake on.
    pub(crate) fn narrow(&self, window: Bytes) -> Option<NarrowDoor<'_>> {
        self.usual?;
        let is_taken = |taken: &mut bool| *taken;
        let (mut taken, waited) = self
            .freed
            .wait_timeout_while(self.is_taken(), PATIENCE, is_taken)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        *taken = true;
        let narrow = NarrowDoor(self);
        drop(taken);
        set_window(&SockRef::from(&self.listener), window).ok().map(|()| narrow)
    }

    /// Lets the system size the buffer of a stream that came while another test had a window.
    pub(crate) fn widen(&self, stream: &TcpStream) -> Result<(), Error> {
        if !has_set_receive_buffer(stream).unwrap_or(false) {
            return Ok(());
        }
        self.give_back(stream).map_err(Error::io("cannot give a stream its own buffer"))
    }

    fn give_back(&self, socket: &impl AsFd) -> io::Result<()> {
        let Some(usual) = self.usual else { return Ok(()) };
        set_window_clamp(socket, NO_CLAMP)?;
        // The kernel doubles the size that is asked for.
        SockRef::from(socket).set_recv_buffer_size(usual / 2)?;
        release_buffers(socket)
    }
}

/// A port whose connections get a window.
pub(crate) struct NarrowDoor<'a>(&'a Door);

impl Drop for NarrowDoor<'_> {
    fn drop(&mut self) {
        // A stream with a wrong buffer is put right when it has come.
        let _ = self.0.give_back(&self.0.listener);
        *self.0.is_taken() = false;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::{Options, connect, listen};
    use std::io::{Read as _, Write as _};
    use windlass_sys::tcp_info::tcp_info;

    /// Returns a connection's ends.
    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let near = connect(listener.local_addr().unwrap(), &Options::default()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    /// Returns the window that the other end offers at first.
    fn first_window(near: &mut TcpStream, far: &mut TcpStream) -> Option<u32> {
        near.write_all(b"a").unwrap();
        far.read_exact(&mut [0]).unwrap();
        tcp_info(near).unwrap().peer_window
    }

    #[test]
    fn only_connections_meanwhile_have_the_window() {
        let listener = listen("127.0.0.1:0".parse().unwrap(), &Options::default()).unwrap();
        let door = Door::of(&listener).unwrap();
        let narrow = door.narrow(Bytes::new(20_000));
        if narrow.is_none() {
            return eprintln!(
                "skipped: only_connections_meanwhile_have_the_window: no SO_BUF_LOCK"
            );
        }
        let (mut near, mut far) = pair(&listener);
        assert!(first_window(&mut near, &mut far).is_none_or(|window| window <= 20_000));
        assert!(has_set_receive_buffer(&far).unwrap());
        // Another test waits for its turn, and goes on without.
        assert!(door.narrow(Bytes::new(30_000)).is_none());
        door.widen(&far).unwrap();
        assert!(!has_set_receive_buffer(&far).unwrap());
        drop(narrow);
        let (mut near, mut far) = pair(&listener);
        assert!(!has_set_receive_buffer(&far).unwrap());
        assert!(first_window(&mut near, &mut far).is_none_or(|window| window > 40_000));
        assert!(door.narrow(Bytes::new(30_000)).is_some());
    }
}
