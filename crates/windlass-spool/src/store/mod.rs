//! Storage of jobs on the disk: documents in large files, everything else in a journal.
//!
//! ```no_run
//! # use std::path::Path;
//! # use windlass_spool::store::{Durability, Settings, Store};
//! # fn main() -> Result<(), windlass_spool::store::Error> {
//! let settings = Settings { durability: Durability::Fsync, most: None };
//! let (store, kept) = Store::open(Path::new("/var/spool/windlass"), settings)?;
//! let mut draft = store.draft();
//! draft.append(b"the data, piece by piece")?;
//! let document = draft.finish()?;
//! let ticket = store.put(7, b"held, of queue a", std::slice::from_ref(&document))?;
//! store.wait(ticket)?; // the client may be told now
//! std::io::copy(&mut document.reader(), &mut std::io::sink()).ok();
//! store.remove(7)?;
//! # Ok(())
//! # }
//! ```
//!
//! Jobs become durable in the order in which they are logged. A start finds everything up to some
//! point of the log, and at least everything that was waited for.

mod behind;
mod disk;
mod document;
mod error;
mod journal;
mod load;
mod log;
mod record;
mod salvage;
mod scan;
mod segments;
mod space;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use disk::{Disk, Folder, Memory};
use log::{Entry, Guard, LogState};
use record::{MAX_BODY, RecordKind};
use segments::Segments;
use serde::{Deserialize, Serialize};

pub use document::{Document, Draft, Reader};
pub use error::{Error, FullReason};
#[doc(hidden)]
pub use load::{ReadJob, read_journal};
pub use salvage::{Fate, Findings, SalvagedRecord, salvage};
#[doc(hidden)]
pub use salvage::{Survivor, survivors};
pub use windlass_spool_core::MAX_RECORD;

/// Conditions for a job to be safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Never: everything is in memory and ends with the process.
    Memory,
    /// Once the kernel has the data: it survives the process, but not a loss of power.
    Cache,
    /// Once the data is on the disk.
    Fsync,
}

/// Settings of a store.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Condition for a job to be safe.
    pub durability: Durability,
    /// Maximum number of bytes of all documents; `None`: limited by the disk. Each document takes
    /// whole pages of 4,096 bytes.
    pub most: Option<u64>,
}

/// A job that an earlier server stored.
pub type StoredJob = windlass_spool_core::StoredRecord<Document>;

/// Findings of a start besides the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// True if the machine stopped while jobs were not synced ([`Durability::Cache`]). Documents
    /// may hold anything, even the data of other jobs, and removed jobs may be back.
    pub uncertain: bool,
    /// True if some of the last records are intact, after others that are not. Nobody was told that
    /// they are safe, and they are left out.
    pub cut: bool,
    /// True if the journal does not end with the mark of the last write. The record that was being
    /// written when the server ended is incomplete, or more is missing.
    pub torn: bool,
    /// Minimum number of journal bytes that were written and are missing. The machine stopped while
    /// they were not synced ([`Durability::Cache`]), and the jobs in them are lost.
    pub missing: u64,
    /// Jobs whose documents are missing. These jobs are removed.
    pub lost: Vec<u32>,
}

/// A position in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Usage of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Number of jobs.
    pub jobs: u64,
    /// Bytes of documents.
    pub documents: u64,
    /// Bytes of the pages that documents and drafts occupy.
    pub taken: u64,
    /// Bytes of all files on the disk.
    pub files: u64,
    /// Bytes that documents may still take, as an estimate.
    pub free: u64,
}

/// Store of jobs, shared by all threads.
#[derive(Debug)]
pub struct Store {
    durability: Durability,
    disk: Arc<dyn Disk>,
    segments: Arc<Segments>,
    log: Mutex<LogState>,
    /// Notified when more is safe, or when nobody leads.
    safer: Condvar,
    /// Position of the last safe entry, for threads that need not wait.
    safe: AtomicU64,
    recovery: Recovery,
    /// Thread that removes written documents from memory.
    behind: Option<JoinHandle<()>>,
    ended: bool,
}

/// Sizes that tests reduce.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Size of a segment in units.
    segment: u32,
    /// Size of a new journal in bytes.
    journal: u64,
    /// Minimum garbage in bytes for a rewrite of the journal; `None`: depends on the disk.
    garbage: Option<u64>,
}

impl Default for Shape {
    fn default() -> Self {
        // 64 MiB.
        Self { segment: 16_384, journal: 256 << 10, garbage: None }
    }
}

impl Store {
    /// Opens the store in a folder, which is created if need be, and returns its jobs. Nobody else
    /// can open the folder while the store, or one of its documents, exists. With
    /// [`Durability::Memory`] the folder is not used.
    ///
    /// # Errors
    /// Another server uses the folder, the system reports an error, or the content is damaged or of
    /// another version.
    pub fn open(folder: &Path, settings: Settings) -> Result<(Self, Vec<StoredJob>), Error> {
        let shape = Shape::default();
        match settings.durability {
            Durability::Memory => Ok((Self::in_memory(settings, shape), Vec::new())),
            _ => load::open(Arc::new(Folder::open(folder)?), settings, shape),
        }
    }

    fn in_memory(settings: Settings, shape: Shape) -> Self {
        let disk: Arc<dyn Disk> = Arc::new(Memory);
        let segments = Segments::new(Arc::clone(&disk), shape.segment, settings.most);
        Self::new(
            settings.durability,
            disk,
            Arc::new(segments),
            LogState::default(),
            Recovery::default(),
        )
    }

    fn new(
        durability: Durability,
        disk: Arc<dyn Disk>,
        segments: Arc<Segments>,
        log: LogState,
        recovery: Recovery,
    ) -> Self {
        let behind = segments.has_behind().then(|| {
            let segments = Arc::clone(&segments);
            thread::Builder::new().name("behind".to_owned()).spawn(move || segments.work_behind())
        });
        Self {
            durability,
            disk,
            segments,
            log: Mutex::new(log),
            safer: Condvar::new(),
            safe: AtomicU64::new(0),
            recovery,
            // Without this thread, the kernel does the same in its own time.
            behind: behind.and_then(Result::ok),
            ended: false,
        }
    }

    /// Returns the findings of the start besides the jobs.
    pub const fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Begins a document. It takes no space before its first bytes.
    pub fn draft(&self) -> Draft {
        Draft::new(Arc::clone(&self.segments))
    }

    /// Fails if there is no room for a document, as far as is known before it arrives.
    ///
    /// # Errors
    /// There is no room.
    pub fn has_room(&self) -> Result<(), Error> {
        self.segments.has_room()
    }

    /// Logs a job, or its new state. Earlier records of the job no longer count, and documents that
    /// are not listed here are freed. Waits for the disk only if the disk is full.
    ///
    /// # Errors
    /// There is no room for a new job, or the disk rejects the record; nothing has changed then.
    ///
    /// # Panics
    /// A document belongs to another store.
    pub fn put(&self, id: u32, record: &[u8], documents: &[Document]) -> Result<Ticket, Error> {
        assert!(
            documents.iter().all(|document| document.is_of(&self.segments)),
            "a document is of another store"
        );
        let size = record::put_size(record.len(), documents.iter().map(Document::extents));
        for (bytes, most) in [(record.len(), MAX_RECORD), (size, MAX_BODY)] {
            if bytes > most {
                return Err(Error::TooLarge { bytes, most });
            }
        }
        let mut log = self.lock();
        let new = !log.index.contains_key(&id);
        log = self.room(log, size as u64, new)?;
        let offset = match self.durability {
            Durability::Memory => 0,
            _ => self.log(&mut log, |to| {
                let documents = documents
                    .iter()
                    .map(|document| (document.size(), document.sum(), document.extents()));
                record::encode(
                    RecordKind::Put,
                    id,
                    |to| record::encode_put(record, documents, to),
                    to,
                );
            })?,
        };
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let gone = log.enter(id, Entry { offset, size, documents: documents.into() });
        if self.durability == Durability::Fsync {
            let fresh = documents.iter().filter(|document| !document.is_safe()).cloned();
            log.pending.fresh.extend(fresh);
        }
        Ok(self.logged(log, gone))
    }

    /// Logs the removal of a job, as [`Self::remove_all`] does.
    ///
    /// # Errors
    /// The disk rejects the record.
    pub fn remove(&self, id: u32) -> Result<Ticket, Error> {
        self.remove_all(&[id])
    }

    /// Logs the removal of jobs with one write. Their space is reused once the removal is safe and
    /// nobody reads it. Unknown numbers change nothing.
    ///
    /// # Errors
    /// The disk rejects the records; no job is removed then.
    pub fn remove_all(&self, ids: &[u32]) -> Result<Ticket, Error> {
        let mut log = self.lock();
        self.check(&log)?;
        let mut going: Vec<u32> =
            ids.iter().copied().filter(|id| log.index.contains_key(id)).collect();
        going.sort_unstable();
        going.dedup();
        if going.is_empty() {
            return Ok(Ticket(log.logged));
        }
        if self.durability != Durability::Memory {
            log = self.room(log, (going.len() * record::HEAD) as u64, false)?;
            self.log(&mut log, |to| {
                for id in &going {
                    record::encode(RecordKind::Remove, *id, |_| {}, to);
                }
            })?;
        }
        let mut gone = Vec::new();
        for id in &going {
            if let Some(entry) = log.index.remove(id) {
                log.live -= u64::from(entry.size);
                gone.extend(entry.documents);
            }
        }
        Ok(self.logged(log, gone))
    }

    /// Returns the last position in the log.
    pub fn last(&self) -> Ticket {
        Ticket(self.lock().logged)
    }

    /// Waits until everything logged up to the ticket is safe. One waiting thread writes for all of
    /// them.
    ///
    /// # Errors
    /// The log cannot be made safe; the store accepts nothing more then.
    pub fn wait(&self, ticket: Ticket) -> Result<(), Error> {
        if self.durability != Durability::Fsync || self.safe.load(Ordering::Acquire) >= ticket.0 {
            return Ok(());
        }
        let mut log = self.lock();
        while log.durable < ticket.0 {
            self.check(&log)?;
            if log.leading {
                log = self.sleep(log);
            } else {
                self.lead(log, false)?;
                log = self.lock();
            }
        }
        Ok(())
    }

    /// Returns the usage of the store.
    pub fn usage(&self) -> Usage {
        let (jobs, journal) = {
            let log = self.lock();
            let journal = log.journal.as_ref().map_or(0, |journal| journal.capacity.iter().sum());
            (log.index.len() as u64, journal)
        };
        let held = self.segments.usage();
        Usage { jobs, files: held.files + journal, ..held }
    }

    /// Releases memory that many jobs needed and few need.
    pub fn shrink_to_fit(&self) {
        self.lock().index.shrink_to_fit();
    }

    /// Closes the store, with all data on the disk. Dropping the store does the same, without
    /// reporting errors.
    ///
    /// # Errors
    /// Data could not be synced.
    pub fn close(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        self.segments.behind.stop();
        if let Some(behind) = self.behind.take() {
            let _ = behind.join();
        }
        // The jobs stay stored, although their documents are dropped.
        self.segments.freeze();
        if self.durability == Durability::Memory {
            return Ok(());
        }
        let mut log = self.lock();
        self.check(&log)?;
        if let Some(journal) = log.journal.as_mut() {
            journal.retire();
        }
        if self.durability == Durability::Cache {
            self.segments.sync_all()?;
        }
        log = self.room(log, record::HEAD as u64, false)?;
        self.log(&mut log, |to| {
            record::encode(RecordKind::Closed, 0, |_| {}, to);
        })?;
        log.logged += 1;
        if self.durability == Durability::Fsync {
            return self.lead(log, false);
        }
        let Some(journal) = log.journal.as_ref() else { return Ok(()) };
        let (file, which) = (&journal.files[journal.current], journal.current);
        file.sync().map_err(journal.io("sync", which))?;
        // The whole journal is on the disk now.
        let header = record::Header { synced: true, ..journal.header };
        journal::note(journal.copy.as_deref(), &header, journal.written);
        Ok(())
    }

    /// Completes a log entry: removed documents are freed once the removal is safe.
    fn logged(&self, mut log: Guard<'_>, gone: impl IntoIterator<Item = Document>) -> Ticket {
        log.logged += 1;
        let ticket = Ticket(log.logged);
        if self.durability == Durability::Fsync {
            log.pending.gone.extend(gone);
        } else {
            drop(log);
            drop(gone);
        }
        ticket
    }

    fn check(&self, log: &LogState) -> Result<(), Error> {
        log.broken.as_ref().map_or(Ok(()), |text| Err(Error::Broken(text.clone())))
    }

    fn lock(&self) -> Guard<'_> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'a>(&self, log: Guard<'a>) -> Guard<'a> {
        self.safer.wait(log).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Callers that need the error call `close`.
        let _ = self.end();
    }
}

#[cfg(test)]
pub(super) mod tests;
