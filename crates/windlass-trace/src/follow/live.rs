//! Connections while they run: bytes since the last look, and their limits meanwhile.
//!
//! A look judges a copy of a connection by the rules of the report, as though the capture ended
//! there. It cuts the timeline to the time since the last look. So looks have no effect on the
//! analysis, and their verdicts are as sure as at a capture's end: a later packet may still tell
//! otherwise.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::{Bytes, Cause, Limit, LimitReason, Rate, Span, Timestamp};
use windlass_wire::Endpoint;

use crate::follow::connection::Connection;
use crate::follow::flow::Flow;
use crate::follow::transfer::Transfer;
use crate::judge::{self, Habits};
use crate::quality::clock_jumps::{ClockJump, leave_out};

/// Contents of a snapshot.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// The time since the last look, or since the first packet where there was none.
    pub seconds: Span,
    /// Connections that are open.
    pub open: u64,
    /// Connections that began since the last look.
    pub began_since: u64,
    /// Connections that ended since the last look, those that began after it
    /// among them.
    pub ended_since: u64,
    /// Payload that all connections moved since the last look, each byte once.
    pub bytes_since: Bytes,
    /// The connections of most interest: those that moved most, then those that
    /// wait for something, then the largest.
    pub connections: Vec<LiveConnection>,
}

/// A connection at a look, reduced to the direction that moved more since the
/// last one.
#[derive(Clone, Debug, Serialize)]
pub struct LiveConnection {
    /// Number of the connection, from 1 in order of appearance, as in the report.
    pub number: u64,
    /// Sender.
    #[serde(serialize_with = "as_text")]
    pub sender: Endpoint,
    /// Receiver.
    #[serde(serialize_with = "as_text")]
    pub receiver: Endpoint,
    /// Payload so far, each byte once. What was acknowledged counts, captured or
    /// not.
    pub bytes: Bytes,
    /// Payload since the last look.
    pub bytes_since: Bytes,
    /// Rate since the last snapshot.
    pub bytes_per_second: Rate,
    /// The share of each limit in the time since the last look that could be
    /// charged; they sum to 1. Empty where no time could.
    pub shares: BTreeMap<&'static str, f64>,
    /// Time to which the shares refer.
    pub charged_seconds: Span,
    /// The limit that cost most of it.
    pub limit: Option<Limit>,
    /// Its reason.
    pub because: Option<LimitReason>,
    /// The least round trip so far.
    pub rtt_seconds: Option<Span>,
    /// The window that the receiver has left open at the look; nothing where its ACKs or its
    /// scale are not in the capture, or the connection has ended.
    pub window_bytes: Option<Bytes>,
    /// Data sent and not acknowledged at the look; `None` if the receiver's ACKs are not in the
    /// capture, or the connection has ended.
    pub flight_bytes: Option<Bytes>,
    /// Segments sent again so far.
    pub retransmissions: u64,
    /// Bytes so far that were acknowledged but are not in the capture.
    pub missing_from_capture_bytes: Bytes,
    /// True if it has ended.
    pub ended: bool,
}

fn as_text<S: serde::Serializer>(end: &Endpoint, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(end)
}

/// Time span of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SnapshotPeriod {
    pub(crate) since: Timestamp,
    pub(crate) now: Timestamp,
}

impl SnapshotPeriod {
    pub(crate) fn span(&self) -> Span {
        self.now.since(self.since).or_zero()
    }

    /// Returns the span by the clock of a connection whose time was moved by that much, when the
    /// capture's clock was set back.
    fn moved(self, by: Span) -> Self {
        Self { since: self.since + by, now: self.now + by }
    }

    /// Returns the span by a clock without these jumps.
    fn without(self, leaps: &[ClockJump]) -> Self {
        Self { since: leave_out(leaps, self.since), now: leave_out(leaps, self.now) }
    }

    /// Returns the part of this time span that lies in the window.
    fn holds(&self, start: Timestamp, end: Timestamp) -> Span {
        end.min(self.now).since(start.max(self.since)).or_zero()
    }
}

/// A copy of a connection that goes on, as though the capture ended now.
pub(crate) struct RunningConnection {
    pub(crate) finished: Transfer,
    moved: [u64; 2],
    window: SnapshotPeriod,
    /// Receive window, and data in flight.
    levels: (Option<Bytes>, Option<Bytes>),
}

impl RunningConnection {
    /// Finishes a copy of a connection, of which `moved` bytes by direction are new.
    pub(crate) fn new(
        mut connection: Connection,
        moved: [u64; 2],
        window: SnapshotPeriod,
    ) -> Option<Self> {
        let window = window.moved(connection.stepped);
        connection.wait_until(window.now);
        let direction = match moved {
            [0, 0] => None,
            [one, two] => Some(usize::from(two > one)),
        };
        let seen = std::mem::take(&mut connection.seen);
        let levels = [0, 1].map(|place: usize| {
            connection.sides[place].flow.as_deref().map_or((None, None), Flow::levels)
        });
        let mut finished = Transfer::look(connection, direction)?;
        let levels = levels[finished.direction];
        if let Some(mut last) = seen.last.and_then(|last| last[finished.direction]) {
            last.start = leave_out(&finished.leaps, last.start);
            last.end = leave_out(&finished.leaps, last.end);
            finished.ledger.split(&last);
        }
        Some(Self { finished, moved, window, levels })
    }

    pub(crate) fn judge(&self) -> LiveConnection {
        let (window_bytes, flight_bytes) = self.levels;
        let live = LiveConnection::judge(&self.finished, self.moved, self.window);
        LiveConnection { window_bytes, flight_bytes, ..live }
    }
}

impl LiveConnection {
    /// Returns a connection that has ended.
    pub(crate) fn ended(finished: &Transfer, moved: [u64; 2], window: SnapshotPeriod) -> Self {
        Self { ended: true, ..Self::judge(finished, moved, window) }
    }

    fn judge(finished: &Transfer, moved: [u64; 2], window: SnapshotPeriod) -> Self {
        let window = window.without(&finished.leaps);
        let moved = Bytes::new(moved[finished.direction]);
        let mut causes: BTreeMap<Cause, Span> = BTreeMap::new();
        let facts = finished.facts(None);
        for charge in &judge::tally(&facts, &Habits::of(&facts)).charges {
            let interval = &charge.interval;
            let whole = interval.end.since(interval.start);
            let inside = window.holds(interval.start, interval.end);
            // Short waits of other kinds may have been merged into it.
            let charged = interval.charged.scaled(inside.share_of(whole));
            if charged > Span::ZERO {
                *causes.entry(charge.cause).or_default() += charged;
            }
        }
        let charged: Span = causes.values().copied().sum();
        let mut limits: BTreeMap<Limit, Span> = BTreeMap::new();
        for (cause, time) in &causes {
            *limits.entry(cause.limit()).or_default() += *time;
        }
        // Of equals the first, as reports list them.
        let limit = limits.iter().rev().max_by_key(|(_, time)| **time).map(|(limit, _)| *limit);
        let of_limit = causes.iter().filter(|(cause, _)| Some(cause.limit()) == limit);
        let cause = of_limit.rev().max_by_key(|(_, time)| **time).map(|(cause, _)| *cause);
        let shares = limits.iter().map(|(limit, time)| (limit.id(), time.share_of(charged)));
        Self {
            number: finished.number,
            sender: finished.sender,
            receiver: finished.receiver,
            bytes: Bytes::new(finished.bytes()),
            bytes_since: moved,
            bytes_per_second: moved.per(window.span()),
            shares: shares.collect(),
            charged_seconds: charged,
            limit,
            because: cause.and_then(Cause::because),
            rtt_seconds: finished.told_rtt(),
            window_bytes: None,
            flight_bytes: None,
            retransmissions: finished.counts.retransmissions,
            missing_from_capture_bytes: Bytes::new(finished.counts.missing_bytes),
            ended: false,
        }
    }
}
