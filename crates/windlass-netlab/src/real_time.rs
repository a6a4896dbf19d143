//! What the loops share that put simulated machines behind real interfaces.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Span, Timestamp};

/// The shortest time between two looks: they must not be what the loop does.
const SHORTEST: Span = Span::from_millis(10);

/// The time of such a loop, from when it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// One that begins now.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        let since = i64::try_from(self.0.elapsed().as_nanos());
        Timestamp::from_nanos(since.unwrap_or(i64::MAX))
    }

    /// The instant at which it is so late.
    pub(crate) fn instant(&self, time: Timestamp) -> Instant {
        let far = time.since(Timestamp::ZERO).as_nanos().max(0).unsigned_abs();
        self.0 + Duration::from_nanos(far)
    }
}

/// Looks at such a loop, which it sends to whoever attends it.
///
/// Where nobody takes them they are dropped: each has all counts from the beginning, and the
/// loop waits for nobody.
#[derive(Debug)]
pub(crate) struct Looks<L> {
    every: Span,
    next: Timestamp,
    to: SyncSender<L>,
}

impl<L> Looks<L> {
    /// Looks at this interval, and where they come.
    pub(crate) fn every(every: Span) -> (Self, Receiver<L>) {
        let (to, from) = sync_channel(1);
        let every = every.max(SHORTEST);
        (Self { every, next: Timestamp::ZERO + every, to }, from)
    }

    /// When the next is due.
    pub(crate) const fn due(&self) -> Timestamp {
        self.next
    }

    /// Sends one, where it is due.
    pub(crate) fn look(&mut self, now: Timestamp, look: impl FnOnce() -> L) {
        if now < self.next {
            return;
        }
        // One that comes late is not followed by those that it passed.
        self.next = (self.next + self.every).max(now);
        let _ = self.to.try_send(look());
    }
}

/// Such a loop in a thread of its own.
#[derive(Debug)]
pub(crate) struct Worker<T> {
    thread: JoinHandle<io::Result<T>>,
    stop: UnixStream,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a loop. It ends by itself, or when [`is_stopped`] of what it gets.
    ///
    /// # Errors
    /// Where there is no thread to be had.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(UnixStream) -> io::Result<T> + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, told) = UnixStream::pair()?;
        told.set_nonblocking(true)?;
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(told))?;
        Ok(Self { thread, stop })
    }

    /// Whether it has ended by itself, which it does only where something fails.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it, and gives what came of it.
    ///
    /// # Errors
    /// What ended it before.
    pub(crate) fn stop(mut self) -> io::Result<T> {
        // Where the thread has ended nobody reads this, and that is fine.
        let _ = self.stop.write_all(b"x");
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread broke off")))
    }
}

/// It can be read from when the loop has ended.
impl<T> AsFd for Worker<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stop.as_fd()
    }
}

/// Whether the other end of `stop`, which does not block, asks to end.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn is_stopped(mut stop: &UnixStream) -> io::Result<bool> {
    match stop.read(&mut [0]) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}
