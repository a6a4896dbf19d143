//! Records of the journal.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::job::JobId;
use crate::printer::PrinterSettings;
use crate::quota::{Usage, UsageOwner};
use crate::written::LogPosition;

/// Record of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "one is written or read at a time")]
pub(crate) enum Record<'a, J> {
    /// A job, after the name of its printer. Indexes of printers may change between starts.
    Job(&'a str, J),
    /// The first job number that is still unused.
    Numbers(JobId),
    /// The state of a printer that differs from the settings.
    Printer {
        /// Name of the printer.
        name: &'a str,
        /// Reason if the printer is stopped.
        stopped: Option<&'a str>,
        /// True if the printer accepts jobs.
        is_accepting: bool,
        /// Reason why the printer rejects jobs, if somebody gave one.
        rejecting: Option<&'a str>,
        /// Hash of the printer's entry in the settings at that time ([`crate::Printer::said`]).
        said: Option<u64>,
        /// Change at run time.
        #[serde(borrow)]
        change: Option<RunTime<'a>>,
    },
    /// The default printer.
    Default(&'a str),
    /// The accounts: the last ending that is logged, and the positions of the page logs.
    Accounts(u64, Vec<LogPosition>),
    /// The usage of a user.
    Usage(UsageOwner, Usage),
}

/// Change of a printer at run time, as the journal stores it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "one is written or read at a time")]
pub(crate) enum RunTime<'a> {
    /// The printer has these settings.
    Set(Cow<'a, PrinterSettings>),
    /// The printer is removed.
    Removed,
}
