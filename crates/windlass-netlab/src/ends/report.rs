//! Report on an end: the ending of its command, and the scheduling of the emulator.

use std::fmt;

use serde::Serialize;
use windlass_sys::wait::prefer_this_thread;

/// Ending of a program; empty for one that was ended with the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// Exit status of the program.
    pub exit_status: Option<i32>,
    /// Signal that ended the program.
    pub signal: Option<i32>,
}

impl Ending {
    /// Returns whether the program succeeded.
    pub fn is_success(self) -> bool {
        self.exit_status == Some(0)
    }
}

/// `ended with exit status 3`, `was ended by signal 15 (SIGTERM)`.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.exit_status, self.signal) {
            (Some(status), _) => write!(f, "ended with exit status {status}"),
            (None, Some(number)) => {
                write!(f, "was ended by signal {number}")?;
                match signal_hook::low_level::signal_name(number) {
                    Some(name) => write!(f, " ({name})"),
                    None => Ok(()),
                }
            }
            (None, None) => write!(f, "ran until the link ended"),
        }
    }
}

/// Scheduling of the emulator's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// Preferred over other threads.
    Preferred,
    /// Like other threads: the system did not allow more.
    Ordinary,
}

impl Scheduling {
    /// Asks for preference for this thread, and returns the result.
    pub(crate) fn ask() -> Self {
        if prefer_this_thread() { Self::Preferred } else { Self::Ordinary }
    }

    /// Returns the text for the report.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Preferred => "preferred",
            Self::Ordinary => "ordinary: real-time scheduling needs CAP_SYS_NICE",
        }
    }
}
