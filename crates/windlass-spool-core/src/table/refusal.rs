//! Why the table does not do what is asked of it.

use windlass_wire::ipp::Status;

use crate::job::{Job, JobId};

/// The most documents of a job. The journal has each with its place and its name.
pub const MAX_DOCUMENTS: usize = 1_000;

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such printer.
    #[error("there is no printer {0:?}")]
    NoPrinter(String),
    /// A printer and itself.
    #[error("the jobs of printer {0:?} are there already")]
    SamePrinter(String),
    /// There is no such job.
    #[error("there is no job {0}")]
    NoJob(JobId),
    /// The printer takes no jobs.
    #[error("printer {0:?} does not accept jobs")]
    NotAccepting(String),
    /// There are too many.
    #[error("too many jobs: {what} keeps {most} at a time")]
    TooManyJobs {
        /// Who has too many.
        what: String,
        /// How many it keeps.
        most: usize,
    },
    /// There are too many that wait for their documents.
    #[error("too many jobs wait for their documents: {whose} may have {most} at a time")]
    TooManyOpen {
        /// The user, host or spool that they are counted of.
        whose: String,
        /// The most that there may be.
        most: usize,
    },
    /// The job is not where that can be done.
    #[error("job {id} is {state}: {why}")]
    NotPossible {
        /// Its number.
        id: JobId,
        /// Where it is.
        state: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// It belongs to another.
    #[error("job {0} belongs to another user")]
    NotYours(JobId),
    /// It has as many documents as it may.
    #[error("job {id} has {MAX_DOCUMENTS} documents, the most that a job may have")]
    TooManyDocuments {
        /// Its number.
        id: JobId,
    },
    /// What is known of the job, without its documents, is longer than is kept.
    #[error("what describes the job is too long to be kept: {0}")]
    TooLong(String),
    /// The document is longer than is taken.
    #[error("the document is longer than {0} bytes, the most that is taken")]
    TooLarge(u64),
    /// The user may not print there.
    #[error("{user:?} may not print on {printer:?}")]
    NotAUser {
        /// Who.
        user: String,
        /// Where.
        printer: String,
    },
    /// The user has printed as much as he may.
    #[error("{user:?} has printed as much as he may: {what}")]
    OverQuota {
        /// Who.
        user: String,
        /// What he has used, of how much.
        what: String,
    },
    /// There is no room.
    #[error("the spool is full: {0}")]
    Full(String),
    /// The disk fails.
    #[error("the spool is broken: {0}")]
    Broken(String),
}

impl Refusal {
    /// The status that IPP has for it (RFC 8011, appendix B).
    pub const fn status(&self) -> Status {
        match self {
            Self::NoPrinter(_) | Self::NoJob(_) => Status::NOT_FOUND,
            Self::NotAccepting(_) => Status::NOT_ACCEPTING,
            Self::TooManyJobs { .. } | Self::TooManyOpen { .. } => Status::TOO_MANY_JOBS,
            Self::NotPossible { .. } | Self::SamePrinter(_) => Status::NOT_POSSIBLE,
            Self::NotYours(_) | Self::NotAUser { .. } => Status::NOT_AUTHORIZED,
            Self::TooManyDocuments { .. } => Status::TOO_MANY_DOCUMENTS,
            Self::TooLarge(_) | Self::TooLong(_) => Status::ENTITY_TOO_LARGE,
            Self::OverQuota { .. } => Status::ACCOUNT_LIMIT_REACHED,
            // "A disk full condition" is named there (section B.1.5.6).
            Self::Full(_) => Status::TEMPORARY_ERROR,
            Self::Broken(_) => Status::INTERNAL_ERROR,
        }
    }

    /// Whether it passes when jobs are printed: who can wait may come then.
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Full(_) | Self::TooManyJobs { .. } | Self::TooManyOpen { .. })
    }

    /// Of a job that is where that cannot be done.
    pub(crate) const fn impossible<D>(job: &Job<D>, why: &'static str) -> Self {
        Self::NotPossible { id: job.id, state: job.state().id(), why }
    }
}
