//! Where a spool keeps its files: a folder, memory, or what a test puts there.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io::{self, IoSlice, Read, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_sys::file::{self, Opening};
use windlass_sys::limits::is_out_of_files;
use windlass_sys::privileges::Identity;

use super::Error;

/// A folder of files without folders in it.
pub(super) trait Disk: Debug + Send + Sync {
    /// The names in it.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Makes an empty file; an error where there is one.
    fn create(&self, name: &str) -> io::Result<Arc<dyn Open>>;
    /// Opens a file that is there.
    fn open(&self, name: &str) -> io::Result<Arc<dyn Open>>;
    /// Takes a name away.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Until the names are on the disk as they are now.
    fn sync_names(&self) -> io::Result<()>;
    /// The bytes that may still be written.
    fn available(&self) -> io::Result<u64>;
    /// How many bytes of documents are to be in memory, too. A printer takes what comes
    /// after them so much later that they would only be in the way.
    fn cached(&self) -> u64 {
        u64::MAX
    }
    /// Which start of the machine this is: what was written since is there.
    fn boot(&self) -> [u8; 16];
    /// A file's name for people.
    fn path(&self, name: &str) -> String;
}

/// An open file.
pub(super) trait Open: Debug + Send + Sync {
    /// Writes both pieces, one behind the other.
    fn write_at(&self, pieces: [&[u8]; 2], offset: u64) -> io::Result<()>;
    /// Reads until the piece is full or the file ends.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Copies up to so many bytes to a file that takes them at once: a plain one or
    /// a device, no pipe. How many it copied.
    fn copy_to(&self, to: &File, most: usize, offset: u64) -> io::Result<usize> {
        read_and_write(self, to, most, offset)
    }
    /// Keeps space for a part, and makes the file as long as that. What is new
    /// reads as zeros.
    fn allocate(&self, part: Range<u64>) -> io::Result<()>;
    /// Bytes of the file.
    fn size(&self) -> io::Result<u64>;
    /// Until what was written is on the disk.
    fn sync(&self) -> io::Result<()>;
    /// Begins to bring a part to the disk, and does not wait.
    fn start_writing(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
    /// Takes a part out of memory, when what was begun of it is on the disk. An error
    /// of the disk that is told here is not told to who syncs this.
    fn forget(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

/// What [`Open::copy_to`] does without the kernel's help.
fn read_and_write<Kept: Open + ?Sized>(
    from: &Kept,
    mut to: &File,
    most: usize,
    offset: u64,
) -> io::Result<usize> {
    let mut buffer = vec![0; most.min(64 << 10)];
    let read = from.read_at(&mut buffer, offset)?;
    to.write_all(&buffer[..read])?;
    Ok(read)
}

/// A folder of a file system, which nobody else uses meanwhile.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    folder: File,
    boot: [u8; 16],
    /// Nothing is changed.
    is_read_only: bool,
    /// Descriptors that are given up where the process has no other left: so connections
    /// cannot take those away that documents need.
    reserve: Mutex<Vec<File>>,
    /// Held as long as this is there.
    _lock: Option<File>,
}

/// Files that can still be made where there are no descriptors: 512 MiB of documents.
const RESERVE: usize = 8;

/// The file that is locked.
const LOCK: &str = "lock";

impl Folder {
    /// Opens a folder, made if need be, for this process alone.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let io = |during| Error::io(during, path.display().to_string());
        // Those above it are the user's own affair.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            fs::create_dir_all(parent).map_err(io("make the folder"))?;
        }
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(io("make the folder")(error));
            }
            _ => {}
        }
        let folder = File::open(path).map_err(io("open the folder"))?;
        let metadata = folder.metadata().map_err(io("look at the folder"))?;
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

    /// Opens a folder that is there to look at its files alone, while no server has it.
    pub(super) fn look(path: &Path) -> Result<Self, Error> {
        let io = |during, at: &Path| Error::io(during, at.display().to_string());
        let folder = File::open(path).map_err(io("open the folder", path))?;
        let name = path.join(LOCK);
        let lock = match file::open_in(&folder, LOCK, Opening::Read) {
            Ok(mut lock) => match lock.try_lock_shared() {
                Ok(()) => Some(lock),
                Err(TryLockError::WouldBlock) => return Err(held(path, &mut lock)),
                Err(TryLockError::Error(error)) => return Err(io("lock", &name)(error)),
            },
            // A copy of a spool may have none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io("open", &name)(error)),
        };
        let path = path.to_owned();
        let reserve = Mutex::default();
        Ok(Self { path, folder, boot: boot(), is_read_only: true, reserve, _lock: lock })
    }
}

/// Why a folder is no place for the files of a user, where that is root: what root writes there,
/// others could have lead elsewhere.
fn weakness(folder: &Metadata, user: u32) -> Option<String> {
    let (owner, mode) = (folder.uid(), folder.mode());
    match user {
        0 if owner != 0 => Some(format!("it belongs to the user {owner}")),
        0 if mode & 0o022 != 0 => {
            Some(format!("others than its owner may write to it (mode {:o})", mode & 0o7777))
        }
        _ => None,
    }
}

fn lock(path: &Path, folder: &File) -> Result<File, Error> {
    let name = path.join(LOCK);
    let io = |during| Error::io(during, name.display().to_string());
    let mut lock = file::open_in(folder, LOCK, Opening::WriteOrCreate).map_err(io("open"))?;
    let metadata = lock.metadata().map_err(io("look at"))?;
    if !metadata.is_file() || metadata.nlink() > 1 {
        let why = format!("{LOCK:?} in it is no file of its own");
        return Err(Error::Unsafe { folder: path.to_owned(), why });
    }
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(held(path, &mut lock)),
        Err(TryLockError::Error(error)) => return Err(io("lock")(error)),
    }
    // Only the lock counts: on a full disk the name of its holder may be missing.
    let _ = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
    Ok(lock)
}

/// That somebody has a folder, by the file that says who.
fn held(folder: &Path, lock: &mut File) -> Error {
    let mut text = String::new();
    let _ = Read::by_ref(lock).take(20).read_to_string(&mut text);
    Error::Held { folder: folder.to_owned(), process: text.trim().parse().ok() }
}

/// The kernel's name for its start; zeros where it has none, so that all starts
/// look the same.
fn boot() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&text.trim().replace('-', ""), 16).unwrap_or(0).to_be_bytes()
}

impl Disk for Folder {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            // What is no text is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn Open>> {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match file::open_in(&self.folder, name, Opening::Create) {
                Err(error) if is_out_of_files(&error) && reserve.pop().is_some() => {}
                made => {
                    // Those that were given up are had again where there are some.
                    while made.is_ok() && reserve.len() < RESERVE {
                        let Ok(spare) = File::open("/dev/null") else { break };
                        reserve.push(spare);
                    }
                    return Ok(Arc::new(Plain(made?)));
                }
            }
        }
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Open>> {
        let opening = if self.is_read_only { Opening::Read } else { Opening::Write };
        Ok(Arc::new(Plain(file::open_in(&self.folder, name, opening)?)))
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

    /// A sixteenth of the memory. When a tenth of what is free waits for the disk,
    /// Linux begins to write in any case (`vm.dirty_background_ratio`).
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

/// What the kernel tells of its memory, in bytes.
fn memory(name: &str) -> io::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Files that end with the process.
#[derive(Debug)]
pub(super) struct Memory;

impl Disk for Memory {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn Open>> {
        Ok(Arc::new(Plain(file::in_memory(name)?)))
    }

    fn open(&self, _: &str) -> io::Result<Arc<dyn Open>> {
        Err(io::ErrorKind::NotFound.into())
    }

    /// They go with their last owner.
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

/// A file of the kernel's.
#[derive(Debug)]
struct Plain(File);

impl Open for Plain {
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
            // Some file systems cannot: there, what is new is written.
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
