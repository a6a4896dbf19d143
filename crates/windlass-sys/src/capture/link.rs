//! State of the interface of a capture.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use super::{CaptureEvent, Interface};

/// State of an interface, as far as known.
///
/// The kernel tells a socket once that its interface went down. It says nothing when an interface
/// that is down is removed, so that has to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Link {
    /// The interface is up.
    #[default]
    Up,
    /// The interface went down at this time, which is not reported yet: earlier packets go first.
    Failed(Instant),
    /// The interface is down, which has been reported.
    Down,
    /// The interface is gone.
    Gone,
}

impl Link {
    /// Handles an error of the socket if it is about the interface.
    pub(super) fn hear(&mut self, error: io::Error) -> io::Result<()> {
        if error.raw_os_error() != Some(libc::ENETDOWN) {
            return Err(error);
        }
        *self = Self::Failed(Instant::now());
        Ok(())
    }

    /// Returns the state to report when no packet waits.
    pub(super) fn say(
        &mut self,
        socket: impl AsFd + Copy,
        interface: &Interface,
    ) -> CaptureEvent<'static> {
        if *self == Self::Up {
            return CaptureEvent::Nothing;
        }
        match (*self, interface.is_up(socket)) {
            (Self::Gone, _) | (_, Err(_)) => {
                *self = Self::Gone;
                CaptureEvent::Gone
            }
            (Self::Failed(_), Ok(_)) => {
                *self = Self::Down;
                CaptureEvent::Down
            }
            (_, Ok(true)) => {
                *self = Self::Up;
                CaptureEvent::Nothing
            }
            (_, Ok(false)) => CaptureEvent::Nothing,
        }
    }
}
