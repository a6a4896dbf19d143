//! Many captures at once, with results in the order in which they were named.
//!
//! A list of files therefore always produces equal rows in equal order.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use windlass_tables::{CaptureRow, PathPattern, Table, Tables};
use windlass_wire::ConnectionFilter;

use crate::file::{self, ExplainSettings, Piece};
use crate::in_order::{ItemOutput, Outcome, in_order, workers};

/// Maximum number of unexplained files that are named.
const MAX_PROBLEMS: usize = 10;

/// Captures to explain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Job<'a> {
    /// Files, in the order of the rows.
    pub files: &'a [PathBuf],
    /// Filter of connections.
    pub filter: ConnectionFilter,
    /// Pattern of the file names.
    pub pattern: Option<&'a PathPattern>,
    /// Number of captures explained at once; zero means the number of processors plus one.
    pub at_once: usize,
}

/// Captures to explain, some of which may not be files.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaptureSet<'a> {
    /// Number of captures.
    pub count: usize,
    /// Pattern of their names.
    pub pattern: Option<&'a PathPattern>,
    /// Number of captures explained at once; zero means the number of processors plus one.
    pub at_once: usize,
}

/// Receiver of a capture's pieces; returns `false` if no more are needed.
pub type PieceReceiver<'a> = dyn FnMut(Piece) -> bool + 'a;

/// Progress of the work.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Number of complete files.
    pub files: usize,
    /// Number of bytes read.
    pub bytes: u64,
}

/// A file that could not be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Name of the file.
    pub file: String,
    /// Description of the failure.
    pub wrong: String,
}

/// Summary of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of explained files, including damaged ones.
    pub explained: u64,
    /// Number of damaged files among these.
    pub damaged: u64,
    /// Number of files with the content of an earlier file.
    pub copies: u64,
    /// Number of files that could not be explained.
    pub failed: u64,
    /// First failures, one by one.
    pub problems: Vec<Problem>,
    /// Number of files whose names do not match the pattern.
    pub unmatched: u64,
}

/// Reason of an early end.
#[derive(Debug)]
pub enum ExplainError {
    /// The stop was set.
    Stopped,
    /// Rows of this table, or of no table in particular, could not be passed on.
    Failed(Option<Table>, io::Error),
}

impl std::fmt::Display for ExplainError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => f.write_str("it was stopped"),
            Self::Failed(_, error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExplainError {}

/// Output of the tables, with the summary.
struct TableOutput<'a, W> {
    tables: Tables,
    /// Name of the first file of each content.
    seen: HashMap<Arc<str>, String>,
    /// True if an earlier file has the current connections.
    is_copy: bool,
    summary: Summary,
    write: W,
    pattern: Option<&'a PathPattern>,
}

impl<W: FnMut(Table, &RecordBatch) -> io::Result<()>> TableOutput<'_, W> {
    /// Takes a piece of a file's results.
    fn piece(&mut self, piece: Piece) -> Result<(), ExplainError> {
        match piece {
            Piece::Capture(capture) => self.is_copy = self.seen.contains_key(&capture),
            Piece::Connections(rows) => {
                for (row, seconds) in rows.into_iter().filter(|_| !self.is_copy) {
                    self.tables.connection(&row, seconds);
                }
                let full = self.tables.full();
                let full =
                    full.map_err(|error| ExplainError::Failed(None, io::Error::other(error)));
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

    fn write(&mut self, batches: &[(Table, RecordBatch)]) -> Result<(), ExplainError> {
        batches.iter().try_for_each(|(table, batch)| {
            (self.write)(*table, batch).map_err(|error| ExplainError::Failed(Some(*table), error))
        })
    }
}

/// Explains files, and passes their rows to `write` in the order of the files.
///
/// `on_progress` is called now and then.
///
/// # Errors
/// Returns an error if `stop` was set, or `write` failed.
pub fn explain_all(
    job: &Job<'_>,
    stop: &Arc<AtomicBool>,
    on_progress: impl FnMut(Progress),
    write: impl FnMut(Table, &RecordBatch) -> io::Result<()>,
) -> Result<Summary, ExplainError> {
    let manner = ExplainSettings { filter: job.filter, pattern: job.pattern };
    let explain = |place: usize, read: &mut dyn FnMut(u64), tell: &mut PieceReceiver<'_>| {
        file::explain(&job.files[place], manner, stop, read, tell)
    };
    let all = CaptureSet { count: job.files.len(), pattern: job.pattern, at_once: job.at_once };
    explain_each(all, stop, explain, on_progress, write)
}

/// Explains captures, some of which may not be files. `explain` handles the capture at an index, as
/// [`file::explain`] handles a file. It reports the number of bytes read so far.
///
/// # Errors
/// Returns an error if `stop` was set, or `write` failed.
pub fn explain_each(
    all: CaptureSet<'_>,
    stop: &Arc<AtomicBool>,
    explain: impl Fn(usize, &mut dyn FnMut(u64), &mut PieceReceiver<'_>) -> bool + Sync,
    mut on_progress: impl FnMut(Progress),
    write: impl FnMut(Table, &RecordBatch) -> io::Result<()>,
) -> Result<Summary, ExplainError> {
    let CaptureSet { count, pattern, at_once } = all;
    let at_once = workers(at_once);
    let mut out = TableOutput {
        tables: Tables::new(pattern),
        seen: HashMap::new(),
        is_copy: false,
        summary: Summary::default(),
        write,
        pattern,
    };
    let (bytes, files) = (AtomicU64::new(0), AtomicUsize::new(0));
    let work = |place: usize, tell: &mut PieceReceiver<'_>| {
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
    let take = |place: usize, told: ItemOutput<Piece>| match told {
        ItemOutput::Piece(piece) => out.piece(piece),
        ItemOutput::End => {
            files.store(place + 1, Ordering::Relaxed);
            Ok(())
        }
    };
    if in_order(count, at_once, stop, work, tell, take)? == Outcome::Stopped {
        return Err(ExplainError::Stopped);
    }
    let rest =
        out.tables.rest().map_err(|error| ExplainError::Failed(None, io::Error::other(error)))?;
    out.write(&rest)?;
    Ok(out.summary)
}

#[cfg(test)]
#[path = "many_tests.rs"]
mod tests;
