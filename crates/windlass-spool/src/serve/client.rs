//! A connection of a client: data is read into a buffer, and every wait is limited.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_spool_core::{Peer, Refusal, Requester, Right};
use windlass_sys::socket::is_pause;

use super::budget::Presence;
use super::busy_poll::BusyPoll;
use super::stream::{NoStream, Socket, Stream};
use super::tls::{Certificate, TlsStream};
use super::{Gate, Limits};

/// Maximum time of a single read or write, after which deadlines are checked.
const WAIT: Duration = Duration::from_millis(250);

/// Time without data after which a connection is idle, whatever it is doing.
const IDLE_AFTER: Duration = Duration::from_secs(60);

/// Interval at which an idle connection checks whether it must make room.
const LOOK: Duration = Duration::from_secs(2);

/// Maximum time, and maximum number of bytes, of the wait for the client's end after the last
/// answer.
const PARTING: Duration = Duration::from_secs(2);
const MAX_PARTING: usize = 16 << 20;

/// Size of the buffer in bytes, at first and at most: it grows with the data.
const FIRST: usize = 16 << 10;
const MAX: usize = 256 << 10;

/// A connection of a client.
pub(super) struct Client {
    stream: Box<dyn Stream>,
    /// User and rights of the client.
    pub(super) requester: Arc<Requester>,
    /// True if the connection uses TLS.
    pub(super) is_encrypted: bool,
    /// Last `Authorization` header with a right password.
    pub(super) known: Option<Vec<u8>>,
    pub(super) gate: Arc<Gate>,
    /// Resource limits at the time of the connection.
    pub(super) limits: Limits,
    /// TLS certificate at the time of the connection; `None`: no TLS.
    pub(super) certificate: Option<Certificate>,
    presence: Arc<Presence>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    busy_poll: BusyPoll,
}

/// Deadline of an action, whatever data arrives before: a client that sends byte by byte has no
/// more time than a silent one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    /// End; `None` if it exceeds the clock.
    end: Option<Instant>,
    given: Duration,
}

impl Deadline {
    /// Creates a deadline after the time `given`.
    pub(super) fn after(given: Duration, now: Instant) -> Self {
        Self { end: now.checked_add(given), given }
    }

    /// Returns the earlier of both deadlines.
    pub(super) fn or_sooner(self, other: Self) -> Self {
        match (self.end, other.end) {
            (Some(own), Some(end)) if end < own => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }

    /// Returns the remaining time.
    fn left(&self, now: Instant) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(now))
    }

    fn look(&self, now: Instant) -> Result<(), ConnectionEnd> {
        let is_over = self.end.is_some_and(|end| now >= end);
        if is_over { Err(ConnectionEnd::Slow(self.given)) } else { Ok(()) }
    }
}

/// Reasons for the end of a client's data.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionEnd {
    /// The client closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// The client sent nothing for too long.
    #[error("no data for {0:?}")]
    Silent(Duration),
    /// The client exceeded a deadline.
    #[error("not finished within {0:?}")]
    Slow(Duration),
    /// The client was idle, and another has its seat.
    #[error("it was idle, and was closed to make room for others")]
    Crowded,
    /// The server ends.
    #[error("the server ends")]
    Ending,
    /// The connection failed.
    #[error("{0}")]
    Failed(io::Error),
}

/// Reasons for refusing a client's data.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReceiveError {
    /// The data does not arrive.
    #[error(transparent)]
    Gone(#[from] ConnectionEnd),
    /// The spool refuses the data.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The client lacks a right.
    #[error("it may not {0} here")]
    Forbidden(Right),
    /// The data is invalid, for this reason.
    #[error("{0}")]
    Garbled(String),
}

impl Client {
    pub(super) fn new(
        socket: Socket,
        peer: Peer,
        gate: Arc<Gate>,
        presence: Arc<Presence>,
    ) -> io::Result<Self> {
        let stream: Box<dyn Stream> = match socket {
            Socket::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(WAIT))?;
                stream.set_write_timeout(Some(WAIT))?;
                Box::new(stream)
            }
            Socket::Unix(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(WAIT))?;
                stream.set_write_timeout(Some(WAIT))?;
                Box::new(stream)
            }
        };
        Ok(Self { presence, ..Self::over(stream, peer, gate) })
    }

    /// Creates a client over any transport. A read without data for a while returns
    /// [`io::ErrorKind::WouldBlock`].
    pub(super) fn over(stream: Box<dyn Stream>, peer: Peer, gate: Arc<Gate>) -> Self {
        let requester = Arc::new(gate.requester(peer));
        let terms = gate.policy();
        let (buffer, busy_poll) = (vec![0; FIRST], BusyPoll::default());
        Self {
            stream,
            requester,
            is_encrypted: false,
            known: None,
            gate,
            limits: terms.limits,
            certificate: terms.certificate.clone(),
            presence: Arc::default(),
            buffer,
            start: 0,
            end: 0,
            busy_poll,
        }
    }

    /// Updates the client's rights: the settings may have changed since its last request.
    pub(super) fn look_up_rights(&mut self) {
        let now = self.gate.requester(self.peer());
        if now != *self.requester {
            self.requester = Arc::new(now);
        }
    }

    /// Returns the client's address or user.
    pub(super) fn peer(&self) -> Peer {
        self.requester.peer.clone()
    }

    /// Returns the received data that is not used yet.
    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Marks bytes as used.
    pub(super) fn used(&mut self, bytes: usize) {
        self.start += bytes;
        if self.start >= self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Returns the deadline after the time `given`.
    pub(super) fn deadline(&self, given: Duration) -> Deadline {
        Deadline::after(given, self.gate.clock.now())
    }

    /// Lets the connection end regularly, because all of the client's data is safe: the client may
    /// take that end for a success. Until then the connection ends with a reset, however this
    /// process ends.
    pub(super) fn settle(&mut self) {
        self.stream.set_reset_on_close(false);
    }

    /// Returns whether a deadline has passed.
    pub(super) fn is_over(&self, by: Deadline) -> bool {
        by.look(self.gate.clock.now()).is_err()
    }

    /// Reads more data within `patience`, without a deadline.
    pub(super) fn fill(&mut self, patience: Duration) -> Result<(), ConnectionEnd> {
        self.read_within(patience, self.deadline(Duration::MAX), IDLE_AFTER)
    }

    /// Reads more data between two requests. Nobody waits for that, so the connection ends if
    /// another needs its seat.
    pub(super) fn fill_between(&mut self) -> Result<(), ConnectionEnd> {
        self.read_within(self.limits.idle, self.deadline(Duration::MAX), Duration::ZERO)
    }

    /// Reads more data within the limit of silence, and by the deadline of the whole action.
    pub(super) fn fill_by(&mut self, by: Deadline) -> Result<(), ConnectionEnd> {
        self.read_within(self.limits.patience, by, IDLE_AFTER)
    }

    fn read_within(
        &mut self,
        patience: Duration,
        by: Deadline,
        idle_after: Duration,
    ) -> Result<(), ConnectionEnd> {
        let mut is_idle = false;
        let read = self.read_or_idle(patience, by, idle_after, &mut is_idle);
        if is_idle {
            self.presence.set_idle(None);
        }
        read
    }

    fn read_or_idle(
        &mut self,
        patience: Duration,
        by: Deadline,
        idle_after: Duration,
        is_idle: &mut bool,
    ) -> Result<(), ConnectionEnd> {
        let began = self.gate.clock.now();
        by.look(began)?;
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            // No caller keeps more in the buffer than it uses at once.
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let since = Instant::now();
        let room = &mut self.buffer[self.end..];
        let stream = &mut self.stream;
        let mut found =
            self.busy_poll.poll(&self.gate.pollers, || stream.read_now(room)).transpose();
        loop {
            let got =
                found.take().unwrap_or_else(|| self.stream.read(&mut self.buffer[self.end..]));
            match got {
                Ok(0) => return Err(ConnectionEnd::Closed),
                Ok(got) => {
                    self.busy_poll.took(since.elapsed());
                    let was_full = self.end + got == self.buffer.len();
                    self.end += got;
                    if was_full && self.buffer.len() < MAX {
                        self.buffer.resize(self.buffer.len() * 2, 0);
                    }
                    return Ok(());
                }
                Err(error) if is_pause(&error) => {
                    if self.gate.stops() {
                        return Err(ConnectionEnd::Ending);
                    }
                    if self.end == 0 && self.buffer.len() > FIRST {
                        // A silent client needs no large buffer.
                        self.buffer = vec![0; FIRST];
                    }
                    if self.presence.leaves() {
                        return Err(ConnectionEnd::Crowded);
                    }
                    let now = self.gate.clock.now();
                    by.look(now)?;
                    let silent = now.saturating_duration_since(began);
                    let left = patience.saturating_sub(silent);
                    if left.is_zero() {
                        return Err(ConnectionEnd::Silent(patience));
                    }
                    let until_idle = idle_after.saturating_sub(silent);
                    if until_idle.is_zero() && !*is_idle {
                        *is_idle = true;
                        self.presence.set_idle(Some(began));
                    }
                    let look = if *is_idle { LOOK } else { until_idle };
                    let wait = left.min(by.left(now)).min(look);
                    self.stream.sleep(&self.gate.stop_signal, wait);
                }
                Err(error) => return Err(ConnectionEnd::Failed(error)),
            }
        }
    }

    /// Switches to TLS: unused data is the beginning of the handshake, which may take the time
    /// `given`.
    pub(super) fn start_tls(&mut self, given: Duration) -> Result<(), ConnectionEnd> {
        let by = self.deadline(given);
        let stream = std::mem::replace(&mut self.stream, Box::new(NoStream)).into_tcp();
        let before = self.data().to_vec();
        self.used(before.len());
        let (Some(stream), Some(certificate)) = (stream, &self.certificate) else {
            return Err(ConnectionEnd::Failed(io::ErrorKind::Unsupported.into()));
        };
        let mut encrypted =
            TlsStream::over(stream, certificate, before).map_err(ConnectionEnd::Failed)?;
        loop {
            match encrypted.agree() {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) if is_pause(&error) => {
                    if self.gate.stops() {
                        return Err(ConnectionEnd::Ending);
                    }
                }
                Err(error) => return Err(ConnectionEnd::Failed(error)),
            }
            by.look(self.gate.clock.now())?;
        }
        self.stream = Box::new(encrypted);
        self.is_encrypted = true;
        Ok(())
    }

    /// Ends the connection so that the client can read the last answer. Closing it with unread data
    /// would reset it, and the client would lose the answer. Further data is discarded for a while.
    pub(super) fn part(mut self) {
        self.stream.end();
        let by = self.deadline(PARTING);
        let mut left = MAX_PARTING;
        while by.look(self.gate.clock.now()).is_ok() && left > 0 && !self.gate.stops() {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => return,
                Ok(got) => left = left.saturating_sub(got),
                Err(error) if is_pause(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// Writes all bytes, within the limit of silence as a whole: answers are short, and lists are
    /// sent in pages.
    pub(super) fn say(&mut self, mut bytes: &[u8]) -> Result<(), ConnectionEnd> {
        let by = self.deadline(self.limits.patience);
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(ConnectionEnd::Closed),
                Ok(done) => bytes = &bytes[done..],
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(ConnectionEnd::Failed(error)),
            }
            if !bytes.is_empty() {
                by.look(self.gate.clock.now())?;
            }
        }
        // Data in the TLS buffer counts as sent once the kernel has it.
        loop {
            match self.stream.flush() {
                Ok(()) => return Ok(()),
                Err(error) if is_pause(&error) => by.look(self.gate.clock.now())?,
                Err(error) => return Err(ConnectionEnd::Failed(error)),
            }
        }
    }
}

#[cfg(test)]
#[path = "drip_tests.rs"]
mod tests;
