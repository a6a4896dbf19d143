//! The log: its entries, their durability, and the thread that writes for all.

use std::collections::{BTreeSet, HashMap};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use super::document::Document;
use super::error::{Error, FullReason};
use super::journal::{Journal, JournalRewrite, PlannedRecord, note};
use super::record::{self, Header, MARK, START};
use super::segments::Segments;
use super::{Durability, Store};

/// The part of a job that is in memory.
#[derive(Debug)]
pub(super) struct Entry {
    /// Position of the job's record in the journal.
    pub(super) offset: u64,
    pub(super) size: u32,
    pub(super) documents: Box<[Document]>,
}

/// State that all logging threads share.
#[derive(Debug, Default)]
pub(super) struct LogState {
    pub(super) index: HashMap<u32, Entry>,
    /// Bytes of the current records of all jobs.
    pub(super) live: u64,
    /// Position of the next record, after those that are not written yet.
    pub(super) end: u64,
    pub(super) pending: Batch,
    /// Number of the last logged entry, and of the last safe one.
    pub(super) logged: u64,
    pub(super) durable: u64,
    /// True while a thread writes for all.
    pub(super) leading: bool,
    /// Reason why nothing is accepted any more.
    pub(super) broken: Option<String>,
    /// Journal; `None` if everything is in memory.
    pub(super) journal: Option<Journal>,
    /// Progress of a rewrite: the end of the copied part in the old file, and in the new file.
    pub(super) rewriting: Option<(u64, u64)>,
}

/// Records that are written and synced together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Records without seals.
    pub(super) bytes: Vec<u8>,
    /// Documents that must be on the disk before the records.
    pub(super) fresh: Vec<Document>,
    /// Documents that nobody needs once the records are on the disk.
    pub(super) gone: Vec<Document>,
}

/// Destination of a batch in the journal.
struct BatchTarget {
    which: usize,
    file: std::sync::Arc<dyn super::disk::OpenFile>,
    copy: Option<std::sync::Arc<dyn super::disk::OpenFile>>,
    header: Header,
    sequence: u64,
    safe: u64,
    start: u64,
    end: u64,
    /// Number of the last entry in the batch.
    ticket: u64,
}

pub(super) type Guard<'a> = MutexGuard<'a, LogState>;

impl LogState {
    /// Returns the bytes of the journal that no job needs.
    fn garbage(&self) -> u64 {
        self.end.saturating_sub(START + self.live)
    }

    /// Returns a journal file that is too short for another record, and the length that it needs.
    fn short(&self, journal: &Journal, size: u64, new: bool) -> Option<(usize, u64)> {
        let (current, other) = (journal.current, journal.other());
        let size = size + MARK as u64;
        let spare = if new { journal.reserve(self.live + size) } else { 0 };
        let need = self.end + size + spare;
        if need > journal.capacity[current] {
            return Some((current, need));
        }
        let mut need = if new { START + self.live + size + spare } else { 0 };
        if let Some((boundary, end)) = self.rewriting {
            need = need.max(end + (self.end - boundary) + size);
        }
        (need > journal.capacity[other]).then_some((other, need))
    }

    /// Inserts a job into the index, and returns the documents that it had before.
    pub(super) fn enter(&mut self, id: u32, entry: Entry) -> Box<[Document]> {
        self.live += u64::from(entry.size);
        match self.index.insert(id, entry) {
            Some(old) => {
                self.live -= u64::from(old.size);
                old.documents
            }
            None => Box::default(),
        }
    }

    /// Takes the unwritten records and their destination; `None` if there is no journal.
    fn batch(&mut self) -> Option<(Batch, BatchTarget)> {
        let journal = self.journal.as_ref()?;
        let place = BatchTarget {
            which: journal.current,
            file: std::sync::Arc::clone(&journal.files[journal.current]),
            copy: journal.copy.clone(),
            header: journal.header,
            sequence: journal.sequence,
            safe: journal.safe,
            start: journal.written,
            end: self.end,
            ticket: self.logged,
        };
        Some((std::mem::take(&mut self.pending), place))
    }

    /// Begins a rewrite of the written records; `None` if there is no room.
    fn begin_rewriting(&mut self) -> Result<Option<JournalRewrite>, Error> {
        let Some(journal) = self.journal.as_mut() else { return Ok(None) };
        let (other, boundary) = (journal.other(), journal.written);
        let need = START + self.live + (self.end - boundary) + MARK as u64;
        if need > journal.capacity[other] {
            match journal.grow(other, need) {
                Err(error) if error.is_full() => return Ok(None),
                grown => grown?,
            }
        }
        let written = self.index.iter().filter(|(_, entry)| entry.offset < boundary);
        let plan = written
            .map(|(id, entry)| PlannedRecord { offset: entry.offset, id: *id, size: entry.size })
            .collect();
        let rewriting = journal.rewriting(plan);
        self.rewriting = Some((boundary, rewriting.end));
        Ok(Some(rewriting))
    }

    /// Continues with the new file.
    fn end_rewriting(&mut self, rewriting: &JournalRewrite) {
        let Some((boundary, end)) = self.rewriting.take() else { return };
        let mut at = START;
        for planned in &rewriting.plan {
            if let Some(entry) = self.index.get_mut(&planned.id)
                && entry.offset == planned.offset
            {
                entry.offset = at;
            }
            at += u64::from(planned.size);
        }
        // Unwritten records follow. Copied records lie before the boundary in both files.
        for entry in self.index.values_mut().filter(|entry| entry.offset >= boundary) {
            entry.offset = entry.offset - boundary + end;
        }
        self.end = self.end - boundary + end;
        if let Some(journal) = self.journal.as_mut() {
            journal.switch(rewriting);
        }
    }
}

impl Store {
    /// Makes room in the journal for another record. Waits only if the disk is full.
    pub(super) fn room<'a>(
        &'a self,
        mut log: Guard<'a>,
        size: u64,
        new: bool,
    ) -> Result<Guard<'a>, Error> {
        let mut rewritten = false;
        loop {
            self.check(&log)?;
            let (garbage, live) = (log.garbage(), log.live);
            let Some(journal) = log.journal.as_ref() else { return Ok(log) };
            let Some((which, need)) = log.short(journal, size, new) else { return Ok(log) };
            let worth = garbage >= live.max(journal.garbage) && which == journal.current;
            let cached = self.durability == Durability::Cache;
            if cached && worth && !rewritten && journal.retired() {
                self.rewrite_cached(&mut log)?;
                rewritten = true;
                continue;
            }
            let grown = log.journal.as_mut().map_or(Ok(()), |journal| journal.grow(which, need));
            match grown {
                // Space that no document needs is better used here.
                Err(error) if error.is_full() => {
                    if self.segments.shrink() {
                        continue;
                    }
                }
                grown => {
                    grown?;
                    continue;
                }
            }
            if rewritten || garbage == 0 {
                return Err(Error::Full(FullReason::Disk));
            }
            if cached {
                self.rewrite_cached(&mut log)?;
            } else if log.leading {
                log = self.sleep(log);
                continue;
            } else {
                self.lead(log, true)?;
                log = self.lock();
            }
            rewritten = true;
        }
    }

    /// Logs the records that `encode` appends without seals, and returns the position of the first.
    /// Without syncs, the records are written at once.
    pub(super) fn log(
        &self,
        log: &mut LogState,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u64, Error> {
        let offset = log.end;
        let bytes = &mut log.pending.bytes;
        let before = bytes.len();
        encode(bytes);
        let size = (bytes.len() - before) as u64;
        if self.durability == Durability::Cache
            && let Some(journal) = log.journal.as_mut()
        {
            let count = record::seal_all(bytes, &journal.header, journal.sequence, journal.safe);
            let written = journal.files[journal.current].write_at([bytes, &[]], offset);
            bytes.clear();
            written.map_err(journal.io("write", journal.current))?;
            journal.written = offset + size;
            journal.sequence += count;
            journal.note();
        }
        log.end = offset + size;
        Ok(offset)
    }

    /// Writes and syncs for all waiting threads, and rewrites the journal if that is worth it or
    /// requested.
    pub(super) fn lead(&self, mut log: Guard<'_>, rewrite: bool) -> Result<(), Error> {
        log.leading = true;
        let Some((mut batch, place)) = log.batch() else { return Ok(()) };
        drop(log);
        let written = self.write(&mut batch, &place);
        let mut log = self.lock();
        match written {
            Ok(count) => self.is_safe(&mut log, &batch, &place, count),
            Err(error) => return Err(self.breaks(&mut log, &error, batch)),
        }
        let least = log.journal.as_ref().map_or(u64::MAX, |journal| journal.garbage);
        let worth = log.garbage() >= log.live.max(least);
        if rewrite || worth {
            // Threads that waited for this batch need not wait for the rewrite.
            self.safer.notify_all();
            let done = self.rewrite_synced(log);
            log = self.lock();
            if let Err(error) = done {
                return Err(self.breaks(&mut log, &error, batch));
            }
        }
        log.leading = false;
        drop(log);
        self.safer.notify_all();
        Ok(())
    }

    /// Records that a batch of `count` records is on the disk. The caller notifies the waiting
    /// threads.
    fn is_safe(&self, log: &mut LogState, batch: &Batch, place: &BatchTarget, count: u64) {
        if let Some(journal) = log.journal.as_mut() {
            journal.written = place.end;
            journal.safe = place.end;
            journal.sequence += count;
        }
        log.durable = place.ticket;
        self.safe.store(place.ticket, Ordering::Release);
        batch.fresh.iter().for_each(Document::set_safe);
    }

    /// Marks the store as broken. Documents whose removal is uncertain are kept.
    pub(super) fn breaks(&self, log: &mut LogState, error: &Error, batch: Batch) -> Error {
        let text = error.to_string();
        self.segments.freeze();
        log.broken = Some(text.clone());
        log.leading = false;
        log.pending.gone.extend(batch.gone);
        self.safer.notify_all();
        Error::Broken(text)
    }

    /// Seals a batch and writes it, after syncing its documents. Returns its number of records.
    fn write(&self, batch: &mut Batch, place: &BatchTarget) -> Result<u64, Error> {
        if batch.bytes.is_empty() {
            return Ok(0);
        }
        let count = record::seal_all(&mut batch.bytes, &place.header, place.sequence, place.safe);
        sync_documents(&self.segments, &batch.fresh)?;
        let io = |during| Error::io(during, self.disk.path(super::journal::NAMES[place.which]));
        place.file.write_at([&batch.bytes, &[]], place.start).map_err(io("write"))?;
        place.file.sync().map_err(io("sync"))?;
        note(place.copy.as_deref(), &place.header, place.end);
        Ok(count)
    }

    fn rewrite_synced(&self, mut log: Guard<'_>) -> Result<(), Error> {
        // Writes the entries logged in the meantime first, while nothing more is logged. Otherwise
        // a job whose new record is unwritten would be in neither file, as its old record no longer
        // counts.
        let Some((mut batch, place)) = log.batch() else { return Ok(()) };
        match self.write(&mut batch, &place) {
            Ok(count) => self.is_safe(&mut log, &batch, &place, count),
            Err(error) => {
                log.pending.gone.append(&mut batch.gone);
                return Err(error);
            }
        }
        self.safer.notify_all();
        let Some(rewriting) = log.begin_rewriting()? else { return Ok(()) };
        drop(log);
        drop(batch);
        rewriting.copy(|_, _| Ok(()))?;
        rewriting.commit()?;
        self.lock().end_rewriting(&rewriting);
        Ok(())
    }

    fn rewrite_cached(&self, log: &mut LogState) -> Result<(), Error> {
        if let Some(journal) = log.journal.as_mut() {
            journal.retire();
        }
        let done = log.begin_rewriting().and_then(|rewriting| {
            let Some(rewriting) = rewriting else { return Ok(()) };
            rewriting.copy(|_, _| Ok(()))?;
            log.end_rewriting(&rewriting);
            let retiring = rewriting.commit_later()?;
            if let Some(journal) = log.journal.as_mut() {
                journal.retiring = retiring;
            }
            Ok(())
        });
        done.map_err(|error| self.breaks(log, &error, Batch::default()))
    }
}

/// Waits until the documents, and the names of their files, are on the disk.
pub(super) fn sync_documents(segments: &Segments, documents: &[Document]) -> Result<(), Error> {
    let fresh = documents.iter().filter(|document| !document.is_safe());
    let numbers: BTreeSet<u32> =
        fresh.flat_map(Document::extents).map(|extent| extent.start / segments.size).collect();
    if numbers.is_empty() {
        return Ok(());
    }
    segments.sync_names().map_err(segments.io("sync", ""))?;
    numbers.into_iter().try_for_each(|number| segments.sync(number))
}
