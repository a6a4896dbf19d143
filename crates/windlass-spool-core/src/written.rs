//! Positions of page logs.

use serde::{Deserialize, Serialize};

/// Position of a page log when the journal last heard of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// Path of the log.
    pub path: String,
    /// Bytes up to the last job that the journal has as logged.
    pub bytes: u64,
}
