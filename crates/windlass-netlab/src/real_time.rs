//! Shared parts of the loops that run simulated machines behind real interfaces.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Span, Timestamp};

/// Shortest interval of snapshots, so that they cost the loop little.
const SHORTEST: Span = Span::from_millis(10);

/// The clock of such a loop, from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// Starts a clock.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time.
    pub(crate) fn now(&self) -> Timestamp {
        let since = i64::try_from(self.0.elapsed().as_nanos());
        Timestamp::from_nanos(since.unwrap_or(i64::MAX))
    }

    /// Returns the instant of a time of this clock.
    pub(crate) fn instant(&self, time: Timestamp) -> Instant {
        let far = time.since(Timestamp::ZERO).as_nanos().max(0).unsigned_abs();
        self.0 + Duration::from_nanos(far)
    }
}

/// Sender of snapshots of such a loop to its attendant.
///
/// Snapshots that nobody takes are dropped. Each one has all counts since the start, and the loop
/// never waits.
#[derive(Debug)]
pub(crate) struct SnapshotSender<L> {
    every: Span,
    next: Timestamp,
    to: SyncSender<L>,
}

impl<L> SnapshotSender<L> {
    /// Returns a sender of snapshots at this interval, and their receiver.
    pub(crate) fn every(every: Span) -> (Self, Receiver<L>) {
        let (to, from) = sync_channel(1);
        let every = every.max(SHORTEST);
        (Self { every, next: Timestamp::ZERO + every, to }, from)
    }

    /// Returns the time at which the next snapshot is due.
    pub(crate) const fn due(&self) -> Timestamp {
        self.next
    }

    /// Sends a snapshot if one is due.
    pub(crate) fn look(&mut self, now: Timestamp, look: impl FnOnce() -> L) {
        if now < self.next {
            return;
        }
        // A late snapshot replaces the missed ones.
        self.next = (self.next + self.every).max(now);
        let _ = self.to.try_send(look());
    }
}

/// A loop in a thread of its own.
#[derive(Debug)]
pub(crate) struct Worker<T> {
    thread: JoinHandle<io::Result<T>>,
    stop: UnixStream,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a loop. It ends by itself, or when [`is_stopped`] is true for its socket.
    ///
    /// # Errors
    /// Fails if no thread can be created.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(UnixStream) -> io::Result<T> + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, told) = UnixStream::pair()?;
        told.set_nonblocking(true)?;
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(told))?;
        Ok(Self { thread, stop })
    }

    /// Returns whether the loop has ended by itself, which it does only after a failure.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stops the loop, and returns its result.
    ///
    /// # Errors
    /// Fails if the loop failed before.
    pub(crate) fn stop(mut self) -> io::Result<T> {
        // A thread that has ended does not read this, which is fine.
        let _ = self.stop.write_all(b"x");
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread broke off")))
    }
}

/// Becomes readable when the loop has ended.
impl<T> AsFd for Worker<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stop.as_fd()
    }
}

/// Returns whether the other end of `stop`, a non-blocking socket, asks to stop.
///
/// # Errors
/// Fails if the socket cannot be read.
pub(crate) fn is_stopped(mut stop: &UnixStream) -> io::Result<bool> {
    match stop.read(&mut [0]) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}
