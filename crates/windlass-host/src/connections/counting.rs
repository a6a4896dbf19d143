//! Looks at all connections now and then, and hears of those that end, for sums by service and
//! subnet.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::sock_diag::{LastWords, Socket, Sockets};
use windlass_sys::wait::ready;

use super::Error;
use super::groups::{Groups, Rules};

/// Without anybody who asks it looks so often: a connection that is reset is known to have ended
/// when it was missed twice.
const MOST_AGE: Duration = Duration::from_secs(30);

/// Last words are read so often at the most: a wake for each would cost more than it reads.
const NAP: Duration = Duration::from_millis(5);

/// Time from one look for an end to the next.
const POLL: Duration = Duration::from_millis(200);

/// Sums all TCP connections of this network namespace.
#[derive(Debug)]
pub struct Counting {
    groups: Groups,
    sockets: Sockets,
    words: Option<LastWords>,
    /// The reason why ends are not heard, where they are not.
    pub deaf: Option<String>,
    looked: Instant,
    /// Room for what a look finds, which is many megabytes.
    room: Vec<Socket>,
}

impl Counting {
    /// Takes the first look.
    ///
    /// # Errors
    /// Fails where the kernel does not tell of its sockets. Where it does not tell of those that
    /// end, [`Self::deaf`] says why.
    pub fn open(rules: Rules) -> Result<Self, Error> {
        let sockets = Sockets::open().map_err(Error::Sockets)?;
        let (words, deaf) = match LastWords::open() {
            Ok(words) => (Some(words), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let groups = Groups::new(rules);
        let looked = Instant::now();
        let mut counting = Self { groups, sockets, words, deaf, looked, room: Vec::new() };
        counting.look()?;
        Ok(counting)
    }

    /// Takes a look, unless the last is not so old.
    ///
    /// # Errors
    /// Fails where the kernel tells no more.
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
        // One that ended meanwhile was seen before it is heard of.
        self.hear()
    }

    /// Hears of those that ended, without waiting.
    ///
    /// # Errors
    /// Fails where the kernel tells no more.
    fn hear(&mut self) -> Result<(), Error> {
        let Some(words) = &mut self.words else { return Ok(()) };
        let groups = &mut self.groups;
        let heard = words.read(&mut |socket| groups.end(&socket)).map_err(Error::LastWords)?;
        self.groups.miss(heard.lost);
        Ok(())
    }

    /// Does something while a thread hears of connections that end, and looks where nobody asks
    /// for long. Where that fails, `stop` is set, and so is it by who wants an end.
    ///
    /// # Errors
    /// Fails where the kernel tells no more.
    pub fn beside<T>(self, stop: &AtomicBool, work: impl FnOnce(&Shared) -> T) -> Result<T, Error> {
        let words = self.words.as_ref().map(|words| words.as_fd().try_clone_to_owned());
        let words = words.transpose().map_err(Error::LastWords)?;
        let shared = Shared(Mutex::new(self));
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

/// Sums that several threads ask for.
#[derive(Debug)]
pub struct Shared(Mutex<Counting>);

impl Shared {
    fn locked(&self) -> MutexGuard<'_, Counting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes something of the sums, which are no older than this.
    ///
    /// # Errors
    /// Fails where the kernel tells no more.
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

/// Waits until a connection has ended, or for a while; whether one has. Where ends are not heard,
/// it waits for nothing.
fn wait(words: Option<&OwnedFd>) -> Result<bool, Error> {
    let Some(words) = words else {
        thread::sleep(POLL);
        return Ok(false);
    };
    match ready(&[words.as_fd()], Some(POLL)) {
        // A signal: whoever waits looks whether it is to end.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        heard => heard.map_err(Error::LastWords),
    }
}
