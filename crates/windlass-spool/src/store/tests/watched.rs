//! A folder of which a test sees what is done with it, and may hold it up.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::store::behind::Pass;
use crate::store::disk::{Disk, Folder, Open};

/// What is done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Write,
    Sync,
    /// A part leaves the memory.
    Pass(Pass, Range<u64>),
}

/// Who is told.
pub(super) trait Watcher: Debug + Send + Sync {
    /// See [`Disk::cached`].
    fn cached(&self) -> u64 {
        u64::MAX
    }
    /// It is done when this returns. The names in the folder are a file without one.
    fn before(&self, file: &str, act: Act);
}

/// A folder and who is told of it.
#[derive(Debug)]
pub(super) struct Watched {
    folder: Folder,
    watcher: Arc<dyn Watcher>,
}

#[derive(Debug)]
struct WatchedFile {
    name: String,
    file: Arc<dyn Open>,
    watcher: Arc<dyn Watcher>,
}

impl Watched {
    pub(super) fn new(folder: Folder, watcher: Arc<dyn Watcher>) -> Self {
        Self { folder, watcher }
    }

    fn file(&self, name: &str, file: Arc<dyn Open>) -> Arc<dyn Open> {
        let watcher = Arc::clone(&self.watcher);
        Arc::new(WatchedFile { name: name.to_owned(), file, watcher })
    }
}

impl Disk for Watched {
    fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn Open>> {
        Ok(self.file(name, self.folder.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Open>> {
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

impl Open for WatchedFile {
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
        self.watcher.before(&self.name, Act::Pass(Pass::Begin, part.clone()));
        self.file.start_writing(part)
    }

    fn forget(&self, part: Range<u64>) -> io::Result<()> {
        self.watcher.before(&self.name, Act::Pass(Pass::Forget, part.clone()));
        self.file.forget(part)
    }
}
