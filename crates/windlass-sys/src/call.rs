//! How system calls fail. Nothing here allocates, so it serves between fork and exec,
//! too.

use std::io;

/// What a call gave; the errno where that is -1.
pub(crate) fn checked<T: PartialEq + From<i8>>(result: T) -> io::Result<T> {
    if result == T::from(-1) { Err(io::Error::last_os_error()) } else { Ok(result) }
}
