//! What the journal has of jobs and printers.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::job::JobId;
use crate::printer::PrinterSettings;
use crate::quota::{Usage, Whose};
use crate::written::Written;

/// What the journal has of a job, or of a printer.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "one is written or read at a time")]
pub(crate) enum Record<'a, J> {
    /// A job, behind the name of its printer: places may change.
    Job(&'a str, J),
    /// The first number that no job had yet.
    Numbers(JobId),
    /// Of a printer, where it is not as the settings have it.
    Printer {
        /// Its name.
        name: &'a str,
        /// Whether it is stopped, and why.
        stopped: Option<&'a str>,
        /// Whether it takes jobs.
        is_accepting: bool,
        /// Why it takes none, where somebody said that.
        rejecting: Option<&'a str>,
        /// What the settings said of it then ([`crate::Printer::said`]).
        said: Option<u64>,
        /// What was changed of it at run time.
        #[serde(borrow)]
        change: Option<RunTime<'a>>,
    },
    /// The printer of who names none.
    Default(&'a str),
    /// What is accounted for: the last ending that is logged, and how far the logs are.
    Accounts(u64, Vec<Written>),
    /// What a user printed.
    Usage(Whose, Usage),
}

/// What was changed of a printer at run time, as the journal has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "one is written or read at a time")]
pub(crate) enum RunTime<'a> {
    /// It is to be this.
    Set(Cow<'a, PrinterSettings>),
    /// It is removed.
    Removed,
}
