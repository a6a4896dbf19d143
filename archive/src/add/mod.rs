//! Adding captures to an archive, each once.

mod batch;
pub mod columns;
mod known;
pub mod source;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use windlass_base::Failure;
use windlass_explain::file::{self, ExplainSettings, Piece};
use windlass_explain::{ItemOutput, Outcome, in_order, workers};
use windlass_tables::{CaptureRow, FileNameFields, PathPattern};

use crate::replace;
use crate::store::{Place, State};
use batch::BatchBuilder;
pub use batch::Counts;
pub use known::{KnownCaptures, is_older};
use source::Source;

/// Parameters of an `add`.
#[derive(Debug)]
pub struct Job<'a> {
    /// Files, folders and addresses to add.
    pub paths: &'a [String],
    /// Archive to add to.
    pub into: &'a Place,
    /// Pattern of the files' names.
    pub pattern: Option<&'a PathPattern>,
    /// Maximum age of the files; older ones are skipped.
    pub newer_than: Option<Duration>,
    /// Number of files explained concurrently; 0 for one more than the processors.
    pub at_once: usize,
    /// Maximum number of captures in a commit.
    pub batch: usize,
    /// True if files are read again whose name, size and time are known.
    pub reread: bool,
}

/// Progress of an `add`.
#[derive(Clone, Copy, Debug)]
pub struct AddProgress {
    /// Finished sources.
    pub files: usize,
    /// All sources.
    pub of_files: usize,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes of all sources.
    pub of_bytes: u64,
}

/// Result of an `add`.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Files that were found.
    pub found: u64,
    /// Files that were in the archive already and were not read.
    pub there: u64,
    /// Counts of the other files.
    pub counts: Counts,
    /// Bytes of the other files.
    pub bytes: u64,
    /// Files whose names do not match the pattern.
    pub unmatched: u64,
    /// Captures of an older version that were replaced.
    pub replaced: u64,
    /// True if the `add` was stopped before its end.
    pub stopped: bool,
    /// First files that could not be explained.
    pub problems: Vec<Problem>,
}

/// File that could not be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Name of the file.
    pub file: String,
    /// Reason.
    pub wrong: String,
}

/// Maximum number of listed files that could not be explained.
pub const MAX_PROBLEMS: usize = 10;

/// Log and captures of an archive.
#[derive(Debug, Default)]
pub struct Knowledge {
    /// State of the log.
    pub state: State,
    /// Captures of the archive.
    pub known: KnownCaptures,
}

impl Knowledge {
    /// Reads changes since the last call.
    ///
    /// # Errors
    /// Returns an error if the archive cannot be read.
    pub async fn refresh(&mut self, place: &Place) -> Result<(), Failure> {
        self.state.refresh(place).await?;
        self.known.refresh(place, &self.state).await
    }
}

/// Running `add`.
struct AddSession<'a> {
    job: &'a Job<'a>,
    runtime: &'a Handle,
    state: State,
    known: KnownCaptures,
    building: BatchBuilder<'a>,
    /// True if the current connections belong to a content that is already there.
    is_copy: bool,
    summary: Summary,
}

impl AddSession<'_> {
    fn take(&mut self, source: &Source, told: ItemOutput<Piece>) -> Result<(), Failure> {
        match told {
            ItemOutput::Piece(Piece::Capture(capture)) => {
                self.is_copy = self.known.first(&capture).is_some() || self.building.has(&capture);
            }
            ItemOutput::Piece(Piece::Connections(rows)) => {
                if !self.is_copy {
                    self.building.connections(rows)?;
                }
            }
            ItemOutput::Piece(Piece::Row(row)) => self.file(source, *row),
            ItemOutput::End => {
                self.building.end(source);
                self.summary.bytes += source.bytes;
                if self.building.is_enough(self.job.batch) {
                    self.commit()?;
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, source: &Source, row: CaptureRow) {
        let is_unmatched = self.job.pattern.is_some() && row.taken.is_none();
        self.summary.unmatched += u64::from(is_unmatched);
        if let Some(wrong) = &row.error
            && self.summary.problems.len() < MAX_PROBLEMS
        {
            let problem = Problem { file: row.file.clone(), wrong: wrong.clone() };
            self.summary.problems.push(problem);
        }
        self.building.capture(row, source, &self.known);
    }

    /// Commits the current batch to the archive.
    fn commit(&mut self) -> Result<(), Failure> {
        let next = BatchBuilder::new(self.job.pattern)?;
        let building = std::mem::replace(&mut self.building, next);
        let commit = building.commit(self.job.into, &mut self.state, &mut self.known);
        self.summary.counts.add(self.runtime.block_on(commit)?);
        Ok(())
    }
}

/// Explains a source, and reports it under its own name.
fn explain(
    source: &Source,
    pattern: Option<&PathPattern>,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
    on_progress: impl FnMut(u64),
    tell: &mut dyn FnMut(Piece) -> bool,
) -> bool {
    let opened = match source.open(stop, runtime) {
        Ok(Some(opened)) => opened,
        Ok(None) => return false,
        Err(wrong) => {
            let row = CaptureRow {
                file: source.name.clone(),
                size: Some(windlass_base::Bytes::new(source.bytes)),
                error: Some(format!("cannot fetch it: {wrong}")),
                taken: pattern.and_then(|pattern| taken(pattern, &source.name, &source.name)),
                ..CaptureRow::default()
            };
            return tell(Piece::Row(Box::new(row)));
        }
    };
    let path = opened.path().to_string_lossy().into_owned();
    let manner = ExplainSettings { pattern: None, ..ExplainSettings::default() };
    file::explain(opened.path(), manner, stop, on_progress, |piece| {
        tell(match piece {
            Piece::Row(mut row) => {
                if let Some(inside) = row.file.strip_prefix(&path) {
                    row.file = format!("{}{inside}", source.name);
                }
                row.taken = pattern.and_then(|pattern| taken(pattern, &source.name, &row.file));
                Piece::Row(row)
            }
            other => other,
        })
    })
}

/// Returns the fields in the name of a capture. An archive of captures counts as a folder.
pub fn taken(pattern: &PathPattern, source: &str, file: &str) -> Option<FileNameFields> {
    let whole = || pattern.take(Path::new(source));
    match file.strip_prefix(source).and_then(|inside| inside.strip_prefix("::")) {
        Some(member) => {
            let inside = format!("{source}/{}", member.trim_start_matches('/'));
            pattern.take(Path::new(&inside)).or_else(whole)
        }
        None => whole(),
    }
}

/// Finds the sources to add.
///
/// # Errors
/// Returns an error if a path does not exist or cannot be read.
pub fn find(job: &Job<'_>, runtime: &Handle) -> Result<Vec<Source>, Failure> {
    let mut found = runtime.block_on(source::find(job.paths, job.into))?;
    if let Some(age) = job.newer_than {
        let oldest = SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH);
        found.retain(|source| source.is_newer_than(oldest));
    }
    Ok(found)
}

/// Adds missing captures. Finished captures are kept if `stop` is set or something fails.
///
/// # Errors
/// Returns an error if a path does not exist, or the archive cannot be written.
pub fn add(
    job: &Job<'_>,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
    mut on_progress: impl FnMut(AddProgress),
) -> Result<Summary, Failure> {
    let mut knowledge = Knowledge::default();
    runtime.block_on(knowledge.refresh(job.into))?;
    let found = find(job, runtime)?;
    let (mut summary, mut knowledge) =
        explain_all(job, found, knowledge, stop, runtime, &mut on_progress)?;
    if !summary.stopped {
        let shown = replace::show_held(job.into, &mut knowledge.state);
        summary.replaced = runtime.block_on(shown)?;
    }
    Ok(summary)
}

/// Explains the sources that the archive lacks, and commits them. Captures that replace those of an
/// older version stay hidden until later.
///
/// # Errors
/// Returns an error if the archive cannot be read or written.
pub fn explain_all(
    job: &Job<'_>,
    found: Vec<Source>,
    knowledge: Knowledge,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
    on_progress: &mut impl FnMut(AddProgress),
) -> Result<(Summary, Knowledge), Failure> {
    let Knowledge { state, known } = knowledge;
    let mut summary = Summary { found: found.len() as u64, ..Summary::default() };
    let sources: Vec<Source> =
        found.into_iter().filter(|source| job.reread || !known.has(source)).collect();
    summary.there = summary.found - sources.len() as u64;
    let building = BatchBuilder::new(job.pattern)?;
    let mut adding = AddSession { job, runtime, state, known, building, is_copy: false, summary };
    let outcome = each(&mut adding, &sources, stop, on_progress);
    // Captures finished before a failure are kept, too.
    let kept = adding.commit();
    let stopped = outcome? == Outcome::Stopped;
    kept?;
    let AddSession { state, known, mut summary, .. } = adding;
    summary.stopped = stopped;
    Ok((summary, Knowledge { state, known }))
}

fn each(
    adding: &mut AddSession<'_>,
    sources: &[Source],
    stop: &Arc<AtomicBool>,
    on_progress: &mut impl FnMut(AddProgress),
) -> Result<Outcome, Failure> {
    let (job, runtime) = (adding.job, adding.runtime);
    let at_once = workers(job.at_once);
    let read = AtomicU64::new(0);
    let of_bytes = sources.iter().map(|source| source.bytes).sum();
    let told = AtomicU64::new(0);
    let work = |place: usize, tell: &mut dyn FnMut(Piece) -> bool| {
        let source = &sources[place];
        let mut before = 0;
        let on_progress = |bytes: u64| {
            read.fetch_add(bytes.saturating_sub(before), Ordering::Relaxed);
            before = before.max(bytes);
        };
        explain(source, job.pattern, stop, runtime, on_progress, tell)
    };
    let mut tell = || {
        on_progress(AddProgress {
            files: usize::try_from(told.load(Ordering::Relaxed)).unwrap_or(usize::MAX),
            of_files: sources.len(),
            bytes: read.load(Ordering::Relaxed).min(of_bytes),
            of_bytes,
        });
    };
    let mut take = |place: usize, piece: ItemOutput<Piece>| -> Result<(), Failure> {
        let is_end = matches!(piece, ItemOutput::End);
        adding.take(&sources[place], piece)?;
        if is_end {
            told.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    in_order(sources.len(), at_once, stop, work, &mut tell, &mut take)
}
