//! Many captures at once, told in the order in which they were named.
//!
//! Each worker takes the next file and puts what it tells into a short queue of its own; the
//! caller's thread empties the queue of the file whose turn it is. So a worker that is ahead
//! waits, memory does not grow with the number of files, and the same files make the same rows
//! in the same order.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use arrow_array::RecordBatch;
use windlass_tables::{CaptureRow, PathPattern, Table, Tables};
use windlass_wire::ConnectionFilter;

use crate::file::{self, Manner, Piece};

/// What a worker may be ahead.
const QUEUE: usize = 16;

/// How often who waits looks whether to go on.
const POLL: Duration = Duration::from_millis(100);

/// The most files that are named which could not be explained.
const MAX_PROBLEMS: usize = 10;

/// What is to be explained.
#[derive(Clone, Copy, Debug, Default)]
pub struct Job<'a> {
    /// The files, in the order of the rows.
    pub files: &'a [PathBuf],
    /// Which connections to look at.
    pub filter: ConnectionFilter,
    /// How the files are named.
    pub pattern: Option<&'a PathPattern>,
    /// How many are explained at once: as many as there are processors, where it is zero.
    pub at_once: usize,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Files that are told.
    pub files: usize,
    /// Bytes that were read.
    pub bytes: u64,
}

/// A file that could not be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its name.
    pub file: String,
    /// What was wrong.
    pub wrong: String,
}

/// What the files came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files that were explained, whole or to where they are damaged.
    pub explained: u64,
    /// Of these, damaged ones.
    pub damaged: u64,
    /// Files with the content of one before them, which are no others.
    pub copies: u64,
    /// Files that could not be explained.
    pub failed: u64,
    /// The first of these.
    pub problems: Vec<Problem>,
    /// Files whose names do not match the pattern.
    pub unmatched: u64,
}

/// Why it ended early.
#[derive(Debug)]
pub enum Ended {
    /// The stop was set.
    Stopped,
    /// Rows could not be handed on: of this table, where it was one's.
    Failed(Option<Table>, io::Error),
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => f.write_str("it was stopped"),
            Self::Failed(_, error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Ended {}

/// What workers share.
struct Shared<'a> {
    job: &'a Job<'a>,
    stop: &'a Arc<AtomicBool>,
    /// The next file that nobody has taken.
    next: AtomicUsize,
    /// Who has taken each.
    owners: Mutex<Vec<Option<usize>>>,
    taken: Condvar,
    bytes: AtomicU64,
    /// Whether nobody listens any more.
    is_over: AtomicBool,
}

impl Shared<'_> {
    fn work(&self, worker: usize, to: &SyncSender<Piece>) {
        let manner = Manner { filter: self.job.filter, pattern: self.job.pattern };
        while !self.is_over.load(Ordering::Relaxed) {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = self.job.files.get(place) else { return };
            self.owners.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(worker);
            self.taken.notify_all();
            let mut before = 0;
            let on_progress = |bytes: u64| {
                self.bytes.fetch_add(bytes.saturating_sub(before), Ordering::Relaxed);
                before = bytes;
            };
            if !file::explain(file, manner, self.stop, on_progress, |piece| to.send(piece).is_ok())
            {
                return;
            }
        }
    }

    /// Who has this file; nothing where nobody takes it before the stop.
    fn owner(&self, place: usize, mut on_wait: impl FnMut()) -> Option<usize> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(owner) = owners[place] {
                return Some(owner);
            }
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            on_wait();
            let waited = self.taken.wait_timeout(owners, POLL);
            owners = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The tables on their way to who writes them.
struct Out<'a, W> {
    tables: Tables,
    /// The first file of each content.
    seen: HashMap<Arc<str>, String>,
    summary: Summary,
    write: W,
    pattern: Option<&'a PathPattern>,
}

impl<W: FnMut(Table, &RecordBatch) -> io::Result<()>> Out<'_, W> {
    /// Takes all that a file's worker tells; `false` where it stopped.
    fn file(&mut self, from: &Receiver<Piece>, mut on_wait: impl FnMut()) -> Result<bool, Ended> {
        let mut is_copy = false;
        loop {
            match from.recv_timeout(POLL) {
                Ok(Piece::Capture(capture)) => is_copy = self.seen.contains_key(&capture),
                Ok(Piece::Connections(rows)) => {
                    for (row, seconds) in rows.into_iter().filter(|_| !is_copy) {
                        self.tables.connection(&row, seconds);
                    }
                    let full = self.tables.full();
                    let full = full.map_err(|error| Ended::Failed(None, io::Error::other(error)));
                    self.write(&full?)?;
                }
                Ok(Piece::Row(row)) => self.row(*row),
                Ok(Piece::End) => return Ok(true),
                Err(RecvTimeoutError::Timeout) => on_wait(),
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }

    fn row(&mut self, mut row: CaptureRow) {
        let summary = &mut self.summary;
        summary.unmatched += u64::from(self.pattern.is_some() && row.taken.is_none());
        if let Some(wrong) = &row.error {
            summary.failed += 1;
            if summary.problems.len() < MAX_PROBLEMS {
                summary.problems.push(Problem { file: row.file.clone(), wrong: wrong.clone() });
            }
        } else if let Some(capture) = &row.capture {
            match self.seen.get(capture) {
                Some(first) => {
                    summary.copies += 1;
                    row.copy_of = Some(first.clone());
                }
                None => {
                    self.seen.insert(Arc::clone(capture), row.file.clone());
                    summary.explained += 1;
                    let damaged = row.facts.as_ref().is_some_and(|facts| facts.damage.is_some());
                    summary.damaged += u64::from(damaged);
                }
            }
        }
        self.tables.capture(&row);
    }

    fn write(&mut self, batches: &[(Table, RecordBatch)]) -> Result<(), Ended> {
        batches.iter().try_for_each(|(table, batch)| {
            (self.write)(*table, batch).map_err(|error| Ended::Failed(Some(*table), error))
        })
    }
}

/// Explains files, and hands their rows to `write` in the order of the files.
///
/// `on_progress` is told now and then how far it is.
///
/// # Errors
/// Where `stop` was set, or `write` failed.
pub fn explain_all(
    job: &Job<'_>,
    stop: &Arc<AtomicBool>,
    mut on_progress: impl FnMut(Progress),
    write: impl FnMut(Table, &RecordBatch) -> io::Result<()>,
) -> Result<Summary, Ended> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let at_once = if job.at_once == 0 { processors } else { job.at_once };
    let workers = at_once.min(job.files.len()).max(1);
    let shared = Shared {
        job,
        stop,
        next: AtomicUsize::new(0),
        owners: Mutex::new(vec![None; job.files.len()]),
        taken: Condvar::new(),
        bytes: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let mut out = Out {
        tables: Tables::new(job.pattern),
        seen: HashMap::new(),
        summary: Summary::default(),
        write,
        pattern: job.pattern,
    };
    let told = thread::scope(|scope| {
        let queues: Vec<Receiver<Piece>> = (0..workers)
            .map(|worker| {
                let (to, from) = sync_channel(QUEUE);
                let shared = &shared;
                scope.spawn(move || shared.work(worker, &to));
                from
            })
            .collect();
        let told = (0..job.files.len()).try_for_each(|place| {
            let mut tell = || {
                let bytes = shared.bytes.load(Ordering::Relaxed);
                on_progress(Progress { files: place, bytes });
            };
            tell();
            let owner = shared.owner(place, &mut tell).ok_or(Ended::Stopped)?;
            if out.file(&queues[owner], &mut tell)? { Ok(()) } else { Err(Ended::Stopped) }
        });
        // Whoever waits for room in a queue that is gone ends.
        shared.is_over.store(true, Ordering::Relaxed);
        drop(queues);
        told
    });
    told?;
    let rest = out.tables.rest().map_err(|error| Ended::Failed(None, io::Error::other(error)))?;
    out.write(&rest)?;
    Ok(out.summary)
}

#[cfg(test)]
#[path = "many_tests.rs"]
mod tests;
