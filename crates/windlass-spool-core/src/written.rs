//! How far a page log is.

use serde::{Deserialize, Serialize};

/// How far a page log was written when the journal heard of it last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its path.
    pub path: String,
    /// Its bytes up to the last job that the journal has as logged.
    pub bytes: u64,
}
