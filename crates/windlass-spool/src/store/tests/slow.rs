//! A disk that can be made to stand still, for tests.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::watched::{Act, Watched, Watcher};
use crate::store::disk::Folder;
use crate::store::segments::is_segment;
use crate::store::{Error, Kept, Settings, Shape, Store, load};

/// What stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Still {
    Nothing,
    /// Writes of documents.
    Documents,
    /// All syncs.
    Syncs,
}

/// Stops a disk, and lets it go on.
#[derive(Debug)]
pub(crate) struct Valve {
    /// What stands still, and who waits for it.
    state: Mutex<(Still, usize)>,
    turned: Condvar,
}

impl Valve {
    pub(crate) fn turn(&self, still: Still) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = still;
        self.turned.notify_all();
    }

    /// Until so many wait for the disk.
    pub(crate) fn until_waiting(&self, number: usize) {
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
pub(crate) fn opened(folder: &Path, settings: Settings) -> Result<(Opened, Arc<Valve>), Error> {
    let state = Mutex::new((Still::Nothing, 0));
    let valve = Arc::new(Valve { state, turned: Condvar::new() });
    let disk = Watched::new(Folder::open(folder)?, valve.clone());
    Ok((load::open(Arc::new(disk), settings, Shape::default())?, valve))
}

impl Watcher for Valve {
    fn before(&self, file: &str, act: Act) {
        match act {
            Act::Write if is_segment(file) => self.pass(Still::Documents),
            Act::Sync => self.pass(Still::Syncs),
            _ => {}
        }
    }
}
