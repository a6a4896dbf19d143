//! Errors of a store.

use std::io;
use std::path::PathBuf;

use windlass_sys::file::is_full;
use windlass_sys::limits::is_out_of_files;

/// Errors of a store, with their location.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The spool is full. Accepted jobs are kept. Jobs can still be removed, and then the spool has
    /// room again.
    #[error("the spool is full: {0}")]
    Full(FullReason),
    /// Another server uses the folder.
    #[error(
        "the spool {} is in use{}: only one server can use a folder",
        .folder.display(), by(*.process)
    )]
    Held {
        /// Path of the folder.
        folder: PathBuf,
        /// Process id that the lock file names.
        process: Option<u32>,
    },
    /// Other users could put files into the folder.
    #[error(
        "the spool {} is not safe: {why}; a server of root keeps jobs only in folders that no other \
         user can write to",
        .folder.display()
    )]
    Unsafe {
        /// Path of the folder.
        folder: PathBuf,
        /// Reason.
        why: String,
    },
    /// The file was written by another version of windlass.
    #[error(
        "{file} has version {found} of the spool's format, but only version {known} is supported: \
         use the windlass that made it, or another folder"
    )]
    Version {
        /// Path of the file.
        file: String,
        /// Version of the file.
        found: u32,
        /// Supported version.
        known: u32,
    },
    /// The disk returns data that was not written there.
    #[error(
        "{file} is damaged at byte {offset}: {what}; nothing was changed. Recover the whole jobs \
         with windlass spool salvage, or restore a backup of the folder"
    )]
    Damaged {
        /// Path of the file.
        file: String,
        /// Position in the file, in bytes.
        offset: u64,
        /// Kind of the damage.
        what: String,
    },
    /// The target folder of salvaged jobs already has jobs.
    #[error(
        "the spool {} already has {jobs} records: nothing was put there, as job numbers would \
         collide",
        .folder.display()
    )]
    NotEmpty {
        /// Path of the folder.
        folder: PathBuf,
        /// Number of records in the folder.
        jobs: usize,
    },
    /// The system reports an error.
    #[error("cannot {during} {file}: {source}")]
    Io {
        /// Action that failed.
        during: &'static str,
        /// Path of the file.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A write failed, and the state of the disk is unknown.
    #[error(
        "the spool accepts no more jobs since this failed: {0}; acknowledged jobs are kept. Repair \
         the disk, then start the server again"
    )]
    Broken(String),
    /// The record of a job exceeds the maximum size.
    #[error("a job's record has {bytes} bytes, the maximum is {most}")]
    TooLarge {
        /// Size of the record in bytes.
        bytes: usize,
        /// Maximum size in bytes.
        most: usize,
    },
    /// An earlier write to the document failed, so it is not whole.
    #[error("the document is not whole: an earlier part of it was not written")]
    Unfinished,
}

/// Reasons for a full spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullReason {
    /// The size limit of the spool is reached.
    Limit {
        /// Maximum number of bytes of documents.
        most: u64,
    },
    /// The disk is full.
    Disk,
    /// The limit of open files is reached.
    Files,
}

impl std::fmt::Display for FullReason {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit { most } => write!(to, "it holds its maximum of {most} bytes"),
            Self::Disk => to.write_str("no space is left on its disk"),
            Self::Files => to.write_str(
                "the limit of open files is reached (LimitNOFILE= of a unit, ulimit -n of a shell)",
            ),
        }
    }
}

impl Error {
    /// Converts an error of the system. A full disk and too many open files, which are temporary,
    /// have a variant of their own.
    pub(super) fn io(
        during: &'static str,
        file: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| {
            if is_full(&source) {
                Self::Full(FullReason::Disk)
            } else if is_out_of_files(&source) {
                Self::Full(FullReason::Files)
            } else {
                Self::Io { during, file, source }
            }
        }
    }

    /// Returns whether the error is a lack of room, which is temporary.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }
}

fn by(process: Option<u32>) -> String {
    process.map_or_else(String::new, |process| format!(" by process {process}"))
}
