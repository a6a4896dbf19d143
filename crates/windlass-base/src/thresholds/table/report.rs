//! The thresholds of reports.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // The end of a connection, and several at once.

    /// Data without an answer for this long was not left by a busy host: a sender that knows
    /// nothing of the path takes it for lost by then (RFC 6298 section 2.1).
    UNANSWERED_END: Span = Span::from_millis(1_000);
    /// Data without an answer for this many round trips was not left by a busy host.
    END_ROUNDS: i64 = 3;
    /// A connection that is silent for this long is not between two messages: servers give up an
    /// idle one after a minute or less.
    SILENT_END: Span = Span::from_millis(60_000);
    /// A transfer of fewer bytes says nothing of a path's or a window's rate.
    LARGE_TRANSFER: u64 = 10_000;
    /// Transfers run at once where at least two do for this share of the time.
    AT_ONCE_SHARE: f64 = 0.3;
    /// A transfer that is alone for this share of the time has a rate to compare with.
    ALONE_SHARE: f64 = 0.1;
    /// Transfers with windows of their own add this share of the rate that one alone has, each.
    EACH_GAINS: f64 = 0.5;
    /// Transfers that share a line are faster together than one alone by this factor at most.
    GAINED_TOGETHER: f64 = 1.2;
    /// Shorter times are not held against each other: they are near the steps of clocks.
    AUDITED_TIME: Span = Span::from_millis(1);
}
