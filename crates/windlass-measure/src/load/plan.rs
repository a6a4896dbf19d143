//! Plan of a load, and the observer of its progress.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use windlass_base::Failure;
use windlass_host::{CurrentRun, WatchTarget};
use windlass_print::load::DocumentStorage;
use windlass_print::{Access, Target};

/// Jobs of a load, and the settings of their measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Target as given.
    pub target: String,
    /// The jobs.
    pub load: windlass_print::load::Plan,
    /// Trusted TLS servers, and the user.
    pub access: Arc<Access>,
    /// Queues about which the spooler is asked; none if it is not asked.
    pub asking: Vec<Target>,
    /// Requested documents of the jobs.
    pub wanted: Vec<windlass_print::load::RequestedDocument>,
    /// Requested documents as given.
    pub payload: Vec<String>,
    /// Storage from which documents are sent.
    pub place: DocumentStorage,
    /// Folder for copies that programs can read, instead of `place`.
    pub copies_in: Option<PathBuf>,
    /// True if printers are stopped until all jobs are queued.
    pub hold: bool,
    /// True if they stay stopped.
    pub keep_held: bool,
    /// True to wait until all jobs are processed.
    pub waits: bool,
    /// Longest interval between two counts of the waiting jobs.
    pub interval: Duration,
    /// Processes of the server; none for the one that listens there.
    pub server: Vec<WatchTarget>,
}

/// Stage of a load.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Jobs are queued.
    Queueing {
        /// Finished submissions.
        settled: u64,
        /// Total number of jobs.
        of: u64,
        /// Time since the first job.
        taken: Duration,
        /// Number of waiting jobs, if known.
        waiting: Option<u64>,
    },
    /// Jobs are processed.
    Processing {
        /// Waiting jobs.
        waiting: u64,
        /// Number of waiting jobs at the beginning.
        of: u64,
        /// Time since the beginning.
        taken: Duration,
    },
}

/// Observer of a load.
pub trait Attendant {
    /// Called when the first job is about to be sent. The report includes the returned observation
    /// of the machine.
    ///
    /// # Errors
    /// Fails if the job is not to be sent.
    fn begins(&mut self) -> Result<CurrentRun, Failure> {
        Ok(CurrentRun::begin(None))
    }

    /// Reports the progress. Called repeatedly.
    fn progress(&mut self, _stage: Stage) {}

    /// Reports the end of the current stage.
    fn stage_ends(&mut self) {}

    /// Called when no printer is left to be restarted, so that the program may end at once.
    fn may_end(&mut self) {}
}
