//! Rules of the job table.

use std::time::Duration;

use crate::quota::UncountedPolicy;

/// History of finished jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// All jobs are kept.
    All,
    /// The latest jobs are kept, this many.
    Last(usize),
}

/// Rules of the job table.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// History of finished jobs.
    pub history: History,
    /// True if documents of finished jobs are kept for reprinting.
    pub keeps_documents: bool,
    /// Maximum number of unfinished jobs.
    pub max_jobs: Option<usize>,
    /// Maximum time until the next document of an open job.
    pub open_for: Duration,
    /// Maximum number of attempts before a job is given up.
    pub max_attempts: Option<u32>,
    /// True if a printer may be given a file of this host at run time.
    pub allows_files: bool,
    /// True if a printer may be given a command at run time: whoever may do that can run any
    /// program here.
    pub allows_commands: bool,
    /// Policy for pages that a quota limits and that cannot be counted.
    pub uncounted: UncountedPolicy,
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
            uncounted: UncountedPolicy::default(),
        }
    }
}
