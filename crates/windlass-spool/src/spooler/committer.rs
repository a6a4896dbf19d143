//! Durability of the table's changes. They are logged in order, the disk is awaited if that was
//! promised, and a full or failing disk is reported.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use windlass_spool_core::{Entry, Event, Refusal};

use crate::store::{Durability, Error, Store, Ticket};
use crate::table::JobTable;

/// Receiver of events.
type EventListener = Box<dyn Fn(Event) + Send + Sync>;

/// Ticket of the last change that was logged, if any.
pub(crate) type LogResult = Result<Option<Ticket>, Error>;

/// A store, and its health.
pub(crate) struct Committer {
    pub(crate) store: Store,
    pub(crate) durability: Durability,
    /// Keys of the changes that the journal had no room for.
    unlogged: Mutex<BTreeSet<u32>>,
    is_full: AtomicBool,
    /// Reason why the store is broken.
    broken: OnceLock<String>,
    heard: EventListener,
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
    pub(crate) fn new(store: Store, durability: Durability, heard: EventListener) -> Self {
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

    /// Returns whether the store is broken.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    /// Fails if the store is broken.
    pub(crate) fn usable(&self) -> Result<(), Refusal> {
        self.broken.get().map_or(Ok(()), |why| Err(Refusal::Broken(why.clone())))
    }

    /// Fails if there is no room for another job's documents.
    pub(crate) fn room(&self) -> Result<(), Refusal> {
        Ok(self.noted(self.store.has_room())?)
    }

    /// Logs changes in their current state; the caller holds the table's lock. Changes that did not
    /// fit before are tried again each time, or the next start would not know of them. Nobody whose
    /// change is logged hears of them.
    pub(crate) fn log(&self, table: &JobTable, changes: Vec<u32>) -> LogResult {
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
        // Consecutive removals share one write.
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

    /// Returns whether changes still wait for room in the journal.
    pub(crate) fn owes(&self) -> bool {
        !self.unlogged.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn log_one(&self, table: &JobTable, key: u32) -> Result<Ticket, Error> {
        match table.entry(key) {
            Entry::Put(key, record, documents) => self.store.put(key, &record, &documents),
            Entry::Remove(key) => self.store.remove(key),
        }
    }

    /// Waits until the logged change is durable.
    pub(crate) fn safe(&self, logged: LogResult) -> Result<(), Refusal> {
        let done = logged.and_then(|last| last.map_or(Ok(()), |last| self.store.wait(last)));
        Ok(self.noted(done)?)
    }

    /// Waits until everything logged so far is durable, so that actions that depend on it are right
    /// after a crash.
    pub(crate) fn all_safe(&self) -> Result<(), Refusal> {
        self.safe(Ok(Some(self.store.last())))
    }

    /// Reports a full or broken store.
    pub(crate) fn noted<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        match &done {
            Err(error @ Error::Full(_)) => {
                if !self.is_full.swap(true, Ordering::Relaxed) {
                    self.tell(Event::Full(error.to_string()));
                }
            }
            // The client's request is at fault, not the disk.
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

    /// Reports that a full store has room again, after a job was stored.
    pub(crate) fn has_room(&self) {
        if self.is_full.load(Ordering::Relaxed) && self.is_full.swap(false, Ordering::Relaxed) {
            self.tell(Event::Room);
        }
    }
}
