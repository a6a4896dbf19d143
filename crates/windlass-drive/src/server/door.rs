//! The window of connections to the server's port, from their handshake on.
//!
//! A receive window and its scale follow from the buffer that the listening socket has when the SYN
//! comes. All tests share one port, so a test that wants a window has the listener for itself until
//! its streams are open; tests that want none open theirs beside each other.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use socket2::SockRef;
use windlass_base::Bytes;
use windlass_sys::socket::{release_buffers, set_window_clamp};

use crate::error::Error;
use crate::socket::{Options, set_window};

/// Longest wait for other tests that open their streams, well below the time that a client waits for
/// its answer ([`crate::control::PATIENCE`]). After that a window is set when a stream has come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Largest window of TCP (RFC 7323, section 2.3), which limits nothing.
const NO_CLAMP: u64 = 65_535 << 14;

/// The listening socket of a server.
pub(crate) struct Door {
    listener: TcpListener,
    /// The system's own receive buffer, as the kernel counts it; `None` if the kernel cannot go back
    /// to it (before Linux 5.14).
    usual: Option<usize>,
    openings: Mutex<Openings>,
    freed: Condvar,
}

/// Tests that open their streams.
#[derive(Debug, Default)]
struct Openings {
    /// True if one of them has the listener for itself.
    is_narrow: bool,
    /// Number of the others.
    usual: usize,
}

impl Door {
    pub(super) fn of(listener: &TcpListener) -> io::Result<Self> {
        let listener = listener.try_clone()?;
        let usual = SockRef::from(&listener).recv_buffer_size()?;
        let usual = release_buffers(&listener).is_ok().then_some(usual);
        Ok(Self { listener, usual, openings: Mutex::default(), freed: Condvar::new() })
    }

    fn openings(&self) -> MutexGuard<'_, Openings> {
        self.openings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a test to open its streams. Until the result is dropped, connections
    /// have this window from their handshake on, or the system's own.
    pub(crate) fn turn(&self, window: Option<Bytes>) -> Turn<'_> {
        let window = window.filter(|_| self.usual.is_some());
        let others =
            |openings: &mut Openings| openings.is_narrow || window.is_some() && openings.usual > 0;
        let waited = self.freed.wait_timeout_while(self.openings(), PATIENCE, others);
        let (mut openings, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Turn { door: self, kind: TurnKind::Late };
        }
        let Some(window) = window else {
            openings.usual += 1;
            return Turn { door: self, kind: TurnKind::Usual };
        };
        openings.is_narrow = true;
        drop(openings);
        let turn = Turn { door: self, kind: TurnKind::Narrow };
        match set_window(&SockRef::from(&self.listener), window) {
            Ok(()) => turn,
            Err(_) => Turn { door: self, kind: TurnKind::Late },
        }
    }

    fn give_back(&self) -> io::Result<()> {
        let Some(usual) = self.usual else { return Ok(()) };
        set_window_clamp(&self.listener, NO_CLAMP)?;
        // The kernel doubles the size that is asked for.
        SockRef::from(&self.listener).set_recv_buffer_size(usual / 2)?;
        release_buffers(&self.listener)
    }
}

/// A test's turn to open its streams.
pub(crate) struct Turn<'a> {
    door: &'a Door,
    kind: TurnKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnKind {
    /// Connections have the system's own window.
    Usual,
    /// Connections have the window of the test.
    Narrow,
    /// The turn did not come in time, or the kernel did not take the window.
    Late,
}

impl Turn<'_> {
    /// Gives an accepted stream the options of its test. A window is there since the handshake, or
    /// is set now.
    pub(crate) fn prepare(&self, stream: &TcpStream, options: &Options) -> Result<(), Error> {
        match self.kind {
            TurnKind::Narrow => options.set_on_accepted(stream),
            TurnKind::Usual | TurnKind::Late => options.set_late(stream),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        match self.kind {
            TurnKind::Late => return,
            TurnKind::Usual => self.door.openings().usual -= 1,
            TurnKind::Narrow => {
                // The kernel took these options when the server began.
                let _ = self.door.give_back();
                self.door.openings().is_narrow = false;
            }
        }
        self.door.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::{connect, listen};
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
        let narrow = door.turn(Some(Bytes::new(20_000)));
        if narrow.kind != TurnKind::Narrow {
            return eprintln!(
                "skipped: only_connections_meanwhile_have_the_window: no SO_BUF_LOCK"
            );
        }
        let (mut near, mut far) = pair(&listener);
        assert!(first_window(&mut near, &mut far).is_none_or(|window| window <= 20_000));
        // Other tests wait, and then go on without a turn.
        let door = &door;
        std::thread::scope(|scope| {
            for window in [None, Some(Bytes::new(30_000))] {
                scope.spawn(move || assert_eq!(door.turn(window).kind, TurnKind::Late));
            }
        });
        drop(narrow);
        let usual = [door.turn(None), door.turn(None)];
        assert!(usual.iter().all(|turn| turn.kind == TurnKind::Usual));
        let (mut near, mut far) = pair(&listener);
        assert!(first_window(&mut near, &mut far).is_none_or(|window| window > 40_000));
        drop(usual);
        assert_eq!(door.turn(Some(Bytes::new(30_000))).kind, TurnKind::Narrow);
    }
}
