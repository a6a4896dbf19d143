//! What a spool tells of itself.

use std::fmt;
use std::net::SocketAddr;

use super::job::JobId;

/// What happened that somebody should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A device did not take a job.
    Failed {
        /// The printer.
        printer: String,
        /// The job.
        job: JobId,
        /// Why.
        why: String,
        /// What becomes of it.
        then: Then,
    },
    /// A device takes jobs again.
    Recovered {
        /// The printer.
        printer: String,
        /// After so many failures in a row.
        failures: u32,
    },
    /// There is no room for new jobs.
    Full(String),
    /// There is room again.
    Room,
    /// The spool does not work any more.
    Broken(String),
    /// A job of the spool could not be taken up.
    Stray(String),
    /// A client did what no client does.
    Client {
        /// It.
        peer: SocketAddr,
        /// What it did.
        what: String,
    },
}

/// What becomes of a job that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is tried again after so many seconds.
    Again(u64),
    /// It is given up.
    Aborted,
    /// Its printer stops.
    Stopped,
    /// It was canceled.
    Canceled,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { printer, job, why, then } => {
                write!(f, "printer {printer}: job {job}: {why}: {then}")
            }
            Self::Recovered { printer, failures: 1 } => {
                write!(f, "printer {printer}: takes jobs again after a failure")
            }
            Self::Recovered { printer, failures } => {
                write!(f, "printer {printer}: takes jobs again after {failures} failures")
            }
            Self::Full(why) => write!(f, "{why}; new jobs are refused until there is room"),
            Self::Room => f.write_str("the spool has room again"),
            Self::Broken(why) | Self::Stray(why) => f.write_str(why),
            Self::Client { peer, what } => write!(f, "client {peer}: {what}"),
        }
    }
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again(seconds) => write!(f, "tried again in {seconds} s"),
            Self::Aborted => f.write_str("given up"),
            Self::Stopped => f.write_str("the printer is stopped until it is resumed"),
            Self::Canceled => f.write_str("canceled"),
        }
    }
}
