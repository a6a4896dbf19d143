//! Tasks of an executor: a task does with a pack what a local `add` of its sources would do.
//!
//! A task commits to the archive itself. A killed or repeated task finds its own earlier work
//! there. Only the log counts, and not what a task reports.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use data_encoding::HEXLOWER;
use datafusion::error::DataFusionError;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use windlass_base::Failure;
use windlass_tables::PathPattern;

use super::stop::Stops;
use crate::add::source::Source;
use crate::add::{Job, Knowledge, explain_all};
use crate::store::{Place, log};

/// Marker of windlass-archive's messages in the library's errors.
const SAID: &str = "windlass-says-";

/// Order for each pack of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Name of the archive.
    pub into: String,
    /// Number of a log entry.
    pub number: u64,
    /// Writer of that entry: an executor that sees another archive there refuses to write.
    pub writer: String,
    /// Pattern of the files' names.
    pub pattern: Option<String>,
    /// Maximum number of captures in a commit.
    pub batch: usize,
    /// True if files are read again whose name, size and time are known.
    pub reread: bool,
}

/// Result of a pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Sources that are in the archive now.
    pub told: u64,
    /// Sources that are not here as they were found.
    pub absent: u64,
}

/// Error of a pack.
#[derive(Debug, PartialEq, Eq)]
pub enum TaskError {
    /// Another executor, or this one later, may succeed.
    Now(String),
    /// No executor can succeed: the job must end.
    Always(String),
}

impl From<TaskError> for DataFusionError {
    fn from(wrong: TaskError) -> Self {
        let say = |text: &str| format!("{SAID}{};", HEXLOWER.encode(text.as_bytes()));
        match wrong {
            // The scheduler retries a task that fails with an I/O error.
            TaskError::Now(text) => Self::IoError(io::Error::other(say(&text))),
            TaskError::Always(text) => Self::Execution(say(&text)),
        }
    }
}

/// Extracts windlass-archive's message from the library's error of a failed job.
pub fn said(error: &str) -> Option<String> {
    let (_, rest) = error.split_once(SAID)?;
    let (text, _) = rest.split_once(';')?;
    String::from_utf8(HEXLOWER.decode(text.as_bytes()).ok()?).ok()
}

/// Worker of an executor, which runs tasks.
pub struct Worker {
    name: String,
    runtime: Handle,
    stops: Arc<Stops>,
    /// Knowledge of archives from finished tasks, by archive, for the next tasks.
    idle: Mutex<Vec<(String, Knowledge)>>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Worker {
    /// Creates the worker of an executor with this name.
    pub fn new(name: String, runtime: Handle, stops: Arc<Stops>) -> Self {
        Self { name, runtime, stops, idle: Mutex::default() }
    }

    /// Returns the name of the executor.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the stop flags of tasks.
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    /// Adds the executor's name to a failure.
    fn here(&self, failure: Failure) -> String {
        format!("the executor at {}: {}", self.name, failure.in_one_line())
    }

    fn knowledge(&self, archive: &str) -> Knowledge {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().position(|(name, _)| name == archive);
        at.map(|at| idle.swap_remove(at).1).unwrap_or_default()
    }

    fn keep(&self, archive: &str, knowledge: Knowledge) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push((archive.to_owned(), knowledge));
    }

    /// Explains a pack, and commits it to the archive.
    ///
    /// # Errors
    /// Returns an error if the pack is not completely done.
    pub fn work(
        &self,
        order: &Order,
        sources: Vec<Source>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Receipt, TaskError> {
        let into = self.archive(order)?;
        let pattern = order.pattern.as_deref().map(str::parse::<PathPattern>).transpose();
        let pattern = pattern.map_err(|wrong| TaskError::Always(wrong.to_string()))?;
        let found = sources.len() as u64;
        let here = self.here_of(sources)?;
        let receipt = Receipt { told: here.len() as u64, absent: found - here.len() as u64 };
        let job = Job {
            paths: &[],
            into: &into,
            pattern: pattern.as_ref(),
            newer_than: None,
            // An executor has a task for each processor.
            at_once: 1,
            batch: order.batch,
            reread: order.reread,
        };
        let failed = |failure| TaskError::Now(self.here(failure));
        let mut knowledge = self.knowledge(&order.into);
        self.runtime.block_on(knowledge.refresh(&into)).map_err(failed)?;
        let (summary, knowledge) =
            explain_all(&job, here, knowledge, stop, &self.runtime, &mut |_| {}).map_err(failed)?;
        self.keep(&order.into, knowledge);
        if summary.stopped {
            return Err(TaskError::Now(format!("the executor at {} was stopped", self.name)));
        }
        Ok(receipt)
    }

    /// Opens the archive, if it is the one of the order.
    fn archive(&self, order: &Order) -> Result<Place, TaskError> {
        let Order { into, number, writer, .. } = order;
        let advice = "Every executor must see the archive by the path given to add.";
        let wrong = |failure: Failure| TaskError::Always(self.here(failure));
        let place = Place::existing(into, "cannot write to the archive")
            .map_err(|failure| wrong(failure.advise(advice)))?;
        let there = self.runtime.block_on(log::writer(&place, *number));
        if there.map_err(wrong)?.as_ref() == Some(writer) {
            return Ok(place);
        }
        let doing = format!("cannot write to the archive {into}");
        let failure = Failure::new(doing, "another archive is at this path");
        Err(wrong(failure.advise(advice)))
    }

    /// Returns the sources that are still here as they were found.
    fn here_of(&self, sources: Vec<Source>) -> Result<Vec<Source>, TaskError> {
        let mut here = Vec::new();
        let mut absent: Option<Source> = None;
        let count = sources.len();
        let mut is_reached = false;
        for source in sources {
            // One reachable object proves the bucket reachable for all. A capture that is missing
            // is noticed when it is fetched.
            if source.is_remote() && is_reached {
                here.push(source);
                continue;
            }
            match self.runtime.block_on(source.is_here()) {
                Ok(true) => {
                    is_reached |= source.is_remote();
                    here.push(source);
                }
                Ok(false) => absent = absent.or(Some(source)),
                Err(wrong) => {
                    let failure = Failure::new(format!("cannot read {}", source.name), wrong)
                        .advise("Every executor needs the rights of add.");
                    return Err(TaskError::Always(self.here(failure)));
                }
            }
        }
        let Some(absent) = absent.filter(|_| here.is_empty()) else { return Ok(here) };
        // One missing capture may have been deleted. All of many, or the folder itself, indicate a
        // missing mount.
        let folder = Path::new(&absent.name).parent();
        let is_sign =
            count > 1 || !absent.is_remote() && folder.is_some_and(|folder| !folder.exists());
        if !is_sign {
            return Ok(here);
        }
        let failure = Failure::new(
            format!("cannot read {}", absent.name),
            "it is not there, or differs from the file that add saw",
        )
        .advise(
            "Every executor must see the captures by the same paths: check for a missing mount.",
        );
        Err(TaskError::Always(self.here(failure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_ours_come_through_what_the_library_makes_of_them() {
        let wrong = TaskError::Always("cannot read \"/a\\b\":\nit is not there; ü".to_owned());
        let error = DataFusionError::from(wrong);
        let library = format!("Job abc failed: {:?}", format!("{error:?}"));
        assert_eq!(said(&library).unwrap(), "cannot read \"/a\\b\":\nit is not there; ü");
        assert_eq!(said("anything else"), None);
    }
}
