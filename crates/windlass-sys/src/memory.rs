//! Mapped memory, of a file or without one, which is unmapped with its value.

use std::io;
use std::ptr::{self, NonNull};

use libc::c_int;

#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) start: NonNull<u8>,
    pub(crate) length: usize,
}

// SAFETY: the memory belongs to this value alone, and no thread is tied to it.
unsafe impl Send for Memory {}
// SAFETY: as above; who writes to it sees to it that nobody else looks.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps this many bytes of a file, or of zeros with `MAP_ANONYMOUS` and -1.
    pub(crate) fn map(length: usize, access: c_int, how: c_int, file: c_int) -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses touches no
        // memory that is in use. It keeps the file open by itself.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, how, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no borrow of it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
