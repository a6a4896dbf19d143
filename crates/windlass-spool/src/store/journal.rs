//! The journal's two files. One is written to; the other takes its place when
//! most of the first is of jobs that have gone. Both are as long as they will be
//! needed, so that on a full disk jobs can still be removed.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::disk::{Disk, Open};
use super::error::Error;
use super::record::{self, Header, START};
use super::scan::Window;

/// The names of the files.
pub(super) const NAMES: [&str; 2] = ["journal.a", "journal.b"];

/// The name of the file with a copy of the header that counts. What it says is safe is
/// how long the journal is at least: where that ends before, something is missing. It is
/// not synced, so that it costs the disk nothing.
pub(super) const COPY: &str = "journal.head";

/// Bytes that are written without a sync before the copy says so.
const NOTED: u64 = 32 << 10;

/// The most by which a file grows at once, but for what is needed.
const MAX_STEP: u64 = 8 << 20;
/// What is written at once.
const CHUNK: usize = 1 << 20;

/// The files, and what they hold.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) files: [Arc<dyn Open>; 2],
    /// Where a copy of the header is, if there is room for one.
    pub(super) copy: Option<Arc<dyn Open>>,
    /// The length that it says.
    pub(super) noted: u64,
    /// Bytes that are kept on the disk.
    pub(super) capacity: [u64; 2],
    /// Which is written to.
    pub(super) current: usize,
    pub(super) header: Header,
    /// The number of the next record that is written.
    pub(super) sequence: u64,
    /// Where the next record is written.
    pub(super) written: u64,
    /// Up to where it is on the disk.
    pub(super) safe: u64,
    /// Records are synced before they count.
    pub(super) synced: bool,
    /// The least by which a file grows, if there is room.
    pub(super) step: u64,
    /// Garbage below this is not worth a rewriting.
    pub(super) garbage: u64,
    /// Syncs the new file after a rewriting that did not wait for it.
    pub(super) retiring: Option<JoinHandle<()>>,
}

/// A record that goes into a new file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) offset: u64,
    pub(super) id: u32,
    pub(super) size: u32,
}

/// The rewriting of a journal.
#[derive(Debug)]
pub(super) struct Rewriting {
    pub(super) plan: Vec<Planned>,
    /// Where the new one ends.
    pub(super) end: u64,
    disk: Arc<dyn Disk>,
    copy: Option<Arc<dyn Open>>,
    from: (usize, Arc<dyn Open>, Header),
    to: (usize, Arc<dyn Open>, Header),
}

impl Journal {
    /// What is left free for removals and changes, for so many bytes of records. So
    /// rewriting costs a few bytes for each byte that is logged, even then.
    pub(super) const fn reserve(&self, live: u64) -> u64 {
        self.step / 4 + live / 4
    }

    /// The file that is not written to.
    pub(super) const fn other(&self) -> usize {
        1 - self.current
    }

    /// Makes a file longer, to at least `need` bytes.
    pub(super) fn grow(&mut self, which: usize, need: u64) -> Result<(), Error> {
        let start = self.capacity[which];
        let least = need.saturating_sub(start).next_multiple_of(4_096);
        let mut step = (start / 2).clamp(self.step, MAX_STEP).next_multiple_of(4_096).max(least);
        let file = &self.files[which];
        loop {
            match file.allocate(start..start + step).map_err(self.io("keep space in", which)) {
                Ok(()) => break,
                Err(error) if error.is_full() && step > least => step = (step / 2).max(least),
                Err(error) => return Err(error),
            }
        }
        if self.synced {
            // A page that was written once needs no note in the file system's own
            // journal when it is synced.
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

    /// Begins a rewriting into the other file, which is long enough.
    pub(super) fn rewriting(&self, mut plan: Vec<Planned>) -> Rewriting {
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
        Rewriting {
            plan,
            end,
            disk: Arc::clone(&self.disk),
            copy: self.copy.clone(),
            from: (current, Arc::clone(&self.files[current]), self.header),
            to: (other, Arc::clone(&self.files[other]), header),
        }
    }

    /// Goes on with the file that was rewritten.
    pub(super) fn switch(&mut self, rewriting: &Rewriting) {
        self.current = rewriting.to.0;
        self.header = rewriting.to.2;
        self.sequence = rewriting.plan.len() as u64;
        self.written = rewriting.end;
        self.safe = self.header.safe;
        self.noted = rewriting.end;
    }

    /// Says how long the journal is, as far as that is known without a sync.
    pub(super) fn note(&mut self) {
        if self.written - self.noted >= NOTED {
            note(self.copy.as_deref(), &self.header, self.written);
            self.noted = self.written;
        }
    }

    /// Whether a rewriting may begin without waiting for the end of the last one.
    pub(super) fn retired(&self) -> bool {
        self.retiring.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the last rewriting.
    pub(super) fn retire(&mut self) {
        if let Some(retiring) = self.retiring.take() {
            // It gives nothing back.
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

impl Rewriting {
    /// Copies the records. The new file does not count before [`Self::commit`].
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
                    what: "a record is not there any more".to_owned(),
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

    /// Makes the new file the one that counts, and waits until it is on the disk.
    pub(super) fn commit(&self) -> Result<(), Error> {
        let (to, file, _) = &self.to;
        file.sync().map_err(self.io("sync", *to))?;
        self.begin()?;
        file.sync().map_err(self.io("sync", *to))?;
        self.end_old()
    }

    /// The same without waiting: should the machine end meanwhile, there is still
    /// the old one.
    pub(super) fn commit_later(self) -> Result<Option<JoinHandle<()>>, Error> {
        self.begin()?;
        let sync = move || {
            if self.to.1.sync().is_ok() {
                // Where that fails, the next start looks at both.
                let _ = self.end_old();
            }
        };
        // Without a thread the old one only stays longer.
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

/// Writes a copy of a header that says how long its journal is.
pub(super) fn note(copy: Option<&dyn Open>, header: &Header, length: u64) {
    let bytes = Header { safe: length, ..*header }.encode();
    // It is a witness more: without it, all goes on.
    let _ = copy.map(|copy| copy.write_at([&bytes, &[]], 0));
}

/// A number that nobody who sends a job can know.
pub(super) fn salt() -> u64 {
    RandomState::new().build_hasher().finish()
}
