//! The thresholds of reports.

use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // The end of a connection, and several at once.

    /// A transfer of fewer bytes says nothing of a path's or a window's rate.
    LARGE_TRANSFER: u64 = 10_000;
}
