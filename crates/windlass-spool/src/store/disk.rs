//! Storage of a spool's files: a folder, memory, or a simulation of a test.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io::{self, IoSlice, Read, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_sys::file::{self, OpenMode};
use windlass_sys::limits::is_out_of_files;
use windlass_sys::privileges::Identity;

use super::Error;

/// A folder of files, without subfolders.
pub(super) trait Disk: Debug + Send + Sync {
    /// Returns the names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Creates an empty file; fails if the name exists.
    fn create(&self, name: &str) -> io::Result<Arc<dyn OpenFile>>;
    /// Opens an existing file.
    fn open(&self, name: &str) -> io::Result<Arc<dyn OpenFile>>;
    /// Removes a file name.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Waits until the current names are on the disk.
    fn sync_names(&self) -> io::Result<()>;
    /// Returns the number of bytes that may still be written.
    fn available(&self) -> io::Result<u64>;
    /// Returns how many bytes of documents should stay in memory. Printers read later documents so
    /// much later that those would only be in the way.
    fn cached(&self) -> u64 {
        u64::MAX
    }
    /// Returns the id of the machine's boot: data written since then is there.
    fn boot(&self) -> [u8; 16];
    /// Returns a file's path for messages.
    fn path(&self, name: &str) -> String;
}

/// An open file.
pub(super) trait OpenFile: Debug + Send + Sync {
    /// Writes both pieces, one after the other.
    fn write_at(&self, pieces: [&[u8]; 2], offset: u64) -> io::Result<()>;
    /// Reads until the buffer is full or the file ends.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Copies up to `most` bytes to a regular file or device, but not to a pipe. Returns the number
    /// copied.
    fn copy_to(&self, to: &File, most: usize, offset: u64) -> io::Result<usize> {
        read_and_write(self, to, most, offset)
    }
    /// Reserves space for a part, and extends the file to the part's end. New bytes read as zeros.
    fn allocate(&self, part: Range<u64>) -> io::Result<()>;
    /// Returns the size of the file in bytes.
    fn size(&self) -> io::Result<u64>;
    /// Waits until the written data is on the disk.
    fn sync(&self) -> io::Result<()>;
    /// Starts writing a part to the disk, without waiting.
    fn start_writing(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
    /// Drops a part from memory once its writing is complete. A disk error reported here is not
    /// reported again by `sync`.
    fn forget(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

/// Copies as [`OpenFile::copy_to`] does, without the kernel's help.
fn read_and_write<DiskFile: OpenFile + ?Sized>(
    from: &DiskFile,
    mut to: &File,
    most: usize,
    offset: u64,
) -> io::Result<usize> {
    let mut buffer = vec![0; most.min(64 << 10)];
    let read = from.read_at(&mut buffer, offset)?;
    to.write_all(&buffer[..read])?;
    Ok(read)
}

/// A folder of a file system, used by this process alone.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    folder: File,
    boot: [u8; 16],
    /// True if the folder must not be changed.
    is_read_only: bool,
    /// Spare descriptors, closed when the process has no others left. So connections cannot take
    /// those that documents need.
    reserve: Mutex<Vec<File>>,
    /// Lock file, locked while this exists.
    _lock: Option<File>,
}

/// Number of files that can still be created without free descriptors: 512 MiB of documents.
const RESERVE: usize = 8;

/// Name of the lock file.
const LOCK: &str = "lock";

impl Folder {
    /// Opens a folder for this process alone, and creates it if need be.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let io = |during| Error::io(during, path.display().to_string());
        // The permissions of parent folders are the user's own choice.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            fs::create_dir_all(parent).map_err(io("create the folder"))?;
        }
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(io("create the folder")(error));
            }
            _ => {}
        }
        let folder = File::open(path).map_err(io("open the folder"))?;
        let metadata = folder.metadata().map_err(io("examine the folder"))?;
        if let Some(why) = weakness(&metadata, Identity::own().user) {
            return Err(Error::Unsafe { folder: path.to_owned(), why });
        }
        let lock = lock(path, &folder)?;
        Ok(Self {
            path: path.to_owned(),
            folder,
            boot: boot(),
            is_read_only: false,
            reserve: Mutex::default(),
            _lock: Some(lock),
        })
    }

    /// Opens an existing folder for reading, unless a server uses it.
    pub(super) fn look(path: &Path) -> Result<Self, Error> {
        let io = |during, at: &Path| Error::io(during, at.display().to_string());
        let folder = File::open(path).map_err(io("open the folder", path))?;
        let name = path.join(LOCK);
        let lock = match file::open_in(&folder, LOCK, OpenMode::Read) {
            Ok(mut lock) => match lock.try_lock_shared() {
                Ok(()) => Some(lock),
                Err(TryLockError::WouldBlock) => return Err(held(path, &mut lock)),
                Err(TryLockError::Error(error)) => return Err(io("lock", &name)(error)),
            },
            // A copy of a spool may lack the lock file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io("open", &name)(error)),
        };
        let path = path.to_owned();
        let reserve = Mutex::default();
        Ok(Self { path, folder, boot: boot(), is_read_only: true, reserve, _lock: lock })
    }
}

/// Returns why a folder is unsafe for root: other users could redirect the files that root writes
/// there.
fn weakness(folder: &Metadata, user: u32) -> Option<String> {
    let (owner, mode) = (folder.uid(), folder.mode());
    match user {
        0 if owner != 0 => Some(format!("its owner is the user {owner}")),
        0 if mode & 0o022 != 0 => {
            Some(format!("others than its owner may write to it (mode {:o})", mode & 0o7777))
        }
        _ => None,
    }
}

fn lock(path: &Path, folder: &File) -> Result<File, Error> {
    let name = path.join(LOCK);
    let io = |during| Error::io(during, name.display().to_string());
    let mut lock = file::open_in(folder, LOCK, OpenMode::WriteOrCreate).map_err(io("open"))?;
    let metadata = lock.metadata().map_err(io("examine"))?;
    if !metadata.is_file() || metadata.nlink() > 1 {
        let why = format!("{LOCK:?} in it is a link, or not a regular file");
        return Err(Error::Unsafe { folder: path.to_owned(), why });
    }
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(held(path, &mut lock)),
        Err(TryLockError::Error(error)) => return Err(io("lock")(error)),
    }
    // Only the lock counts: on a full disk, the process id may be missing from the file.
    let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
    Ok(lock)
}

/// Returns the error of a folder in use, with the process id from the lock file.
fn held(folder: &Path, lock: &mut File) -> Error {
    let mut text = String::new();
    let _ = Read::by_ref(lock).take(20).read_to_string(&mut text);
    Error::Held { folder: folder.to_owned(), process: text.trim().parse().ok() }
}

/// Returns the kernel's boot id; zeros if there is none, so that all boots look alike.
fn boot() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&text.trim().replace('-', ""), 16).unwrap_or(0).to_be_bytes()
}

impl Disk for Folder {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            // A name that is not UTF-8 belongs to somebody else.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn OpenFile>> {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match file::open_in(&self.folder, name, OpenMode::Create) {
                Err(error) if is_out_of_files(&error) && reserve.pop().is_some() => {}
                made => {
                    // Reopens spare descriptors that were closed.
                    while made.is_ok() && reserve.len() < RESERVE {
                        let Ok(spare) = File::open("/dev/null") else { break };
                        reserve.push(spare);
                    }
                    return Ok(Arc::new(PlainFile(made?)));
                }
            }
        }
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn OpenFile>> {
        let opening = if self.is_read_only { OpenMode::Read } else { OpenMode::Write };
        Ok(Arc::new(PlainFile(file::open_in(&self.folder, name, opening)?)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        self.folder.sync_all()
    }

    fn available(&self) -> io::Result<u64> {
        file::available(&self.path)
    }

    /// Returns a sixteenth of the memory. Once a tenth of the free memory waits for the disk, Linux
    /// starts writing in any case (`vm.dirty_background_ratio`).
    fn cached(&self) -> u64 {
        memory("MemTotal:").map_or(u64::MAX, |all| all / 16)
    }

    fn boot(&self) -> [u8; 16] {
        self.boot
    }

    fn path(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

/// Returns a figure of the kernel's memory statistics, in bytes.
fn memory(name: &str) -> io::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Files in memory, which end with the process.
#[derive(Debug)]
pub(super) struct Memory;

impl Disk for Memory {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(PlainFile(file::in_memory(name)?)))
    }

    fn open(&self, _: &str) -> io::Result<Arc<dyn OpenFile>> {
        Err(io::ErrorKind::NotFound.into())
    }

    /// A file disappears with its last owner.
    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn available(&self) -> io::Result<u64> {
        memory("MemAvailable:")
    }

    fn boot(&self) -> [u8; 16] {
        [0; 16]
    }

    fn path(&self, name: &str) -> String {
        format!("{name} (in memory)")
    }
}

/// A file of the operating system.
#[derive(Debug)]
struct PlainFile(File);

impl OpenFile for PlainFile {
    fn write_at(&self, pieces: [&[u8]; 2], offset: u64) -> io::Result<()> {
        match pieces {
            [piece, []] | [[], piece] => self.0.write_all_at(piece, offset),
            pieces => file::write_all_at(&self.0, &mut pieces.map(IoSlice::new), offset),
        }
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.0.read_at(&mut into[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn copy_to(&self, to: &File, most: usize, offset: u64) -> io::Result<usize> {
        match file::copy(&self.0, offset, to, most) {
            Err(error) if file::cannot_copy(&error) => read_and_write(self, to, most, offset),
            done => done,
        }
    }

    fn allocate(&self, part: Range<u64>) -> io::Result<()> {
        match file::allocate(&self.0, part.clone()) {
            // Some file systems cannot reserve space: zeros are written instead.
            Err(error) if file::is_unsupported(&error) => {
                let zeros = [0; 64 << 10];
                let mut at = self.size()?.max(part.start);
                while at < part.end {
                    let length =
                        zeros.len().min(usize::try_from(part.end - at).unwrap_or(usize::MAX));
                    self.0.write_all_at(&zeros[..length], at)?;
                    at += length as u64;
                }
                Ok(())
            }
            done => done,
        }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn start_writing(&self, part: Range<u64>) -> io::Result<()> {
        file::start_writing(&self.0, part)
    }

    fn forget(&self, part: Range<u64>) -> io::Result<()> {
        file::forget(&self.0, part)
    }
}
