//! Many captures at once, told in the order in which they were named.
//!
//! So the same files make the same rows in the same order, whoever was done first.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use windlass_tables::{CaptureRow, PathPattern, Table, Tables};
use windlass_wire::ConnectionFilter;

use crate::file::{self, Manner, Piece};
use crate::in_order::{Outcome, Told, in_order, workers};

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
    /// How many are explained at once: one more than there are processors, where it is zero.
    pub at_once: usize,
}

/// The same, of captures that are not all files.
#[derive(Clone, Copy, Debug, Default)]
pub struct All<'a> {
    /// How many there are.
    pub count: usize,
    /// How they are named.
    pub pattern: Option<&'a PathPattern>,
    /// How many are explained at once: one more than there are processors, where it is zero.
    pub at_once: usize,
}

/// Takes what is told of a capture; `false` where nobody listens.
pub type Tell<'a> = dyn FnMut(Piece) -> bool + 'a;

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

/// The tables on their way to who writes them.
struct Out<'a, W> {
    tables: Tables,
    /// The first file of each content.
    seen: HashMap<Arc<str>, String>,
    /// Whether the connections that come now are of a content that was told.
    is_copy: bool,
    summary: Summary,
    write: W,
    pattern: Option<&'a PathPattern>,
}

impl<W: FnMut(Table, &RecordBatch) -> io::Result<()>> Out<'_, W> {
    /// Takes a piece of what is told of a file.
    fn piece(&mut self, piece: Piece) -> Result<(), Ended> {
        match piece {
            Piece::Capture(capture) => self.is_copy = self.seen.contains_key(&capture),
            Piece::Connections(rows) => {
                for (row, seconds) in rows.into_iter().filter(|_| !self.is_copy) {
                    self.tables.connection(&row, seconds);
                }
                let full = self.tables.full();
                let full = full.map_err(|error| Ended::Failed(None, io::Error::other(error)));
                self.write(&full?)?;
            }
            Piece::Row(row) => self.row(*row),
        }
        Ok(())
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
    on_progress: impl FnMut(Progress),
    write: impl FnMut(Table, &RecordBatch) -> io::Result<()>,
) -> Result<Summary, Ended> {
    let manner = Manner { filter: job.filter, pattern: job.pattern };
    let explain = |place: usize, read: &mut dyn FnMut(u64), tell: &mut Tell<'_>| {
        file::explain(&job.files[place], manner, stop, read, tell)
    };
    let all = All { count: job.files.len(), pattern: job.pattern, at_once: job.at_once };
    explain_each(all, stop, explain, on_progress, write)
}

/// The same of captures that are not all files: `explain` does the one at a place as
/// [`file::explain`] does a file, and is told by it how many bytes it has read.
///
/// # Errors
/// Where `stop` was set, or `write` failed.
pub fn explain_each(
    all: All<'_>,
    stop: &Arc<AtomicBool>,
    explain: impl Fn(usize, &mut dyn FnMut(u64), &mut Tell<'_>) -> bool + Sync,
    mut on_progress: impl FnMut(Progress),
    write: impl FnMut(Table, &RecordBatch) -> io::Result<()>,
) -> Result<Summary, Ended> {
    let All { count, pattern, at_once } = all;
    let at_once = workers(at_once);
    let mut out = Out {
        tables: Tables::new(pattern),
        seen: HashMap::new(),
        is_copy: false,
        summary: Summary::default(),
        write,
        pattern,
    };
    let (bytes, files) = (AtomicU64::new(0), AtomicUsize::new(0));
    let work = |place: usize, tell: &mut Tell<'_>| {
        let mut before = 0;
        let mut on_progress = |now: u64| {
            bytes.fetch_add(now.saturating_sub(before), Ordering::Relaxed);
            before = now;
        };
        explain(place, &mut on_progress, tell)
    };
    let tell = || {
        on_progress(Progress {
            files: files.load(Ordering::Relaxed),
            bytes: bytes.load(Ordering::Relaxed),
        });
    };
    let take = |place: usize, told: Told<Piece>| match told {
        Told::Piece(piece) => out.piece(piece),
        Told::End => {
            files.store(place + 1, Ordering::Relaxed);
            Ok(())
        }
    };
    if in_order(count, at_once, stop, work, tell, take)? == Outcome::Stopped {
        return Err(Ended::Stopped);
    }
    let rest = out.tables.rest().map_err(|error| Ended::Failed(None, io::Error::other(error)))?;
    out.write(&rest)?;
    Ok(out.summary)
}

#[cfg(test)]
#[path = "many_tests.rs"]
mod tests;
