//! What makes changes of the table safe: it logs them in their order, waits for the
//! disk where that was promised, and tells of a disk that is full or fails.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use windlass_spool_core::{Entry, Event, Refusal};

use crate::store::{Durability, Error, Store, Ticket};
use crate::table::JobTable;

/// Who is told of events.
type Heard = Box<dyn Fn(Event) + Send + Sync>;

/// What was logged last, where anything was.
pub(crate) type Logged = Result<Option<Ticket>, Error>;

/// A store, and what is known of how it does.
pub(crate) struct Committer {
    pub(crate) store: Store,
    pub(crate) durability: Durability,
    /// Keys of what there was no room for in the journal.
    unlogged: Mutex<BTreeSet<u32>>,
    is_full: AtomicBool,
    /// Why nothing is kept any more.
    broken: OnceLock<String>,
    heard: Heard,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Full(why) => Self::Full(why.to_string()),
            Error::TooLarge { .. } => Self::TooLong(error.to_string()),
            other => Self::Broken(other.to_string()),
        }
    }
}

impl Committer {
    pub(crate) fn new(store: Store, durability: Durability, heard: Heard) -> Self {
        Self {
            store,
            durability,
            unlogged: Mutex::default(),
            is_full: AtomicBool::new(false),
            broken: OnceLock::new(),
            heard,
        }
    }

    pub(crate) fn tell(&self, event: Event) {
        (self.heard)(event);
    }

    /// Whether nothing is kept any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    /// Whether anything can be kept; where the store does not work any more, why.
    pub(crate) fn usable(&self) -> Result<(), Refusal> {
        self.broken.get().map_or(Ok(()), |why| Err(Refusal::Broken(why.clone())))
    }

    /// Whether there is room for another job's documents.
    pub(crate) fn room(&self) -> Result<(), Refusal> {
        Ok(self.noted(self.store.has_room())?)
    }

    /// Logs changes as the table has them now, under whose lock this is called. What
    /// there is no room for is tried again each time, or a start would not know of
    /// it: so nobody whose change is logged is told of it.
    pub(crate) fn log(&self, table: &JobTable, changes: Vec<u32>) -> Logged {
        let mut last = None;
        let mut unlogged = self.unlogged.lock().unwrap_or_else(PoisonError::into_inner);
        unlogged.retain(|key| match self.log_one(table, *key) {
            Ok(written) => {
                last = Some(written);
                false
            }
            Err(_) => true,
        });
        let mut failed = None;
        let mut note = |keys: &[u32], logged: Result<Ticket, Error>| match logged {
            Ok(written) => last = Some(written),
            Err(error) => {
                if error.is_full() {
                    unlogged.extend(keys);
                }
                failed = failed.take().or(Some(error));
            }
        };
        // Jobs that go one after the other are one write.
        let mut going = Vec::new();
        for key in changes {
            match table.entry(key) {
                Entry::Remove(key) => going.push(key),
                Entry::Put(key, record, documents) => {
                    if !going.is_empty() {
                        note(&going, self.store.remove_all(&going));
                        going.clear();
                    }
                    note(&[key], self.store.put(key, &record, &documents));
                }
            }
        }
        if !going.is_empty() {
            note(&going, self.store.remove_all(&going));
        }
        failed.map_or(Ok(last), Err)
    }

    /// Whether there was no room in the journal for something, which it is to have yet.
    pub(crate) fn owes(&self) -> bool {
        !self.unlogged.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn log_one(&self, table: &JobTable, key: u32) -> Result<Ticket, Error> {
        match table.entry(key) {
            Entry::Put(key, record, documents) => self.store.put(key, &record, &documents),
            Entry::Remove(key) => self.store.remove(key),
        }
    }

    /// Waits until what was logged is safe.
    pub(crate) fn safe(&self, logged: Logged) -> Result<(), Refusal> {
        let done = logged.and_then(|last| last.map_or(Ok(()), |last| self.store.wait(last)));
        Ok(self.noted(done)?)
    }

    /// Waits until all that was logged up to now is safe, for what is done because of it to
    /// stay right after a crash.
    pub(crate) fn all_safe(&self) -> Result<(), Refusal> {
        self.safe(Ok(Some(self.store.last())))
    }

    /// Tells of a store that is full or broken.
    pub(crate) fn noted<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        match &done {
            Err(error @ Error::Full(_)) => {
                if !self.is_full.swap(true, Ordering::Relaxed) {
                    self.tell(Event::Full(error.to_string()));
                }
            }
            // What a client asks for is at fault, and not the disk.
            Err(Error::TooLarge { .. }) | Ok(_) => {}
            Err(error) => {
                let why = error.to_string();
                if self.broken.set(why.clone()).is_ok() {
                    self.tell(Event::Broken(why));
                }
            }
        }
        done
    }

    /// A job was kept: where there was no room, there is now.
    pub(crate) fn has_room(&self) {
        if self.is_full.load(Ordering::Relaxed) && self.is_full.swap(false, Ordering::Relaxed) {
            self.tell(Event::Room);
        }
    }
}
