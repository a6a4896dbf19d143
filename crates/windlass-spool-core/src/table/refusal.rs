//! Refusals of the job table.

use windlass_wire::ipp::Status;

use crate::job::{Job, JobId};

/// Maximum number of documents of a job. The journal stores each with its location and its name.
pub const MAX_DOCUMENTS: usize = 1_000;

/// Reason to refuse an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The printer does not exist.
    #[error("there is no printer {0:?}")]
    NoPrinter(String),
    /// The jobs of a printer cannot move to itself.
    #[error("the jobs are already on printer {0:?}")]
    SamePrinter(String),
    /// The job does not exist.
    #[error("there is no job {0}")]
    NoJob(JobId),
    /// The printer accepts no jobs.
    #[error("printer {0:?} does not accept jobs")]
    NotAccepting(String),
    /// There are too many jobs.
    #[error("too many jobs: the limit of {what} is {most}")]
    TooManyJobs {
        /// Printer or spool with too many jobs.
        what: String,
        /// Maximum number of jobs.
        most: usize,
    },
    /// Too many jobs wait for their documents.
    #[error("too many jobs wait for their documents: the limit of {whose} is {most}")]
    TooManyOpen {
        /// User, host or spool with too many open jobs.
        whose: String,
        /// Maximum number of open jobs.
        most: usize,
    },
    /// The job is in a phase that does not allow this operation.
    #[error("job {id} is {state}: {why}")]
    NotPossible {
        /// Number of the job.
        id: JobId,
        /// State of the job.
        state: &'static str,
        /// Reason.
        why: &'static str,
    },
    /// The job belongs to another user.
    #[error("job {0} belongs to another user")]
    NotYours(JobId),
    /// The job has the maximum number of documents.
    #[error("job {id} already has {MAX_DOCUMENTS} documents, the maximum")]
    TooManyDocuments {
        /// Number of the job.
        id: JobId,
    },
    /// The description of the job, without its documents, is too long to store.
    #[error("the description is too long: {0}")]
    TooLong(String),
    /// The document is too long.
    #[error("the document is longer than {0} bytes, the maximum")]
    TooLarge(u64),
    /// The user may not print there.
    #[error("{user:?} may not print on {printer:?}")]
    NotAUser {
        /// Name of the user.
        user: String,
        /// Name of the printer.
        printer: String,
    },
    /// The user's quota is used up.
    #[error("{user:?} has reached a quota: {what}")]
    OverQuota {
        /// Name of the user.
        user: String,
        /// Usage and limit.
        what: String,
    },
    /// The spool is full.
    #[error("the spool is full: {0}")]
    Full(String),
    /// The disk has failed.
    #[error("the spool is broken: {0}")]
    Broken(String),
}

impl Refusal {
    /// Returns the IPP status (RFC 8011, appendix B).
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
            // The RFC names "a disk full condition" there (section B.1.5.6).
            Self::Full(_) => Status::TEMPORARY_ERROR,
            Self::Broken(_) => Status::INTERNAL_ERROR,
        }
    }

    /// Returns whether the refusal is temporary, and ends once jobs are printed.
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Full(_) | Self::TooManyJobs { .. } | Self::TooManyOpen { .. })
    }

    /// Returns the refusal of an operation that the job's phase does not allow.
    pub(crate) const fn impossible<D>(job: &Job<D>, why: &'static str) -> Self {
        Self::NotPossible { id: job.id, state: job.state().id(), why }
    }
}
