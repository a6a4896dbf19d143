//! Looks at all connections now and then, and hears of those that end, for sums by service and
//! subnet.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::sock_diag::{LastWords, Socket, Sockets};
use windlass_sys::wait::ready;

use super::Error;
use super::groups::{Groups, Rules};

/// Waits for connections that end.
#[derive(Debug)]
pub struct Ends(Option<OwnedFd>);

impl Ends {
    /// Waits until one has ended, or for so long; whether one has. Where ends are not heard, it
    /// waits for nothing.
    ///
    /// # Errors
    /// Where the kernel's last words cannot be waited for.
    pub fn wait(&self, within: Duration) -> Result<bool, Error> {
        let Some(words) = &self.0 else {
            thread::sleep(within);
            return Ok(false);
        };
        match ready(&[words.as_fd()], Some(within)) {
            // A signal: whoever waits looks whether it is to end.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            heard => heard.map_err(Error::LastWords),
        }
    }
}

/// Sums all TCP connections of this network namespace.
#[derive(Debug)]
pub struct Counting {
    groups: Groups,
    sockets: Sockets,
    words: Option<LastWords>,
    /// Why ends are not heard, where they are not.
    pub deaf: Option<String>,
    looked: Instant,
    /// Room for what a look finds, which is many megabytes.
    room: Vec<Socket>,
}

impl Counting {
    /// Takes the first look.
    ///
    /// # Errors
    /// Where the kernel does not tell of its sockets. Where it does not tell of those that end,
    /// [`Self::deaf`] says why.
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
    /// Where the kernel tells no more.
    pub fn look_after(&mut self, age: Duration) -> Result<(), Error> {
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
    /// Where the kernel tells no more.
    pub fn hear(&mut self) -> Result<(), Error> {
        let Some(words) = &mut self.words else { return Ok(()) };
        let groups = &mut self.groups;
        let heard = words.read(&mut |socket| groups.end(&socket)).map_err(Error::LastWords)?;
        self.groups.miss(heard.lost);
        Ok(())
    }

    /// What waits for connections that end, while others use the sums.
    ///
    /// # Errors
    /// Where there is no file left for it.
    pub fn ends(&self) -> io::Result<Ends> {
        let words = self.words.as_ref();
        Ok(Ends(words.map(|words| words.as_fd().try_clone_to_owned()).transpose()?))
    }

    /// The sums.
    pub const fn groups(&self) -> &Groups {
        &self.groups
    }
}
