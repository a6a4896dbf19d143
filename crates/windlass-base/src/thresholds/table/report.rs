//! The thresholds of reports.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // The end of a connection, and several at once.

    /// A transfer of fewer bytes says nothing of a path's or a window's rate.
    LARGE_TRANSFER: u64 = 10_000;

    // Two captures of one connection.

    /// Clocks of two hosts go apart by a smaller share: crystals by 0.000,1, and NTP corrects by
    /// 0.000,5 at most (RFC 5905 appendix A.1.1, `MAXFREQ`).
    MOST_CLOCK_DRIFT: f64 = 0.001;
    /// Places a shorter round trip apart are one: pcap counts microseconds, so that each of two
    /// times may be off by one.
    LEAST_ROUND_TRIP: Span = Span::from_micros(2);
    /// A capture that misses this share of the packets that the other one holds is not to be
    /// trusted: repairs and pauses look otherwise there.
    MISSED_SHARE: f64 = 0.01;
    /// A share of a thousandth, and a millisecond, are hardly seen: what rises from less by a factor
    /// has not changed much.
    HARDLY_SEEN: f64 = 0.001;
}
