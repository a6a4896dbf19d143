//! What system calls have in common: how they fail, and what they give. Nothing here
//! allocates, so it serves between fork and exec, too.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::c_int;

/// What a call gave; the errno where that is -1.
pub(crate) fn checked<T: PartialEq + From<i8>>(result: T) -> io::Result<T> {
    if result == T::from(-1) { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes a call again as often as a signal interrupts it.
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Takes over the descriptor that a call gave.
///
/// # Safety
/// The call must have made it just now, so that nobody else has it.
pub(crate) unsafe fn owned(result: c_int) -> io::Result<OwnedFd> {
    // SAFETY: it is open, and the caller says that it has no other owner.
    checked(result).map(|file| unsafe { OwnedFd::from_raw_fd(file) })
}
