//! What is loaded, and who is told how far it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use windlass_base::Failure;
use windlass_host::{Running, WatchTarget};
use windlass_print::load::Place;
use windlass_print::{Access, Target};

/// What is sent where, and how it is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The target, as it was given.
    pub target: String,
    /// The jobs.
    pub load: windlass_print::load::Plan,
    /// The trusted servers of TLS, and the user.
    pub access: Arc<Access>,
    /// The queues as the spooler is asked about them; none where it is not.
    pub asking: Vec<Target>,
    /// What jobs are of.
    pub wanted: Vec<windlass_print::load::Wanted>,
    /// The same as it was given.
    pub payload: Vec<String>,
    /// Where they are sent from.
    pub place: Place,
    /// Where a folder is made for copies that programs can read, instead of
    /// `place`.
    pub copies_in: Option<PathBuf>,
    /// True if printers are stopped until all is queued.
    pub hold: bool,
    /// True if they stay stopped.
    pub keep_held: bool,
    /// True to wait until all is processed.
    pub waits: bool,
    /// How often it is looked how many jobs wait, at the most.
    pub interval: Duration,
    /// The processes of the server; none for the one that listens there.
    pub server: Vec<WatchTarget>,
}

/// Stages of a load.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Jobs are queued.
    Queueing {
        /// Those that came to an end.
        settled: u64,
        /// Of so many.
        of: u64,
        /// In so long.
        taken: Duration,
        /// How many wait, where that is known.
        waiting: Option<u64>,
    },
    /// Jobs are processed.
    Processing {
        /// Those that wait.
        waiting: u64,
        /// Of so many at the beginning.
        of: u64,
        /// So long ago.
        taken: Duration,
    },
}

/// Receives what happens meanwhile.
pub trait Attendant {
    /// The first job is about to be sent. Who watches the machine by then has it in
    /// the report.
    ///
    /// # Errors
    /// Fails where the job is not to be sent.
    fn begins(&mut self) -> Result<Running, Failure> {
        Ok(Running::begin(None))
    }

    /// How far it is: told again and again.
    fn progress(&mut self, _stage: Stage) {}

    /// That stage is over.
    fn stage_ends(&mut self) {}

    /// No printer waits any more to be started again: it may be ended at once.
    fn may_end(&mut self) {}
}
