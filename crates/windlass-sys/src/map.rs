//! A file in memory.
//!
//! A [`Mapping`] shows a regular file as bytes, without a copy. Its pages are fetched and released
//! in windows, so a long file takes little memory.
//!
//! A mapped file can lose pages while it is read: somebody truncates it, or its disk fails. The
//! kernel then sends SIGBUS to any thread that touches a lost page, which ends a program. Here
//! zeros replace everything from that page on, and [`Mapping::lost`] tells where they begin. The
//! reader must check that before it believes the bytes.
//!
//! ```
//! use windlass_sys::map::Mapping;
//!
//! let path = std::env::temp_dir().join("windlass-sys-example");
//! std::fs::write(&path, b"some bytes").unwrap();
//! let map = Mapping::of(&std::fs::File::open(&path).unwrap()).unwrap();
//! assert_eq!(map.bytes(), b"some bytes");
//! assert_eq!(map.lost(), None);
//! # std::fs::remove_file(&path).unwrap();
//! ```

mod fault;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::slice;

use libc::{c_int, c_void};

use self::fault::{Slot, page_size};
use crate::call::checked;
use crate::memory::Memory;

/// Bytes that the kernel reads at once from any disk, unless its read-ahead is set lower
/// (`force_page_cache_ra` in `mm/readahead.c`).
const MIN_READ: usize = 128 << 10;

/// A regular file in memory, read-only.
///
/// Others may write to the file meanwhile. The bytes are then old or new, and may differ at a
/// second look. The language promises nothing for that. A reader should copy a value, check the
/// copy and use it, and never take unchecked bytes for text or a type (decision 6).
#[derive(Debug)]
pub struct Mapping {
    memory: Memory,
    slot: &'static Slot,
}

impl Mapping {
    /// Maps the whole of a file as it is now, without later additions.
    ///
    /// # Errors
    /// Fails if the file is empty, too large for the address space, no regular file, or on a file
    /// system that cannot map. The file can still be read.
    pub fn of(file: &File) -> io::Result<Self> {
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let length = usize::try_from(about.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        fault::install()?;
        let memory = Memory::map(length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd())?;
        let slot = Slot::claim(memory.start.as_ptr() as usize, length);
        let map = Self { memory, slot: slot.ok_or(io::ErrorKind::OutOfMemory)? };
        // Read ahead further, and keep no page for a second look.
        let _ = map.advise(0..length, libc::MADV_SEQUENTIAL);
        Ok(map)
    }

    /// Returns the bytes of the file. Reading bytes that were not populated waits for the disk.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped there until `self` is dropped, from
        // the file or as zeros in its place, and nothing here writes to them.
        unsafe { slice::from_raw_parts(self.memory.start.as_ptr(), self.memory.length) }
    }

    /// Returns the offset in bytes at which zeros replace lost pages. `None` means that everything
    /// read until now was there.
    ///
    /// A truncated file may show zeros without this, from its new end to the end of that page: its
    /// size tells.
    #[inline]
    pub fn lost(&self) -> Option<usize> {
        self.slot.lost()
    }

    /// Asks the kernel to read a part of the file soon, without waiting for it.
    pub fn prefetch(&self, part: Range<usize>) {
        // The kernel reads the start of the requested part, and no more at a time than the disk
        // takes at once.
        let end = part.end.min(self.memory.length);
        for start in (part.start..end).step_by(MIN_READ) {
            let _ = self.advise(start..end.min(start + MIN_READ), libc::MADV_WILLNEED);
        }
    }

    /// Fetches a part of the file, so that it can be read quickly. Waits for the disk. If the fetch
    /// fails, reading the part will show why.
    pub fn populate(&self, part: Range<usize>) {
        let done = self.advise(part.clone(), libc::MADV_POPULATE_READ);
        if done.is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL)) {
            self.touch(part);
        }
    }

    /// Fetches a part by reading it, as kernels before 5.14 need.
    fn touch(&self, part: Range<usize>) {
        self.prefetch(part.clone());
        let end = part.end.min(self.memory.length);
        for place in (part.start..end).step_by(page_size()) {
            // SAFETY: the byte is within the mapping. The read must happen
            // although nobody wants its value, hence volatile.
            unsafe { self.memory.start.as_ptr().add(place).read_volatile() };
        }
    }

    /// Releases the memory of the pages that end in this part. Their bytes stay readable, at the
    /// price of fetching them again.
    pub fn release(&self, part: Range<usize>) {
        let end = part.end / page_size() * page_size();
        let _ = self.advise(part.start..end, libc::MADV_DONTNEED);
    }

    /// Advises the kernel about the pages of `part`.
    fn advise(&self, part: Range<usize>, advice: c_int) -> io::Result<()> {
        let start = part.start / page_size() * page_size();
        let end = part.end.min(self.memory.length);
        if start >= end {
            return Ok(());
        }
        // SAFETY: the pages are within the mapping. Each advice that is given
        // here only fetches or drops them; those of a file come back from it,
        // and zeros come back as zeros.
        let done = unsafe {
            let place = self.memory.start.as_ptr().add(start).cast::<c_void>();
            libc::madvise(place, end - start, advice)
        };
        checked(done).map(drop)
    }
}

impl Drop for Mapping {
    /// Frees the slot. The memory is unmapped right after.
    fn drop(&mut self) {
        self.slot.free();
    }
}

#[cfg(test)]
#[path = "map/map_tests.rs"]
mod tests;
