//! What reports say of an end: how its command ended, and how the emulator ran.

use std::fmt;

use serde::Serialize;
use windlass_sys::wait::prefer_this_thread;

/// How a program ended; nothing is known of one that was ended with the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// Its exit status.
    pub exit_status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Ending {
    /// Whether all went well.
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

/// How the system was asked to run the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// Others wait for it.
    Preferred,
    /// It is one of them: the system did not allow more.
    Ordinary,
}

impl Scheduling {
    /// Asks for preference for this thread; tells what it got.
    pub(crate) fn ask() -> Self {
        if prefer_this_thread() { Self::Preferred } else { Self::Ordinary }
    }

    /// The same for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Preferred => "preferred",
            Self::Ordinary => "ordinary: more takes CAP_SYS_NICE",
        }
    }
}
