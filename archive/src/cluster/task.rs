//! What an executor does with a pack: what a local `add` of these sources would.
//!
//! It commits to the archive itself. So a task that was killed, or is done twice, finds there what
//! it has done, and what it tells of itself counts for nothing: the log does.

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

/// What stands around words of ours in what the library says.
const SAID: &str = "windlass-says-";

/// What is done with each pack of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The archive.
    pub into: String,
    /// An entry of its log,
    pub number: u64,
    /// and who wrote it: an executor that sees another archive there does not write to that.
    pub writer: String,
    /// How the files are named.
    pub pattern: Option<String>,
    /// How many captures come into the archive at once, at most.
    pub batch: usize,
    /// Whether files are read whose name, size and time are known.
    pub reread: bool,
}

/// What became of a pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Sources that are told, or were.
    pub told: u64,
    /// Those that are not here as they were found.
    pub absent: u64,
}

/// Why a pack was not done.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Another executor, or this one later, may do better.
    Now(String),
    /// None would: the job has to be ended.
    Always(String),
}

impl From<Wrong> for DataFusionError {
    fn from(wrong: Wrong) -> Self {
        let say = |text: &str| format!("{SAID}{};", HEXLOWER.encode(text.as_bytes()));
        match wrong {
            // The scheduler tries a task again whose error is one of input or output.
            Wrong::Now(text) => Self::IoError(io::Error::other(say(&text))),
            Wrong::Always(text) => Self::Execution(say(&text)),
        }
    }
}

/// The words of ours in what the library says of a failed job.
pub fn said(error: &str) -> Option<String> {
    let (_, rest) = error.split_once(SAID)?;
    let (text, _) = rest.split_once(';')?;
    String::from_utf8(HEXLOWER.decode(text.as_bytes()).ok()?).ok()
}

/// Does tasks.
pub struct Worker {
    name: String,
    runtime: Handle,
    stops: Arc<Stops>,
    /// What tasks that are done know of archives, by these: it is not read again for the next.
    idle: Mutex<Vec<(String, Knowledge)>>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Worker {
    /// One whose executor is called so.
    pub fn new(name: String, runtime: Handle, stops: Arc<Stops>) -> Self {
        Self { name, runtime, stops, idle: Mutex::default() }
    }

    /// What its executor is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What ends tasks.
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    /// Words of its own, where a failure does not say where it was.
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

    /// Explains a pack, and puts it into the archive.
    ///
    /// # Errors
    /// Where it could not, all of it.
    pub fn work(
        &self,
        order: &Order,
        sources: Vec<Source>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Receipt, Wrong> {
        let into = self.archive(order)?;
        let pattern = order.pattern.as_deref().map(str::parse::<PathPattern>).transpose();
        let pattern = pattern.map_err(|wrong| Wrong::Always(wrong.to_string()))?;
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
        let failed = |failure| Wrong::Now(self.here(failure));
        let mut knowledge = self.knowledge(&order.into);
        self.runtime.block_on(knowledge.refresh(&into)).map_err(failed)?;
        let (summary, knowledge) =
            explain_all(&job, here, knowledge, stop, &self.runtime, &mut |_| {}).map_err(failed)?;
        self.keep(&order.into, knowledge);
        if summary.stopped {
            return Err(Wrong::Now(format!("the executor at {} was stopped", self.name)));
        }
        Ok(receipt)
    }

    /// The archive, where it is that which was meant.
    fn archive(&self, order: &Order) -> Result<Place, Wrong> {
        let Order { into, number, writer, .. } = order;
        let advice = "Every executor must see the archive by the path that add was given.";
        let wrong = |failure: Failure| Wrong::Always(self.here(failure));
        let place = Place::existing(into, "cannot write to the archive")
            .map_err(|failure| wrong(failure.advise(advice)))?;
        let there = self.runtime.block_on(log::writer(&place, *number));
        if there.map_err(wrong)?.as_ref() == Some(writer) {
            return Ok(place);
        }
        let doing = format!("cannot write to the archive {into}");
        let failure = Failure::new(doing, "what is there is not the archive that was meant");
        Err(wrong(failure.advise(advice)))
    }

    /// Those sources that are here as they were found.
    fn here_of(&self, sources: Vec<Source>) -> Result<Vec<Source>, Wrong> {
        let mut here = Vec::new();
        let mut absent: Option<Source> = None;
        let count = sources.len();
        let mut is_reached = false;
        for source in sources {
            // A bucket that is reached for one is so for all; whether a capture is still in it is
            // seen when it is fetched.
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
                        .advise("Every executor needs the rights that add has.");
                    return Err(Wrong::Always(self.here(failure)));
                }
            }
        }
        let Some(absent) = absent.filter(|_| here.is_empty()) else { return Ok(here) };
        // One that went meanwhile is no sign; all of many, or the folder itself, are.
        let folder = Path::new(&absent.name).parent();
        let is_sign =
            count > 1 || !absent.is_remote() && folder.is_some_and(|folder| !folder.exists());
        if !is_sign {
            return Ok(here);
        }
        let failure = Failure::new(
            format!("cannot read {}", absent.name),
            "it is not there, or another file than where add was called",
        )
        .advise("Every executor must see the captures by the same paths: is a mount missing?");
        Err(Wrong::Always(self.here(failure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_ours_come_through_what_the_library_makes_of_them() {
        let wrong = Wrong::Always("cannot read \"/a\\b\":\nit is not there; ü".to_owned());
        let error = DataFusionError::from(wrong);
        let library = format!("Job abc failed: {:?}", format!("{error:?}"));
        assert_eq!(said(&library).unwrap(), "cannot read \"/a\\b\":\nit is not there; ü");
        assert_eq!(said("anything else"), None);
    }
}
