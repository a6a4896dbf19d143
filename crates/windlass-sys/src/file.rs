//! Files: space kept for them, files without a name, several pieces in a write,
//! and what a file system has left.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::c_int;

/// Keeps space on the disk for a part of a file, and makes the file as long as
/// that: what is written there later does not find the disk full. What the file
/// holds stays.
///
/// # Errors
/// Where the disk is full, or the file system cannot do it (`EOPNOTSUPP`).
pub fn allocate(file: &File, part: Range<u64>) -> io::Result<()> {
    let (start, length) = (signed(part.start)?, signed(part.end.saturating_sub(part.start))?);
    loop {
        // SAFETY: it takes numbers only.
        match check(unsafe { libc::fallocate(file.as_raw_fd(), 0, start, length) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done.map(drop),
        }
    }
}

/// A file without a name that lives in memory, and ends with its last owner.
///
/// # Errors
/// Where the kernel gives none.
pub fn in_memory(name: &str) -> io::Result<File> {
    let name = CString::new(name)?;
    // SAFETY: the name ends with a zero byte and outlives the call.
    let descriptor = check(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) })?;
    // SAFETY: the kernel just made it, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Writes all of the pieces, one behind the other, from an offset on.
///
/// # Errors
/// Where the system says no; then any part may have been written.
pub fn write_all_at(file: &File, mut pieces: &mut [IoSlice], mut offset: u64) -> io::Result<()> {
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        // More than IOV_MAX in a call is refused.
        let count = c_int::try_from(pieces.len().min(1_024)).unwrap_or(c_int::MAX);
        // SAFETY: `IoSlice` is an iovec (std promises so), each is readable, and
        // there are `count` of them.
        let written = unsafe {
            libc::pwritev(file.as_raw_fd(), pieces.as_ptr().cast(), count, signed(offset)?)
        };
        match usize::try_from(written) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                offset += written as u64;
                IoSlice::advance_slices(&mut pieces, written);
            }
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// The bytes that a user may still write on the file system of a path.
///
/// # Errors
/// Where the kernel does not tell.
pub fn available(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut told = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero byte, and there is room for the answer.
    check(unsafe { libc::statvfs(path.as_ptr(), told.as_mut_ptr()) })?;
    // SAFETY: all zeros are a valid value, and the kernel filled it.
    let told = unsafe { told.assume_init() };
    Ok(told.f_bavail.saturating_mul(told.f_frsize))
}

/// Whether an error says that there is no room: on the disk, or for this user.
#[must_use]
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

/// Whether an error says that a file system cannot do what was asked.
#[must_use]
pub fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
}

fn signed(offset: u64) -> io::Result<i64> {
    i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn check(result: c_int) -> io::Result<c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn space_is_kept_and_what_was_there_stays() {
        let file = in_memory("test").unwrap();
        file.write_all_at(b"abc", 5).unwrap();
        allocate(&file, 4..100).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 100);
        let mut got = [1; 100];
        file.read_exact_at(&mut got, 0).unwrap();
        assert_eq!(&got[5..8], b"abc");
        assert!(got[8..].iter().all(|byte| *byte == 0));
        assert_eq!(allocate(&file, 5..5).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert!(allocate(&file, u64::MAX - 1..u64::MAX).is_err());
    }

    #[test]
    fn all_pieces_are_written_in_order() {
        let file = in_memory("test").unwrap();
        let big = vec![7; 3_000_000];
        let mut pieces = [IoSlice::new(b""), IoSlice::new(b"ab"), IoSlice::new(&big)];
        write_all_at(&file, &mut pieces, 3).unwrap();
        write_all_at(&file, &mut [IoSlice::new(b"")], 3).unwrap();
        let mut got = vec![0; 3_000_005];
        file.read_exact_at(&mut got, 0).unwrap();
        assert_eq!(&got[..6], b"\0\0\0ab\x07");
        assert_eq!(&got[5..], &big);
    }

    #[test]
    fn a_file_system_has_room_and_a_missing_path_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(available(folder.path()).unwrap() > 0);
        let missing = folder.path().join("missing");
        assert_eq!(available(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
