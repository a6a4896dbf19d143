//! What the loops share that put simulated machines behind real interfaces.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
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
