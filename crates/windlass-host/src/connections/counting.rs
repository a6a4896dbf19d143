//! Periodic looks at all connections, and reports on those that end, for sums by service and
//! subnet.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::sock_diag::{ClosedSockets, Socket, Sockets};
use windlass_sys::wait::ready;

use super::Error;
use super::groups::{Groups, Rules};

/// Maximum time between two looks. A connection that was reset counts as ended once two looks have
/// missed it.
const MOST_AGE: Duration = Duration::from_secs(30);

/// Minimum time between two reads of reports: a wake-up for each would cost more than reading it.
const NAP: Duration = Duration::from_millis(5);

/// Time between two checks for the end.
const POLL: Duration = Duration::from_millis(200);

/// Sums all TCP connections of this network namespace.
#[derive(Debug)]
pub struct ConnectionCounter {
    groups: Groups,
    sockets: Sockets,
    words: Option<ClosedSockets>,
    /// The reason why ends are not reported, if they are not.
    pub deaf: Option<String>,
    looked: Instant,
    /// Buffer for the sockets of a look, many megabytes.
    room: Vec<Socket>,
}

impl ConnectionCounter {
    /// Takes the first look.
    ///
    /// # Errors
    /// Fails if the kernel does not list its sockets. If it does not report closed ones,
    /// [`Self::deaf`] says why.
    pub fn open(rules: Rules) -> Result<Self, Error> {
        let sockets = Sockets::open().map_err(Error::Sockets)?;
        let (words, deaf) = match ClosedSockets::open() {
            Ok(words) => (Some(words), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let groups = Groups::new(rules);
        let looked = Instant::now();
        let mut counting = Self { groups, sockets, words, deaf, looked, room: Vec::new() };
        counting.look()?;
        Ok(counting)
    }

    /// Takes a look, unless the last one is recent enough.
    ///
    /// # Errors
    /// Fails if the kernel stops answering.
    fn look_after(&mut self, age: Duration) -> Result<(), Error> {
        if self.looked.elapsed() < age {
            return self.hear();
        }
        self.look()
    }

    fn look(&mut self) -> Result<(), Error> {
        let mut sockets = std::mem::take(&mut self.room);
        sockets.clear();
        self.sockets.tcp(&mut |socket| sockets.push(socket)).map_err(Error::Sockets)?;
        self.groups.look(&sockets);
        self.room = sockets;
        self.looked = Instant::now();
        // A connection that ended meanwhile was seen before its report.
        self.hear()
    }

    /// Reads the reports on ended connections, without waiting.
    ///
    /// # Errors
    /// Fails if the kernel stops answering.
    fn hear(&mut self) -> Result<(), Error> {
        let Some(words) = &mut self.words else { return Ok(()) };
        let groups = &mut self.groups;
        let heard = words.read(&mut |socket| groups.end(&socket)).map_err(Error::LastWords)?;
        self.groups.miss(heard.lost);
        Ok(())
    }

    /// Runs `work` while a thread reads reports, and takes a look if nobody asked for long. A
    /// failure sets `stop`, and so may the caller to end both.
    ///
    /// # Errors
    /// Fails if the kernel stops answering.
    pub fn beside<T>(
        self,
        stop: &AtomicBool,
        work: impl FnOnce(&SharedCounter) -> T,
    ) -> Result<T, Error> {
        let words = self.words.as_ref().map(|words| words.as_fd().try_clone_to_owned());
        let words = words.transpose().map_err(Error::LastWords)?;
        let shared = SharedCounter(Mutex::new(self));
        thread::scope(|scope| {
            let listening = scope.spawn(|| {
                let done = shared.listen(words.as_ref(), stop);
                if done.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                done
            });
            let worked = work(&shared);
            stop.store(true, Ordering::Relaxed);
            match listening.join() {
                Ok(done) => done.map(|()| worked),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

/// Sums that several threads share.
#[derive(Debug)]
pub struct SharedCounter(Mutex<ConnectionCounter>);

impl SharedCounter {
    fn locked(&self) -> MutexGuard<'_, ConnectionCounter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `of` with sums that are at most this old.
    ///
    /// # Errors
    /// Fails if the kernel stops answering.
    pub fn groups<T>(&self, age: Duration, of: impl FnOnce(&Groups) -> T) -> Result<T, Error> {
        let mut counting = self.locked();
        counting.look_after(age)?;
        Ok(of(&counting.groups))
    }

    fn listen(&self, words: Option<&OwnedFd>, stop: &AtomicBool) -> Result<(), Error> {
        while !stop.load(Ordering::Relaxed) {
            let is_heard = wait(words)?;
            self.locked().look_after(MOST_AGE)?;
            if is_heard {
                thread::sleep(NAP);
            }
        }
        Ok(())
    }
}

/// Waits a while for the end of a connection. Returns whether there was one. Without reports it
/// only sleeps.
fn wait(words: Option<&OwnedFd>) -> Result<bool, Error> {
    let Some(words) = words else {
        thread::sleep(POLL);
        return Ok(false);
    };
    match ready(&[words.as_fd()], Some(POLL)) {
        // A signal came: the caller checks whether it is to end.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        heard => heard.map_err(Error::LastWords),
    }
}
