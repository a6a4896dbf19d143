//! What the table keeps to.

use std::time::Duration;

use crate::quota::Uncounted;

/// What is known of jobs that are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// All are known.
    All,
    /// So many are, the latest.
    Last(usize),
}

/// What the table keeps to.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What is known of jobs that are over.
    pub history: History,
    /// Whether their documents are kept, so that they can be printed again.
    pub keeps_documents: bool,
    /// The most jobs at a time that are not over.
    pub max_jobs: Option<usize>,
    /// How long a job waits for its next document.
    pub open_for: Duration,
    /// How often a job is tried before it is given up.
    pub max_attempts: Option<u32>,
    /// Whether printers may be given files of this host at run time.
    pub allows_files: bool,
    /// Whether they may be given commands: who may do that runs what he likes here.
    pub allows_commands: bool,
    /// The policy for pages that cannot be counted and that a quota limits.
    pub uncounted: Uncounted,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            history: History::Last(500),
            keeps_documents: false,
            max_jobs: None,
            open_for: Duration::from_secs(300),
            max_attempts: None,
            allows_files: false,
            allows_commands: false,
            uncounted: Uncounted::default(),
        }
    }
}
