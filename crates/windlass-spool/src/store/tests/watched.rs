//! A folder that reports its operations to a test, which may delay them.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::store::behind::WriteStep;
use crate::store::disk::{Disk, Folder, OpenFile};

/// Operation on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Write,
    Sync,
    /// A part is written, or dropped from memory.
    Pass(WriteStep, Range<u64>),
}

/// Receiver of the operations.
pub(super) trait Watcher: Debug + Send + Sync {
    /// See [`Disk::cached`].
    fn cached(&self) -> u64 {
        u64::MAX
    }
    /// Called before an operation, which waits for the return. Syncing the folder's names is
    /// reported with an empty file name.
    fn before(&self, file: &str, act: Act);
}

/// A folder and its watcher.
#[derive(Debug)]
pub(super) struct WatchedDisk {
    folder: Folder,
    watcher: Arc<dyn Watcher>,
}

#[derive(Debug)]
struct WatchedFile {
    name: String,
    file: Arc<dyn OpenFile>,
    watcher: Arc<dyn Watcher>,
}

impl WatchedDisk {
    pub(super) fn new(folder: Folder, watcher: Arc<dyn Watcher>) -> Self {
        Self { folder, watcher }
    }

    fn file(&self, name: &str, file: Arc<dyn OpenFile>) -> Arc<dyn OpenFile> {
        let watcher = Arc::clone(&self.watcher);
        Arc::new(WatchedFile { name: name.to_owned(), file, watcher })
    }
}

impl Disk for WatchedDisk {
    fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn OpenFile>> {
        Ok(self.file(name, self.folder.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn OpenFile>> {
        Ok(self.file(name, Disk::open(&self.folder, name)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.watcher.before("", Act::Sync);
        self.folder.sync_names()
    }

    fn available(&self) -> io::Result<u64> {
        self.folder.available()
    }

    fn cached(&self) -> u64 {
        self.watcher.cached()
    }

    fn boot(&self) -> [u8; 16] {
        self.folder.boot()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }
}

impl OpenFile for WatchedFile {
    fn write_at(&self, pieces: [&[u8]; 2], offset: u64) -> io::Result<()> {
        self.watcher.before(&self.name, Act::Write);
        self.file.write_at(pieces, offset)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }

    fn copy_to(&self, to: &File, most: usize, offset: u64) -> io::Result<usize> {
        self.file.copy_to(to, most, offset)
    }

    fn allocate(&self, part: Range<u64>) -> io::Result<()> {
        self.file.allocate(part)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn sync(&self) -> io::Result<()> {
        self.watcher.before(&self.name, Act::Sync);
        self.file.sync()
    }

    fn start_writing(&self, part: Range<u64>) -> io::Result<()> {
        self.watcher.before(&self.name, Act::Pass(WriteStep::Begin, part.clone()));
        self.file.start_writing(part)
    }

    fn forget(&self, part: Range<u64>) -> io::Result<()> {
        self.watcher.before(&self.name, Act::Pass(WriteStep::Forget, part.clone()));
        self.file.forget(part)
    }
}
