//! What the loops share that put simulated machines behind real interfaces.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::Timestamp;

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
