//! Captures into an archive, each once.

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
use windlass_explain::file::{self, Manner, Piece};
use windlass_explain::{Outcome, Told, in_order, workers};
use windlass_tables::{CaptureRow, PathPattern, Taken};

use crate::replace;
use crate::store::{Place, State};
use batch::Building;
pub use batch::Counts;
pub use known::{Known, is_older};
use source::Source;

/// What is to be added.
#[derive(Debug)]
pub struct Job<'a> {
    /// Files, folders and addresses.
    pub paths: &'a [String],
    /// The archive.
    pub into: &'a Place,
    /// How the files are named.
    pub pattern: Option<&'a PathPattern>,
    /// Files that were changed longer ago are passed over.
    pub newer_than: Option<Duration>,
    /// How many are explained at once: one more than there are processors, where it is zero.
    pub at_once: usize,
    /// How many captures go into the archive at once, at most.
    pub batch: usize,
    /// Whether files are read whose name, size and time are known.
    pub reread: bool,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Sources that are told.
    pub files: usize,
    /// All of them.
    pub of_files: usize,
    /// Bytes that were read.
    pub bytes: u64,
    /// All of them.
    pub of_bytes: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Files that were found.
    pub found: u64,
    /// Those that were in the archive, and not read.
    pub there: u64,
    /// What came of the others.
    pub counts: Counts,
    /// Their bytes.
    pub bytes: u64,
    /// Files whose names do not match the pattern.
    pub unmatched: u64,
    /// Captures of an older version that were replaced.
    pub replaced: u64,
    /// Whether it was stopped before all were added.
    pub stopped: bool,
    /// The first of those that could not be explained.
    pub problems: Vec<Problem>,
}

/// A file that could not be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its name.
    pub file: String,
    /// What was wrong.
    pub wrong: String,
}

/// The most files that are named which could not be explained.
pub const MAX_PROBLEMS: usize = 10;

/// What is known of an archive.
#[derive(Debug, Default)]
pub struct Knowledge {
    /// What its log says.
    pub state: State,
    /// Its captures.
    pub known: Known,
}

impl Knowledge {
    /// Takes what came since.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn refresh(&mut self, place: &Place) -> Result<(), Failure> {
        self.state.refresh(place).await?;
        self.known.refresh(place, &self.state).await
    }
}

/// The archive while captures come into it.
struct Adding<'a> {
    job: &'a Job<'a>,
    runtime: &'a Handle,
    state: State,
    known: Known,
    building: Building<'a>,
    /// Whether the connections that come now are of a content that is there.
    is_copy: bool,
    summary: Summary,
}

impl Adding<'_> {
    fn take(&mut self, source: &Source, told: Told<Piece>) -> Result<(), Failure> {
        match told {
            Told::Piece(Piece::Capture(capture)) => {
                self.is_copy = self.known.first(&capture).is_some() || self.building.has(&capture);
            }
            Told::Piece(Piece::Connections(rows)) => {
                if !self.is_copy {
                    self.building.connections(rows)?;
                }
            }
            Told::Piece(Piece::Row(row)) => self.file(source, *row),
            Told::End => {
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

    /// Puts what there is into the archive.
    fn commit(&mut self) -> Result<(), Failure> {
        let next = Building::new(self.job.pattern)?;
        let building = std::mem::replace(&mut self.building, next);
        let commit = building.commit(self.job.into, &mut self.state, &mut self.known);
        self.summary.counts.add(self.runtime.block_on(commit)?);
        Ok(())
    }
}

/// Explains a source, and tells it under its own name.
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
    let manner = Manner { pattern: None, ..Manner::default() };
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

/// What the name of a capture tells: an archive of captures is as a folder of them.
pub fn taken(pattern: &PathPattern, source: &str, file: &str) -> Option<Taken> {
    let whole = || pattern.take(Path::new(source));
    match file.strip_prefix(source).and_then(|inside| inside.strip_prefix("::")) {
        Some(member) => {
            let inside = format!("{source}/{}", member.trim_start_matches('/'));
            pattern.take(Path::new(&inside)).or_else(whole)
        }
        None => whole(),
    }
}

/// Finds what is to be added.
///
/// # Errors
/// Where something is not there to be read.
pub fn find(job: &Job<'_>, runtime: &Handle) -> Result<Vec<Source>, Failure> {
    let mut found = runtime.block_on(source::find(job.paths, job.into))?;
    if let Some(age) = job.newer_than {
        let oldest = SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH);
        found.retain(|source| source.is_newer_than(oldest));
    }
    Ok(found)
}

/// Adds what is not there. What was told whole is kept where `stop` is set or something fails.
///
/// # Errors
/// Where something is not there to be read, or the archive cannot be written.
pub fn add(
    job: &Job<'_>,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
    mut on_progress: impl FnMut(Progress),
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

/// Explains those of the sources that are not there, and puts them into the archive. Those that
/// replace what an older version explained stay unseen.
///
/// # Errors
/// Where the archive cannot be read or written.
pub fn explain_all(
    job: &Job<'_>,
    found: Vec<Source>,
    knowledge: Knowledge,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
    on_progress: &mut impl FnMut(Progress),
) -> Result<(Summary, Knowledge), Failure> {
    let Knowledge { state, known } = knowledge;
    let mut summary = Summary { found: found.len() as u64, ..Summary::default() };
    let sources: Vec<Source> =
        found.into_iter().filter(|source| job.reread || !known.has(source)).collect();
    summary.there = summary.found - sources.len() as u64;
    let building = Building::new(job.pattern)?;
    let mut adding = Adding { job, runtime, state, known, building, is_copy: false, summary };
    let outcome = each(&mut adding, &sources, stop, on_progress);
    // What was told before something failed is kept, too.
    let kept = adding.commit();
    let stopped = outcome? == Outcome::Stopped;
    kept?;
    let Adding { state, known, mut summary, .. } = adding;
    summary.stopped = stopped;
    Ok((summary, Knowledge { state, known }))
}

fn each(
    adding: &mut Adding<'_>,
    sources: &[Source],
    stop: &Arc<AtomicBool>,
    on_progress: &mut impl FnMut(Progress),
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
        on_progress(Progress {
            files: usize::try_from(told.load(Ordering::Relaxed)).unwrap_or(usize::MAX),
            of_files: sources.len(),
            bytes: read.load(Ordering::Relaxed).min(of_bytes),
            of_bytes,
        });
    };
    let mut take = |place: usize, piece: Told<Piece>| -> Result<(), Failure> {
        let is_end = matches!(piece, Told::End);
        adding.take(&sources[place], piece)?;
        if is_end {
            told.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    in_order(sources.len(), at_once, stop, work, &mut tell, &mut take)
}
