//! Errors of system calls. Nothing here allocates, so the code may run between fork and exec.

use std::io;

/// Returns the result of a call; the errno if the result is -1.
pub(crate) fn checked<T: PartialEq + From<i8>>(result: T) -> io::Result<T> {
    if result == T::from(-1) { Err(io::Error::last_os_error()) } else { Ok(result) }
}
