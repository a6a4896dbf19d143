//! Whether there is still an interface to capture on.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use super::{Interface, Next};

/// What is known of it.
///
/// The kernel tells a socket once that its interface went down. It tells
/// nothing when an interface that is down goes away. So that has to be asked
/// for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Link {
    /// It is there.
    #[default]
    Up,
    /// It went down, at this time, and that has not been said yet: what came
    /// before goes first.
    Failed(Instant),
    /// It is down, and that has been said.
    Down,
    /// It is not there any more.
    Gone,
}

impl Link {
    /// Takes in an error of the socket, where it is about the interface.
    pub(super) fn hear(&mut self, error: io::Error) -> io::Result<()> {
        if error.raw_os_error() != Some(libc::ENETDOWN) {
            return Err(error);
        }
        *self = Self::Failed(Instant::now());
        Ok(())
    }

    /// What to say where no packet waits.
    pub(super) fn say(&mut self, socket: impl AsFd + Copy, interface: &Interface) -> Next<'static> {
        if *self == Self::Up {
            return Next::Nothing;
        }
        match (*self, interface.is_up(socket)) {
            (Self::Gone, _) | (_, Err(_)) => {
                *self = Self::Gone;
                Next::Gone
            }
            (Self::Failed(_), Ok(_)) => {
                *self = Self::Down;
                Next::Down
            }
            (_, Ok(true)) => {
                *self = Self::Up;
                Next::Nothing
            }
            (_, Ok(false)) => Next::Nothing,
        }
    }
}
