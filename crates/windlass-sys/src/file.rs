//! Files: space reserved on the disk, files without a name, writes of several pieces, copies made
//! by the kernel, pages kept in memory, and free space of a file system.

use std::fs::File;
use std::io::{self, IoSlice};
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

use libc::c_uint;
use rustix::fs::{Advice, FallocateFlags, MemfdFlags, Mode, OFlags};
use rustix::io::retry_on_intr;

use crate::call::checked;

/// Reserves disk space for a part of a file, and extends the file to its end. Later writes there do
/// not find the disk full. The file's contents stay.
///
/// # Errors
/// Fails if the disk is full, or the file system cannot do it (`EOPNOTSUPP`).
pub fn allocate(file: &File, part: Range<u64>) -> io::Result<()> {
    let (start, length) = (part.start, part.end.saturating_sub(part.start));
    let how = FallocateFlags::empty();
    Ok(retry_on_intr(|| rustix::fs::fallocate(file, how, start, length))?)
}

/// The purpose for which a file of a folder is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// To read.
    Read,
    /// To read and write.
    Write,
    /// To write; the file is created if it does not exist.
    WriteOrCreate,
    /// To read and write; the file must not exist.
    Create,
}

/// Opens a file of an open folder, whatever became of the folder's path. A symbolic link is
/// refused; a new file has the mode 0600.
///
/// # Errors
/// Fails if the name is a link (`ELOOP`), or the system refuses.
pub fn open_in(folder: &File, name: &str, opening: OpenMode) -> io::Result<File> {
    let how = match opening {
        OpenMode::Read => OFlags::RDONLY,
        OpenMode::Write => OFlags::RDWR,
        OpenMode::WriteOrCreate => OFlags::RDWR | OFlags::CREATE,
        OpenMode::Create => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
    };
    let how = how | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(retry_on_intr(|| rustix::fs::openat(folder, name, how, mode))?.into())
}

/// Makes a file without a name that lives in memory, and ends with its last owner.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn in_memory(name: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

/// Writes all pieces, one behind the other, from an offset on.
///
/// # Errors
/// Fails if the system refuses; any part may then have been written.
pub fn write_all_at(file: &File, mut pieces: &mut [IoSlice], mut offset: u64) -> io::Result<()> {
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        let written = retry_on_intr(|| rustix::io::pwritev(file, pieces, offset))?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        offset += written as u64;
        IoSlice::advance_slices(&mut pieces, written);
    }
    Ok(())
}

/// Lets the kernel copy up to `most` bytes of a file, from an offset on, to the current position of
/// another. Returns how many bytes it copied: none at the end of the file.
///
/// The other one is a plain file, or a device that takes its bytes at once. A pipe or a socket
/// would hold the pages themselves, and see later writes to them.
///
/// # Errors
/// Fails if a file cannot be read or written, or the kernel cannot copy between the two
/// ([`cannot_copy`]).
pub fn copy(from: &File, mut offset: u64, to: &File, most: usize) -> io::Result<usize> {
    Ok(retry_on_intr(|| rustix::fs::sendfile(to, from, Some(&mut offset), most))?)
}

/// Has the kernel begin to write a part of a file to the disk, without waiting
/// (`SYNC_FILE_RANGE_WRITE` in `sync_file_range(2)`). The call does not promise that the data
/// reaches the disk.
///
/// # Errors
/// Fails if the file does not support the call.
pub fn start_writing(file: &File, part: Range<u64>) -> io::Result<()> {
    sync_range(file, &part, libc::SYNC_FILE_RANGE_WRITE)
}

/// Waits until the writes begun by [`start_writing`] are done, and has the kernel drop the part
/// from memory (`POSIX_FADV_DONTNEED` in `posix_fadvise(2)`). Pages that are not on the disk stay,
/// and so do pages in use.
///
/// A disk error may be reported here, and then to no other user of the same open file. A caller
/// that syncs the file must have opened it separately.
///
/// # Errors
/// Fails if the file does not support the calls, or the disk failed.
pub fn forget(file: &File, part: Range<u64>) -> io::Result<()> {
    sync_range(file, &part, libc::SYNC_FILE_RANGE_WAIT_BEFORE)?;
    let length = NonZeroU64::new(part.end.saturating_sub(part.start));
    Ok(rustix::fs::fadvise(file, part.start, length, Advice::DontNeed)?)
}

fn sync_range(file: &File, part: &Range<u64>, what: c_uint) -> io::Result<()> {
    let signed = |offset| i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput);
    let (start, length) = (signed(part.start)?, signed(part.end.saturating_sub(part.start))?);
    // SAFETY: it takes numbers only.
    checked(unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, what) }).map(drop)
}

/// Returns whether an error says that the kernel cannot copy between two files itself.
pub fn cannot_copy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL) || is_unsupported(error)
}

/// Returns the bytes that a user may still write on the file system of a path.
///
/// # Errors
/// Fails if the kernel does not tell.
pub fn available(path: &Path) -> io::Result<u64> {
    let told = rustix::fs::statvfs(path)?;
    Ok(told.f_bavail.saturating_mul(told.f_frsize))
}

/// Returns whether an error says that there is no room: on the disk, or for this user.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

/// Returns whether an error says that a file system cannot do what was asked.
pub fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
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
    fn what_was_forgotten_is_read_from_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("file");
        let file = File::create_new(&name).unwrap();
        let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at / 3) as u8).collect();
        file.write_all_at(&bytes, 0).unwrap();
        start_writing(&file, 0..262_144).unwrap();
        forget(&file, 0..262_144).unwrap();
        // A part whose writing was not begun stays in memory, as it is nowhere else.
        forget(&file, 262_144..400_000).unwrap();
        let mut got = vec![0; 300_000];
        File::open(&name).unwrap().read_exact_at(&mut got, 0).unwrap();
        assert!(got == bytes);
        let (pipe, _other) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        assert!(start_writing(&pipe, 0..1).is_err() && forget(&pipe, 0..1).is_err());
    }

    #[test]
    fn the_kernel_copies_what_is_there() {
        use std::io::{Seek, Write};
        let from = in_memory("from").unwrap();
        let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at / 3) as u8).collect();
        from.write_all_at(&bytes, 0).unwrap();
        let mut to = in_memory("to").unwrap();
        to.write_all(b"before ").unwrap();
        let mut at = 5;
        while let copied @ 1.. = copy(&from, at, &to, 100_000).unwrap() {
            at += copied as u64;
        }
        assert_eq!(at, 300_000);
        assert_eq!(to.stream_position().unwrap(), 7 + 299_995);
        let mut got = vec![0; 7 + 299_995];
        to.read_exact_at(&mut got, 0).unwrap();
        assert_eq!(&got[..7], b"before ");
        assert!(got[7..] == bytes[5..]);
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("appended");
        let end = File::options().append(true).create(true).open(name).unwrap();
        assert!(cannot_copy(&copy(&from, 0, &end, 1).unwrap_err()));
    }

    #[test]
    fn a_file_system_has_room_and_a_missing_path_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(available(folder.path()).unwrap() > 0);
        let missing = folder.path().join("missing");
        assert_eq!(available(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
