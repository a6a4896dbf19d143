//! A connection of a client: what comes is read into a buffer, and nothing is
//! waited for without end.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_spool_core::{Peer, Refusal, Requester, Right};
use windlass_sys::socket::is_pause;

use super::budget::Presence;
use super::busy_poll::BusyPoll;
use super::stream::{NoStream, Socket, Stream};
use super::tls::{Certificate, Encrypted};
use super::{Gate, Limits};

/// How long a read or a write waits before it is looked around.
const WAIT: Duration = Duration::from_millis(250);

/// After so long without a byte a connection is idle, whatever it is in the middle of.
const IDLE_AFTER: Duration = Duration::from_secs(60);

/// The time after which one that is idle looks again if it is to make room.
const LOOK: Duration = Duration::from_secs(2);

/// How long, and for how many bytes, it is waited for the client's end after the
/// last answer.
const PARTING: Duration = Duration::from_secs(2);
const MAX_PARTING: usize = 16 << 20;

/// How large the buffer is at first and at most: it grows where much comes.
const FIRST: usize = 16 << 10;
const MAX: usize = 256 << 10;

/// A connection of a client.
pub(super) struct Client {
    stream: Box<dyn Stream>,
    /// Who it is.
    pub(super) requester: Arc<Requester>,
    /// Whether TLS is spoken.
    pub(super) is_encrypted: bool,
    /// The last `Authorization` of a request that was right.
    pub(super) known: Option<Vec<u8>>,
    pub(super) gate: Arc<Gate>,
    /// What is borne of it: what held when it came.
    pub(super) limits: Limits,
    /// What the server was known by when it came, where TLS is spoken.
    pub(super) certificate: Option<Certificate>,
    presence: Arc<Presence>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    busy_poll: BusyPoll,
}

/// When something is to be done, whatever comes until then: a client that drips has
/// no more time than one that is silent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    /// None where no clock goes so far.
    end: Option<Instant>,
    given: Duration,
}

impl Deadline {
    /// So much from now on.
    pub(super) fn after(given: Duration, now: Instant) -> Self {
        Self { end: now.checked_add(given), given }
    }

    /// The one of both that comes first.
    pub(super) fn or_sooner(self, other: Self) -> Self {
        match (self.end, other.end) {
            (Some(own), Some(end)) if end < own => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }

    /// How much is left of it.
    fn left(&self, now: Instant) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(now))
    }

    fn look(&self, now: Instant) -> Result<(), Gone> {
        let is_over = self.end.is_some_and(|end| now >= end);
        if is_over { Err(Gone::Slow(self.given)) } else { Ok(()) }
    }
}

/// Why nothing more comes.
#[derive(Debug, thiserror::Error)]
pub(super) enum Gone {
    /// The client closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// It did nothing for too long.
    #[error("nothing came for {0:?}")]
    Silent(Duration),
    /// It did not come to an end for too long.
    #[error("it was not done within {0:?}")]
    Slow(Duration),
    /// It was idle, and others have its place.
    #[error("it was idle, and made room for others")]
    Crowded,
    /// The server ends.
    #[error("the server ends")]
    Ending,
    /// The connection failed.
    #[error("{0}")]
    Failed(io::Error),
}

/// Why what a client brings is not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum No {
    /// It does not come.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// It cannot be.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It may not.
    #[error("it may not {0} here")]
    Forbidden(Right),
    /// It is not what it should be, and why.
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

    /// Over anything. A read that has nothing for a while says so
    /// ([`io::ErrorKind::WouldBlock`]).
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

    /// Looks up anew what it may: the settings may have changed since its last request.
    pub(super) fn look_up_rights(&mut self) {
        let now = self.gate.requester(self.peer());
        if now != *self.requester {
            self.requester = Arc::new(now);
        }
    }

    /// Where it is.
    pub(super) fn peer(&self) -> Peer {
        self.requester.peer.clone()
    }

    /// What has come and was not used.
    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// So many bytes are used.
    pub(super) fn used(&mut self, bytes: usize) {
        self.start += bytes;
        if self.start >= self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// What is to be done within so long.
    pub(super) fn deadline(&self, given: Duration) -> Deadline {
        Deadline::after(given, self.gate.clock.now())
    }

    /// All that the client brought is safe: it may take the end of the connection for a
    /// yes. Until then that is reset, however this process ends.
    pub(super) fn settle(&mut self) {
        self.stream.set_reset_on_close(false);
    }

    /// Whether the time for something has passed.
    pub(super) fn is_over(&self, by: Deadline) -> bool {
        by.look(self.gate.clock.now()).is_err()
    }

    /// Reads more, within some time: for what has no other end.
    pub(super) fn fill(&mut self, patience: Duration) -> Result<(), Gone> {
        self.read_within(patience, self.deadline(Duration::MAX), IDLE_AFTER)
    }

    /// Reads more between two requests: nobody waits for that, and where others want its place
    /// the connection ends.
    pub(super) fn fill_between(&mut self) -> Result<(), Gone> {
        self.read_within(self.limits.idle, self.deadline(Duration::MAX), Duration::ZERO)
    }

    /// Reads more, within the patience. It is part of what is to be done by a deadline.
    pub(super) fn fill_by(&mut self, by: Deadline) -> Result<(), Gone> {
        self.read_within(self.limits.patience, by, IDLE_AFTER)
    }

    fn read_within(
        &mut self,
        patience: Duration,
        by: Deadline,
        idle_after: Duration,
    ) -> Result<(), Gone> {
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
    ) -> Result<(), Gone> {
        let began = self.gate.clock.now();
        by.look(began)?;
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            // Nobody keeps more in it than is used at once.
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
                Ok(0) => return Err(Gone::Closed),
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
                        return Err(Gone::Ending);
                    }
                    if self.end == 0 && self.buffer.len() > FIRST {
                        // Who says nothing for long needs no large buffer.
                        self.buffer = vec![0; FIRST];
                    }
                    if self.presence.leaves() {
                        return Err(Gone::Crowded);
                    }
                    let now = self.gate.clock.now();
                    by.look(now)?;
                    let silent = now.saturating_duration_since(began);
                    let left = patience.saturating_sub(silent);
                    if left.is_zero() {
                        return Err(Gone::Silent(patience));
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
                Err(error) => return Err(Gone::Failed(error)),
            }
        }
    }

    /// Speaks TLS from here on: what has come and was not used is its beginning. To agree
    /// on it may take so long.
    pub(super) fn start_tls(&mut self, given: Duration) -> Result<(), Gone> {
        let by = self.deadline(given);
        let stream = std::mem::replace(&mut self.stream, Box::new(NoStream)).into_tcp();
        let before = self.data().to_vec();
        self.used(before.len());
        let (Some(stream), Some(certificate)) = (stream, &self.certificate) else {
            return Err(Gone::Failed(io::ErrorKind::Unsupported.into()));
        };
        let mut encrypted = Encrypted::over(stream, certificate, before).map_err(Gone::Failed)?;
        loop {
            match encrypted.agree() {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) if is_pause(&error) => {
                    if self.gate.stops() {
                        return Err(Gone::Ending);
                    }
                }
                Err(error) => return Err(Gone::Failed(error)),
            }
            by.look(self.gate.clock.now())?;
        }
        self.stream = Box::new(encrypted);
        self.is_encrypted = true;
        Ok(())
    }

    /// Ends the connection so that the client can read the last answer: to close it
    /// while data waits unread would reset it, and the client would lose what it has
    /// not read. What still comes is thrown away, for a while.
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

    /// Writes all. It is to be taken within the patience as a whole: answers are
    /// short, and lists come in pages.
    pub(super) fn say(&mut self, mut bytes: &[u8]) -> Result<(), Gone> {
        let by = self.deadline(self.limits.patience);
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(Gone::Closed),
                Ok(done) => bytes = &bytes[done..],
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(Gone::Failed(error)),
            }
            if !bytes.is_empty() {
                by.look(self.gate.clock.now())?;
            }
        }
        // What TLS has taken is said when the kernel has it.
        loop {
            match self.stream.flush() {
                Ok(()) => return Ok(()),
                Err(error) if is_pause(&error) => by.look(self.gate.clock.now())?,
                Err(error) => return Err(Gone::Failed(error)),
            }
        }
    }
}

#[cfg(test)]
#[path = "drip_tests.rs"]
mod tests;
