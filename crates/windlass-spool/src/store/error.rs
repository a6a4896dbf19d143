//! What can go wrong with a spool.

use std::io;
use std::path::PathBuf;

use windlass_sys::file::is_full;
use windlass_sys::limits::is_out_of_files;

/// What went wrong, and with what.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no room. What was accepted is kept, jobs can still be removed, and
    /// then it goes on.
    #[error("the spool is full: {0}")]
    Full(Full),
    /// Another server has the folder.
    #[error(
        "the spool {} is in use{}: a folder serves one server at a time",
        .folder.display(), by(*.process)
    )]
    Held {
        /// The folder.
        folder: PathBuf,
        /// The process that says it has it.
        process: Option<u32>,
    },
    /// Others could put files of theirs into the folder.
    #[error(
        "the spool {} is not safe: {why}; a server that root runs keeps jobs only where nobody else \
         may write",
        .folder.display()
    )]
    Unsafe {
        /// The folder.
        folder: PathBuf,
        /// Why.
        why: String,
    },
    /// It was made by another version of windlass.
    #[error(
        "{file} is of version {found} of the spool's format, and only {known} is understood: \
         use the windlass that made it, or another folder"
    )]
    Version {
        /// The file.
        file: String,
        /// The version that it has.
        found: u32,
        /// The one that is understood.
        known: u32,
    },
    /// The disk gives back something that was not written there.
    #[error(
        "{file} is damaged at byte {offset}: {what}; nothing was changed: windlass spool salvage \
         brings what is whole into a new folder, or put back a copy of this one"
    )]
    Damaged {
        /// The file.
        file: String,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Jobs are to be put into a folder that has some.
    #[error(
        "the spool {} has {jobs} records of its own: nothing was put there, as their numbers \
         would be those of others",
        .folder.display()
    )]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
        /// Records in it.
        jobs: usize,
    },
    /// The system says no.
    #[error("{during} {file}: {source}")]
    Io {
        /// What was being done.
        during: &'static str,
        /// To what.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// Something was not written, and nobody can say what of it is on the disk.
    #[error(
        "the spool takes nothing more since this failed: {0}; what was acknowledged before is \
         kept: see to the disk, then start the server again"
    )]
    Broken(String),
    /// A job's own record is larger than any should be.
    #[error("a job's record of {bytes} bytes is larger than {most}")]
    TooLarge {
        /// What it has.
        bytes: usize,
        /// The most that it may have.
        most: usize,
    },
    /// A document had an error before, so it is not whole.
    #[error("the document is not whole: an earlier part of it was not written")]
    Unfinished,
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The most that it may hold is reached.
    Limit {
        /// Bytes of documents.
        most: u64,
    },
    /// The disk is full.
    Disk,
    /// No more files may be open.
    Files,
}

impl std::fmt::Display for Full {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit { most } => write!(to, "it holds the {most} bytes that it may hold"),
            Self::Disk => to.write_str("no space is left on its disk"),
            Self::Files => to.write_str(
                "it may have no more files open (LimitNOFILE= of a unit, ulimit -n of a shell)",
            ),
        }
    }
}

impl Error {
    /// An error of the system; those of a full disk, and of too many open files, which
    /// pass by themselves, are one of its own.
    pub(super) fn io(
        during: &'static str,
        file: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| {
            if is_full(&source) {
                Self::Full(Full::Disk)
            } else if is_out_of_files(&source) {
                Self::Full(Full::Files)
            } else {
                Self::Io { during, file, source }
            }
        }
    }

    /// Whether there is no room, which passes by itself.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }
}

fn by(process: Option<u32>) -> String {
    process.map_or_else(String::new, |process| format!(" by process {process}"))
}
