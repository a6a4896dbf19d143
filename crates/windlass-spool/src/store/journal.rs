//! The journal's two files. One is written to. The other replaces it when most records of the first
//! are obsolete. Both have their full length in advance, so that on a full disk jobs can still be
//! removed.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::disk::{Disk, OpenFile};
use super::error::Error;
use super::record::{self, Header, START};
use super::scan::Window;

/// Names of the two files.
pub(super) const NAMES: [&str; 2] = ["journal.a", "journal.b"];

/// Name of the file with a copy of the current header. Its `safe` field is the minimum length of
/// the journal: if the journal ends before, records are missing. The copy is never synced, so that
/// it costs the disk nothing.
pub(super) const COPY: &str = "journal.head";

/// Number of bytes written without a sync before the copy is updated.
const NOTED: u64 = 32 << 10;

/// Maximum growth of a file at once in bytes, unless more is needed.
const MAX_STEP: u64 = 8 << 20;
/// Bytes that are written at once.
const CHUNK: usize = 1 << 20;

/// The journal's files and their state.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) files: [Arc<dyn OpenFile>; 2],
    /// File with the copy of the header, if there is room for one.
    pub(super) copy: Option<Arc<dyn OpenFile>>,
    /// Length that the copy states.
    pub(super) noted: u64,
    /// Bytes reserved on the disk for each file.
    pub(super) capacity: [u64; 2],
    /// Index of the file that is written to.
    pub(super) current: usize,
    pub(super) header: Header,
    /// Sequence number of the next record.
    pub(super) sequence: u64,
    /// Position of the next record.
    pub(super) written: u64,
    /// Position up to which the journal is on the disk.
    pub(super) safe: u64,
    /// True if records are synced before they count.
    pub(super) synced: bool,
    /// Minimum growth of a file in bytes, if there is room.
    pub(super) step: u64,
    /// Minimum garbage in bytes for a rewrite.
    pub(super) garbage: u64,
    /// Thread that syncs the new file after a rewrite that did not wait for the sync.
    pub(super) retiring: Option<JoinHandle<()>>,
}

/// A record to be copied into a new file.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRecord {
    pub(super) offset: u64,
    pub(super) id: u32,
    pub(super) size: u32,
}

/// A rewrite of the journal into its other file.
#[derive(Debug)]
pub(super) struct JournalRewrite {
    pub(super) plan: Vec<PlannedRecord>,
    /// End of the new file's records.
    pub(super) end: u64,
    disk: Arc<dyn Disk>,
    copy: Option<Arc<dyn OpenFile>>,
    from: (usize, Arc<dyn OpenFile>, Header),
    to: (usize, Arc<dyn OpenFile>, Header),
}

impl Journal {
    /// Returns the bytes that stay free for removals and changes, with `live` bytes of records.
    /// Even then, a rewrite costs only a few bytes for each logged byte.
    pub(super) const fn reserve(&self, live: u64) -> u64 {
        self.step / 4 + live / 4
    }

    /// Returns the index of the file that is not written to.
    pub(super) const fn other(&self) -> usize {
        1 - self.current
    }

    /// Extends a file to at least `need` bytes.
    pub(super) fn grow(&mut self, which: usize, need: u64) -> Result<(), Error> {
        let start = self.capacity[which];
        let least = need.saturating_sub(start).next_multiple_of(4_096);
        let mut step = (start / 2).clamp(self.step, MAX_STEP).next_multiple_of(4_096).max(least);
        let file = &self.files[which];
        loop {
            match file.allocate(start..start + step).map_err(self.io("reserve space in", which)) {
                Ok(()) => break,
                Err(error) if error.is_full() && step > least => step = (step / 2).max(least),
                Err(error) => return Err(error),
            }
        }
        if self.synced {
            // A page that was written before needs no entry in the file system's own journal when
            // it is synced.
            let zeros = vec![0; CHUNK];
            let mut at = start;
            while at < start + step {
                let length = CHUNK.min(usize::try_from(start + step - at).unwrap_or(CHUNK));
                let pieces = [&zeros[..length], &[][..]];
                file.write_at(pieces, at).map_err(self.io("write", which))?;
                at += length as u64;
            }
        }
        self.capacity[which] = start + step;
        Ok(())
    }

    /// Begins a rewrite into the other file, which is long enough.
    pub(super) fn rewriting(&self, mut plan: Vec<PlannedRecord>) -> JournalRewrite {
        plan.sort_unstable_by_key(|planned| planned.offset);
        let end = START + plan.iter().map(|planned| u64::from(planned.size)).sum::<u64>();
        let (current, other) = (self.current, self.other());
        let header = Header {
            live: true,
            generation: self.header.generation + 1,
            salt: salt(),
            segment: self.header.segment,
            synced: self.synced,
            boot: self.disk.boot(),
            copied: end,
            safe: if self.synced { end } else { START },
        };
        JournalRewrite {
            plan,
            end,
            disk: Arc::clone(&self.disk),
            copy: self.copy.clone(),
            from: (current, Arc::clone(&self.files[current]), self.header),
            to: (other, Arc::clone(&self.files[other]), header),
        }
    }

    /// Continues with the rewritten file.
    pub(super) fn switch(&mut self, rewriting: &JournalRewrite) {
        self.current = rewriting.to.0;
        self.header = rewriting.to.2;
        self.sequence = rewriting.plan.len() as u64;
        self.written = rewriting.end;
        self.safe = self.header.safe;
        self.noted = rewriting.end;
    }

    /// Updates the length in the header's copy, without a sync.
    pub(super) fn note(&mut self) {
        if self.written - self.noted >= NOTED {
            note(self.copy.as_deref(), &self.header, self.written);
            self.noted = self.written;
        }
    }

    /// Returns whether a rewrite may begin without waiting for the end of the last one.
    pub(super) fn retired(&self) -> bool {
        self.retiring.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the last rewrite.
    pub(super) fn retire(&mut self) {
        if let Some(retiring) = self.retiring.take() {
            // The thread returns nothing.
            let _ = retiring.join();
        }
    }

    pub(super) fn io(
        &self,
        during: &'static str,
        which: usize,
    ) -> impl FnOnce(std::io::Error) -> Error {
        Error::io(during, self.disk.path(NAMES[which]))
    }
}

impl JournalRewrite {
    /// Copies the records. The new file counts only after [`Self::commit`].
    pub(super) fn copy(
        &self,
        mut each: impl FnMut(u32, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (from, file, old) = &self.from;
        let (to, new_file, new) = &self.to;
        let mut window = Window::new(&**file).map_err(self.io("read", *from))?;
        let mut out: Vec<u8> = Vec::with_capacity(CHUNK);
        let mut at = START;
        for (sequence, planned) in self.plan.iter().enumerate() {
            let size = planned.size as usize;
            let bytes = window.at(planned.offset, size).map_err(self.io("read", *from))?;
            let record = bytes.get(..size).filter(|record| record::is_sealed(record, old.salt));
            let Some(record) = record else {
                return Err(Error::Damaged {
                    file: self.disk.path(NAMES[*from]),
                    offset: planned.offset,
                    what: "a record is missing".to_owned(),
                });
            };
            each(planned.id, record)?;
            if out.len() + size > CHUNK {
                new_file.write_at([&out, &[]], at).map_err(self.io("write", *to))?;
                at += out.len() as u64;
                out.clear();
            }
            let start = out.len();
            out.extend_from_slice(record);
            record::seal(&mut out[start..], new.salt, sequence as u64, START);
        }
        out.extend_from_slice(&record::mark(new.salt, self.plan.len() as u64));
        new_file.write_at([&out, &[]], at).map_err(self.io("write", *to))
    }

    /// Makes the new file the current one, and waits until it is on the disk.
    pub(super) fn commit(&self) -> Result<(), Error> {
        let (to, file, _) = &self.to;
        file.sync().map_err(self.io("sync", *to))?;
        self.begin()?;
        file.sync().map_err(self.io("sync", *to))?;
        self.end_old()
    }

    /// Makes the new file the current one without waiting: if the machine stops in the meantime,
    /// the old file still exists.
    pub(super) fn commit_later(self) -> Result<Option<JoinHandle<()>>, Error> {
        self.begin()?;
        let sync = move || {
            if self.to.1.sync().is_ok() {
                // If that fails, the next start examines both files.
                let _ = self.end_old();
            }
        };
        // Without a thread, the old file only stays longer.
        Ok(std::thread::Builder::new().name("journal".to_owned()).spawn(sync).ok())
    }

    fn begin(&self) -> Result<(), Error> {
        let (to, file, header) = &self.to;
        file.write_at([&header.encode(), &[]], 0).map_err(self.io("write", *to))?;
        note(self.copy.as_deref(), header, self.end);
        Ok(())
    }

    fn end_old(&self) -> Result<(), Error> {
        let (from, file, header) = &self.from;
        let old = Header { live: false, ..*header };
        file.write_at([&old.encode(), &[]], 0).map_err(self.io("write", *from))
    }

    fn io(&self, during: &'static str, which: usize) -> impl FnOnce(std::io::Error) -> Error {
        Error::io(during, self.disk.path(NAMES[which]))
    }
}

/// Writes a copy of a header, with the length of its journal.
pub(super) fn note(copy: Option<&dyn OpenFile>, header: &Header, length: u64) {
    let bytes = Header { safe: length, ..*header }.encode();
    // The copy is only additional evidence: its errors are ignored.
    let _ = copy.map(|copy| copy.write_at([&bytes, &[]], 0));
}

/// Returns a number that no sender of a job can know.
pub(super) fn salt() -> u64 {
    RandomState::new().build_hasher().finish()
}
