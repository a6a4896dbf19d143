//! Keeps jobs on the disk: their documents in big files, what else is known of
//! them in a journal.
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
//! The order in which jobs are logged is the order in which they are safe: a start
//! finds what was logged up to some point, and never less than what was waited for.

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
use log::{Entry, Guard, Log};
use record::{Kind, MAX_BODY};
use segments::Segments;
use serde::{Deserialize, Serialize};

pub use document::{Document, Draft, Reader};
pub use error::{Error, Full};
#[doc(hidden)]
pub use load::{ReadJob, read_journal};
pub use salvage::{Fate, Findings, Found, salvage};
#[doc(hidden)]
pub use salvage::{Survivor, survivors};
pub use windlass_spool_core::MAX_RECORD;

/// When a job is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Never: all is in memory, and ends with the process.
    Memory,
    /// When the kernel has it: it outlives the process, however that ends, but not
    /// a loss of power.
    Cache,
    /// When it is on the disk.
    Fsync,
}

/// How a spool is kept.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// When a job is safe.
    pub durability: Durability,
    /// The most bytes that documents may take; without it, what the disk has.
    /// Each document takes whole pages of 4,096 bytes.
    pub most: Option<u64>,
}

/// A job that an earlier server left.
pub type Kept = windlass_spool_core::Kept<Document>;

/// What a start found besides the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The machine ended while jobs were not synced ([`Durability::Cache`]):
    /// documents may hold anything, the data of other jobs too, and jobs that were
    /// removed may be back.
    pub uncertain: bool,
    /// Parts of what was logged last are there, behind others that are not. Nobody
    /// was told that they are safe, and they are left out.
    pub cut: bool,
    /// The journal does not end with the mark that the last write left: what was
    /// being logged when the server ended is not there in whole, or more is missing.
    pub torn: bool,
    /// Bytes of the journal that were written and are not there, at least: the machine
    /// ended while they were not synced ([`Durability::Cache`]), and the jobs in them
    /// are lost.
    pub missing: u64,
    /// Jobs whose documents are not there. They are removed.
    pub lost: Vec<u32>,
}

/// A point in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What a spool holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Jobs.
    pub jobs: u64,
    /// Bytes of documents.
    pub documents: u64,
    /// Bytes of the pages that documents and drafts take.
    pub taken: u64,
    /// Bytes of all files on the disk.
    pub files: u64,
    /// Bytes that documents may still take, as far as is known.
    pub free: u64,
}

/// Jobs, kept. It is shared by all threads.
#[derive(Debug)]
pub struct Store {
    durability: Durability,
    disk: Arc<dyn Disk>,
    segments: Arc<Segments>,
    log: Mutex<Log>,
    /// More is safe than before, or nobody leads.
    safer: Condvar,
    /// The last that is safe, for those who need not wait.
    safe: AtomicU64,
    recovery: Recovery,
    /// Takes from the memory what need not be there.
    behind: Option<JoinHandle<()>>,
    ended: bool,
}

/// Sizes that tests make small.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Units of a segment.
    segment: u32,
    /// Bytes of a new journal.
    journal: u64,
    /// Garbage below this is not worth rewriting the journal; `None` goes by the
    /// disk.
    garbage: Option<u64>,
}

impl Default for Shape {
    fn default() -> Self {
        // 64 MiB.
        Self { segment: 16_384, journal: 256 << 10, garbage: None }
    }
}

impl Store {
    /// Opens the spool in a folder, made if need be, and gives back all jobs that
    /// it keeps. Nobody else can open it as long as this, or one of its documents,
    /// is there. With [`Durability::Memory`] the folder is not looked at.
    ///
    /// # Errors
    /// Where another server has it, the system says no, or what is there is
    /// damaged or of another version.
    pub fn open(folder: &Path, settings: Settings) -> Result<(Self, Vec<Kept>), Error> {
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
            Log::default(),
            Recovery::default(),
        )
    }

    fn new(
        durability: Durability,
        disk: Arc<dyn Disk>,
        segments: Arc<Segments>,
        log: Log,
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
            // Without it the kernel does the same in its own time.
            behind: behind.and_then(Result::ok),
            ended: false,
        }
    }

    /// What the start found besides the jobs.
    pub const fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Begins a document. No space is taken before its first bytes.
    pub fn draft(&self) -> Draft {
        Draft::new(Arc::clone(&self.segments))
    }

    /// Whether there is room for a document, as far as can be told before it comes.
    ///
    /// # Errors
    /// Where there is none.
    pub fn has_room(&self) -> Result<(), Error> {
        self.segments.has_room()
    }

    /// Logs a job, or its new state: what was logged of it before counts no more,
    /// and documents that are not named here are not kept. It does not wait for
    /// the disk, but where that is full.
    ///
    /// # Errors
    /// Where there is no room for a new job, or the disk does not take it: then
    /// nothing has changed.
    ///
    /// # Panics
    /// Where a document is of another store.
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
                record::encode(Kind::Put, id, |to| record::encode_put(record, documents, to), to);
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

    /// Logs that a job has gone; else as [`Self::remove_all`].
    ///
    /// # Errors
    /// Where the disk does not take it.
    pub fn remove(&self, id: u32) -> Result<Ticket, Error> {
        self.remove_all(&[id])
    }

    /// Logs that jobs have gone, with one write. Their space is used again when that is
    /// safe and nobody reads it. A number that no job has changes nothing.
    ///
    /// # Errors
    /// Where the disk does not take it: then none of them has gone.
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
                    record::encode(Kind::Remove, *id, |_| {}, to);
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

    /// The last point in the log.
    pub fn last(&self) -> Ticket {
        Ticket(self.lock().logged)
    }

    /// Until all that was logged up to there is safe. One who waits writes for all
    /// who do.
    ///
    /// # Errors
    /// Where it cannot be made safe: then nothing more is taken.
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

    /// What it holds.
    pub fn usage(&self) -> Usage {
        let (jobs, journal) = {
            let log = self.lock();
            let journal = log.journal.as_ref().map_or(0, |journal| journal.capacity.iter().sum());
            (log.index.len() as u64, journal)
        };
        let held = self.segments.usage();
        Usage { jobs, files: held.files + journal, ..held }
    }

    /// Gives memory back that many jobs had and few need.
    pub fn shrink_to_fit(&self) {
        self.lock().index.shrink_to_fit();
    }

    /// Ends it in good order, with all on the disk. Dropping it does the same, and
    /// tells nobody what went wrong.
    ///
    /// # Errors
    /// Where something could not be synced.
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
        // The jobs stay, though their documents are dropped.
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
            record::encode(Kind::Closed, 0, |_| {}, to);
        })?;
        log.logged += 1;
        if self.durability == Durability::Fsync {
            return self.lead(log, false);
        }
        let Some(journal) = log.journal.as_ref() else { return Ok(()) };
        let (file, which) = (&journal.files[journal.current], journal.current);
        file.sync().map_err(journal.io("sync", which))?;
        // All of it is on the disk now.
        let header = record::Header { synced: true, ..journal.header };
        journal::note(journal.copy.as_deref(), &header, journal.written);
        Ok(())
    }

    /// The end of each logging: what has gone is freed when that is safe.
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

    fn check(&self, log: &Log) -> Result<(), Error> {
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
        // Whoever wants to know closes it.
        let _ = self.end();
    }
}

#[cfg(test)]
pub(super) mod tests;
