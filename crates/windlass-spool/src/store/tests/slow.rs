//! A disk that tests can stall.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::watched::{Act, WatchedDisk, Watcher};
use crate::store::disk::Folder;
use crate::store::segments::is_segment;
use crate::store::{Error, Settings, Shape, Store, StoredJob, load};

/// Operations that stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StallKind {
    Nothing,
    /// Writes of documents.
    Documents,
    /// All syncs.
    Syncs,
}

/// Switch that stalls a disk, and lets it go on.
#[derive(Debug)]
pub(crate) struct Valve {
    /// Stalled operations, and the number of waiting threads.
    state: Mutex<(StallKind, usize)>,
    turned: Condvar,
}

impl Valve {
    pub(crate) fn turn(&self, still: StallKind) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = still;
        self.turned.notify_all();
    }

    /// Waits until `number` threads wait for the disk.
    pub(crate) fn until_waiting(&self, number: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.1 < number {
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn pass(&self, what: StallKind) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 += 1;
        self.turned.notify_all();
        while state.0 == what {
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.1 -= 1;
    }
}

/// A store and its jobs.
type OpenedStore = (Store, Vec<StoredJob>);

/// Opens the spool of a folder on a disk with a valve.
pub(crate) fn opened(
    folder: &Path,
    settings: Settings,
) -> Result<(OpenedStore, Arc<Valve>), Error> {
    let state = Mutex::new((StallKind::Nothing, 0));
    let valve = Arc::new(Valve { state, turned: Condvar::new() });
    let disk = WatchedDisk::new(Folder::open(folder)?, valve.clone());
    Ok((load::open(Arc::new(disk), settings, Shape::default())?, valve))
}

impl Watcher for Valve {
    fn before(&self, file: &str, act: Act) {
        match act {
            Act::Write if is_segment(file) => self.pass(StallKind::Documents),
            Act::Sync => self.pass(StallKind::Syncs),
            _ => {}
        }
    }
}
