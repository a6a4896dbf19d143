//! A disk that can be made to stand still, for tests.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::disk::{Disk, Folder, Open};
use super::{Error, Kept, Settings, Shape, Store, load};

/// What stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spool) enum Still {
    Nothing,
    /// Writes of documents.
    Documents,
    /// All syncs.
    Syncs,
}

/// Stops a disk, and lets it go on.
#[derive(Debug)]
pub(in crate::spool) struct Valve {
    /// What stands still, and who waits for it.
    state: Mutex<(Still, usize)>,
    turned: Condvar,
}

impl Valve {
    pub(in crate::spool) fn turn(&self, still: Still) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = still;
        self.turned.notify_all();
    }

    /// Until so many wait for the disk.
    pub(in crate::spool) fn until_waiting(&self, number: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.1 < number {
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn pass(&self, what: Still) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 += 1;
        self.turned.notify_all();
        while state.0 == what {
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.1 -= 1;
    }
}

/// A store, and the jobs that it keeps.
type Opened = (Store, Vec<Kept>);

/// Opens the spool of a folder on such a disk.
pub(in crate::spool) fn opened(
    folder: &Path,
    settings: Settings,
) -> Result<(Opened, Arc<Valve>), Error> {
    let state = Mutex::new((Still::Nothing, 0));
    let valve = Arc::new(Valve { state, turned: Condvar::new() });
    let disk = Slow { folder: Folder::open(folder)?, valve: Arc::clone(&valve) };
    Ok((load::open(Arc::new(disk), settings, Shape::default())?, valve))
}

#[derive(Debug)]
struct Slow {
    folder: Folder,
    valve: Arc<Valve>,
}

impl Slow {
    fn slowed(&self, name: &str, file: Arc<dyn Open>) -> Arc<dyn Open> {
        let is_document = super::segments::is_segment(name);
        Arc::new(SlowFile { file, is_document, valve: Arc::clone(&self.valve) })
    }
}

impl Disk for Slow {
    fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn Open>> {
        Ok(self.slowed(name, self.folder.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Open>> {
        Ok(self.slowed(name, Disk::open(&self.folder, name)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.valve.pass(Still::Syncs);
        self.folder.sync_names()
    }

    fn available(&self) -> io::Result<u64> {
        self.folder.available()
    }

    fn boot(&self) -> [u8; 16] {
        self.folder.boot()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }
}

#[derive(Debug)]
struct SlowFile {
    file: Arc<dyn Open>,
    is_document: bool,
    valve: Arc<Valve>,
}

impl Open for SlowFile {
    fn write_at(&self, pieces: [&[u8]; 2], offset: u64) -> io::Result<()> {
        if self.is_document {
            self.valve.pass(Still::Documents);
        }
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
        self.valve.pass(Still::Syncs);
        self.file.sync()
    }
}
