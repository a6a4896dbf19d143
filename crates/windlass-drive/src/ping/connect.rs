//! TCP handshakes, each on its own connection.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use windlass_sys::tcp_info::tcp_info;
use windlass_sys::wait::writable;

use super::{Kind, Prober, Trip, TripOutcome, in_words, is_of_the_path};
use crate::busy_poll::BusyPoll;
use crate::error::Error;
use crate::ip::Ip;

/// Time after which a SYN is retransmitted (RFC 6298 section 2; `TCP_TIMEOUT_INIT` in Linux).
const SYN_TIMEOUT: Duration = Duration::from_secs(1);

/// Prober that connects to one port again and again.
///
/// It times the handshake: from the call of `connect` until the system reports the result. A reset
/// then closes the connection. Neither end has to remember it (`TIME_WAIT`), and a small server can
/// accept the next one at once.
#[derive(Debug)]
pub struct Connect {
    to: SocketAddr,
    address: SockAddr,
    busy_poll: BusyPoll,
    ip: Ip,
}

impl Connect {
    /// Makes a prober for a port of a host. With `asleep` it sleeps while it waits, as most
    /// programs do, and each time includes the wake-up delay.
    pub fn new(to: SocketAddr, asleep: bool) -> Self {
        let busy_poll = if asleep { BusyPoll::never() } else { BusyPoll::default() };
        Self { to, address: to.into(), busy_poll, ip: Ip::default() }
    }

    /// Sets the options of its IP packets.
    #[must_use]
    pub fn with(mut self, ip: Ip) -> Self {
        self.ip = ip;
        self
    }

    fn open(&self) -> Result<Socket, Error> {
        let socket = self.socket().map_err(Error::io("cannot make a connection"))?;
        self.ip.set(&socket)?;
        self.ip.bind.apply(&socket, self.to)?;
        Ok(socket)
    }

    fn socket(&self) -> io::Result<Socket> {
        let kind = Type::STREAM.nonblocking();
        let socket = Socket::new(Domain::for_address(self.to), kind, Some(Protocol::TCP))?;
        socket.set_linger(Some(Duration::ZERO))?;
        Ok(socket)
    }

    /// Returns whether a connection is one to itself. If nothing listens, the system may give a
    /// socket the very port that it connects to (RFC 9293 section 3.5, simultaneous open).
    pub(super) fn is_to_itself(&self, socket: &Socket) -> bool {
        let own = socket.local_addr().ok().and_then(|address| address.as_socket());
        own.is_some_and(|own| own.ip() == self.to.ip() && own.port() == self.to.port())
    }
}

impl Prober for Connect {
    fn kind(&self) -> Kind {
        Kind::Connect
    }

    fn trip(&mut self, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Trip>, Error> {
        let socket = self.open()?;
        let attempt = || match socket.connect(&self.address) {
            Ok(()) => Ok(Some(Ok(()))),
            Err(error) => match error.raw_os_error() {
                // The handshake is in progress, or is over.
                Some(libc::EALREADY | libc::EINPROGRESS) => Ok(None),
                Some(libc::EISCONN) => Ok(Some(Ok(()))),
                _ if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                _ => Ok::<_, io::Error>(Some(Err(error))),
            },
        };
        let began = Instant::now();
        // The first call sends the SYN; a host that connects to itself has its answer at the
        // second.
        let at_once = match attempt() {
            Ok(None) => attempt(),
            over => over,
        };
        let failed = Error::io("cannot wait for a connection");
        let over = match at_once.map_err(&failed)? {
            Some(done) => Some((done, Instant::now())),
            None => {
                let sleep = |time| writable(socket.as_fd(), Some(time));
                let over = self.busy_poll.wait(began, began + timeout, stop, attempt, sleep);
                over.map_err(&failed)?
            }
        };
        let Some((done, at)) = over else {
            return Ok((!stop()).then(|| Trip::new(TripOutcome::Silent, began.elapsed())));
        };
        let time = at.saturating_duration_since(began);
        let outcome = match done {
            Ok(()) if self.is_to_itself(&socket) => TripOutcome::Refused,
            Ok(()) => TripOutcome::Answered,
            Err(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => TripOutcome::Refused,
                io::ErrorKind::TimedOut => TripOutcome::Silent,
                _ if is_of_the_path(&error) => {
                    TripOutcome::Unreachable { why: in_words(&error), by: None }
                }
                _ => return Err(Error::Connect { to: self.to.to_string(), source: error }),
            },
        };
        if outcome.is_answer() {
            self.busy_poll.took(time);
        }
        let resent = match outcome {
            // By then the kernel has forgotten what it sent, but it retransmits each SYN without an
            // answer in time.
            TripOutcome::Refused => time >= SYN_TIMEOUT,
            _ => tcp_info(&socket).is_ok_and(|info| info.retransmissions > 0),
        };
        Ok(Some(Trip { resent, ..Trip::new(outcome, time) }))
    }
}
