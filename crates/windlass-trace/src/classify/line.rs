//! Where a line delivered all it could, as the even spacing of data far from its
//! sender tells, or the constant sum of what several connections got of it.

use windlass_base::{Bytes, Span};

use crate::finished::Finished;
use crate::ledger::{Interval, Kind};
use crate::trains::Line;

/// A line that sends for this share of a time is what held the data back then.
const BUSY: f64 = 0.8;

/// The least part of a pause that is told apart from it.
const PART: f64 = 0.3;

/// A window of which a line's rate takes less than this share in a round trip does not
/// make that rate.
const ROOM: f64 = 0.7;

/// Pairs of segments that a line sends in a round trip, at least. A sender that waits
/// for ACKs sends one burst in each.
const ROUND: i64 = 3;

/// A segment takes the line so many round trips of an idle path where no ACK holds the
/// next one back.
const BEYOND: f64 = 1.5;

/// The share of its time in which a shared line must have been full.
const SHARED: f64 = 0.6;

/// How much of an interval the line took that spaced the data.
pub(super) fn line_time(finished: &Finished, line: Option<Line>, interval: &Interval) -> Span {
    if !matches!(interval.kind, Kind::Idle | Kind::Open) {
        return Span::ZERO;
    }
    let of_all = time_of_all(finished, interval);
    // At the sender each pause is its own.
    if interval.kind == Kind::Idle
        && finished.is_far()
        && let Some(shared) = finished.shared().filter(|shared| shared.busy >= SHARED)
    {
        return interval.charged.scaled(shared.busy).max(of_all.unwrap_or_default());
    }
    if let Some(time) = of_all {
        return time;
    }
    let Some(line) = line else { return Span::ZERO };
    let sending = line.rate.time_for(Bytes::new(interval.activity.sent)).min(interval.charged);
    let share = sending.share_of(interval.charged);
    match interval.kind {
        // What came neither at once nor a round trip after an ACK.
        Kind::Idle if share >= BUSY => interval.charged,
        Kind::Idle if share >= PART => sending,
        Kind::Open if share >= BUSY && !is_window_rate(finished, line) => interval.charged,
        _ => Span::ZERO,
    }
}

/// How much of an interval the line was full by the spacing of all data for this receiver.
fn time_of_all(finished: &Finished, interval: &Interval) -> Option<Span> {
    let whole = interval.end.since(interval.start);
    let full = finished.full_times()?.within(interval.start, interval.end);
    let share = full.share_of(whole);
    match interval.kind {
        _ if share >= BUSY => Some(interval.charged),
        Kind::Idle if share >= PART => Some(interval.charged.scaled(share)),
        _ => None,
    }
}

/// Whether the receiver's window may be what makes for this rate, or data comes in
/// bursts, one in each round trip.
fn is_window_rate(finished: &Finished, line: Line) -> bool {
    let Some(rtt) = finished.path_rtt else { return true };
    // A receiver that withholds its ACKs makes the round trip that long.
    let latency = finished.latency.median().unwrap_or_default();
    let rtt = rtt.max(latency + finished.ack_delay);
    if line.gap / 2 > rtt.scaled(BEYOND) {
        // A sender that waited for ACKs would have sent sooner.
        return false;
    }
    let flight = line.rate.bytes_per_second() * rtt.as_seconds();
    line.gap * ROUND > rtt || flight > finished.window_most as f64 * ROOM
}
