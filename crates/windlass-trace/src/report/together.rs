//! Simultaneous transfers between two hosts, and the gain from more of them.
//!
//! A window or a send buffer belongs to one connection, so a second connection brings as much
//! again. A line is shared: a second connection only takes from the first.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::thresholds::{A_QUARTER, A_TENTH, BEYOND_JITTER, HALF_OF_IT, LARGE_TRANSFER};
use windlass_base::{Bytes, Cause, Limit, Named, Rate, Span, Timestamp};
use windlass_wire::Host;

use super::ConnectionReport;
use crate::follow::transfer::Transfer;

/// One of several transfers.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Sending and receiving host.
    pub hosts: [Host; 2],
    /// The time when its data began to move.
    pub began: Timestamp,
    /// Duration of the transfer.
    pub seconds: Span,
    /// Data of the stream.
    pub bytes: Bytes,
    /// The limit.
    pub cause: Cause,
}

impl Stream {
    /// Returns the larger transfer of a connection; `None` if that is too small to tell.
    pub fn of(finished: &Transfer, report: &ConnectionReport) -> Option<Self> {
        let began = finished.ledger.intervals.first()?.start;
        let ConnectionReport { bytes, seconds, verdict, .. } = report;
        (bytes.get() >= LARGE_TRANSFER.get() && *seconds > Span::ZERO).then(|| Self {
            hosts: [finished.sender().host, finished.receiver().host],
            began,
            seconds: *seconds,
            bytes: *bytes,
            cause: verdict.cause,
        })
    }

    fn ended(&self) -> Timestamp {
        self.began + self.seconds
    }
}

/// Effect of one more transfer at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Gain {
    /// As much again, while the path has room: each transfer has a limit of its own.
    AsMuchAgain,
    /// Nothing: the transfers share their limit.
    Nothing,
    /// Unknown gain.
    Unknown,
}

/// Several transfers from one host to another, of which some ran at the same time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TransferGroup {
    /// Sending and receiving host; in records they have names.
    #[serde(skip)]
    pub hosts: [Host; 2],
    /// Number of transfers.
    pub transfers: u64,
    /// Mean number of transfers at once, while there were at least two.
    pub at_once: f64,
    /// Total rate in that time.
    #[serde(rename = "bytes_per_second")]
    pub rate: Rate,
    /// Mean rate of each.
    #[serde(rename = "each_bytes_per_second")]
    pub each: Rate,
    /// Rate of a transfer alone, if it ran alone for long enough.
    #[serde(rename = "alone_bytes_per_second")]
    pub alone: Option<Rate>,
    /// The verdict that cost them most time.
    #[serde(flatten)]
    pub cause: Cause,
    /// Effect of one more transfer.
    #[serde(rename = "one_more_brings")]
    pub gain: Gain,
}

/// Returns the pairs of hosts between which several transfers ran at once, those with most data
/// first.
pub fn together(streams: &[Stream]) -> Vec<TransferGroup> {
    let mut pairs: BTreeMap<[Host; 2], Vec<&Stream>> = BTreeMap::new();
    for stream in streams {
        pairs.entry(stream.hosts).or_default().push(stream);
    }
    let mut found: Vec<(u64, TransferGroup)> = pairs
        .into_values()
        .filter_map(|pair| Some((pair.iter().map(|one| one.bytes.get()).sum(), of_pair(&pair)?)))
        .collect();
    found.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    found.into_iter().map(|(_, together)| together).collect()
}

fn of_pair(pair: &[&Stream]) -> Option<TransferGroup> {
    // The moments at which one more runs, or one less; and by how much the rate of all
    // changes there, as if each were even.
    let mut changes: Vec<(Timestamp, i64, f64)> = Vec::new();
    for stream in pair {
        let rate = stream.bytes.per(stream.seconds).bytes_per_second();
        changes.push((stream.began, 1, rate));
        changes.push((stream.ended(), -1, -rate));
    }
    changes.sort_by_key(|(time, step, _)| (*time, *step));
    let (mut running, mut rate) = (0_i64, 0.0);
    // Time and bytes of one alone, and of several; and the time of each of those added.
    let (mut alone, mut several) = ((0.0, 0.0), (0.0, 0.0));
    let mut of_each = 0.0;
    for (place, (time, step, change)) in changes.iter().enumerate() {
        running += step;
        rate += change;
        let Some((next, _, _)) = changes.get(place + 1) else { break };
        let seconds = next.since(*time).as_seconds();
        let sum = match running {
            ..=0 => continue,
            1 => &mut alone,
            2.. => &mut several,
        };
        *sum = (sum.0 + seconds, sum.1 + rate * seconds);
        if running > 1 {
            of_each += seconds * running as f64;
        }
    }
    if several.0 <= 0.0 || several.0 < (alone.0 + several.0) * A_QUARTER.get() {
        return None;
    }
    let mut verdicts: BTreeMap<Cause, Span> = BTreeMap::new();
    for stream in pair {
        *verdicts.entry(stream.cause).or_default() += stream.seconds;
    }
    let (cause, _) = verdicts.into_iter().max_by_key(|(_, time)| *time)?;
    let rate = several.1 / several.0;
    let compared = alone.0 >= (alone.0 + several.0) * A_TENTH.get();
    let alone = compared.then(|| alone.1 / alone.0);
    Some(TransferGroup {
        hosts: pair.first()?.hosts,
        transfers: pair.len() as u64,
        at_once: of_each / several.0,
        rate: Rate::from_bytes_per_second(rate),
        each: Rate::from_bytes_per_second(several.1 / of_each),
        alone: alone.map(Rate::from_bytes_per_second),
        cause,
        gain: gain(cause, alone.map(|alone| rate / alone), of_each / several.0),
    })
}

/// Returns the gain from one more transfer. The cause tells whether they share their limit. The
/// ratio of the rate of several to the rate of one must agree; otherwise the gain is unknown.
fn gain(cause: Cause, gained: Option<f64>, at_once: f64) -> Gain {
    let of_each_more = |gained: f64| (gained - 1.0) / (at_once - 1.0);
    match cause.limit() {
        // They may lose data to each other.
        Limit::CongestionWindow if cause == Cause::AfterLoss && gained.is_none() => Gain::Unknown,
        Limit::PathCapacity if gained.is_none_or(|gained| gained < BEYOND_JITTER.get()) => {
            Gain::Nothing
        }
        Limit::ReceiverWindow
        | Limit::SendBuffer
        | Limit::CongestionWindow
        | Limit::NagleDelayedAck
        | Limit::SmallSegments
            if gained.is_none_or(|gained| of_each_more(gained) >= HALF_OF_IT.get()) =>
        {
            Gain::AsMuchAgain
        }
        _ => Gain::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// A transfer of 1 MB/s from `began` on, in milliseconds, for a second.
    fn stream(began: i64, cause: Cause, bytes: u64) -> Stream {
        let host = |last| Host::V4(Ipv4Addr::new(192, 0, 2, last));
        Stream {
            hosts: [host(1), host(2)],
            began: Timestamp::ZERO + Span::from_millis(began),
            seconds: Span::from_millis(1_000),
            bytes: Bytes::new(bytes),
            cause,
        }
    }

    fn only(streams: &[Stream]) -> TransferGroup {
        let found = together(streams);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0]
    }

    #[test]
    fn each_has_a_window_of_its_own() {
        let streams = [0, 0, 0, 1_000].map(|at| stream(at, Cause::WindowPathRtt, 1_000_000));
        let found = only(&streams);
        assert_eq!((found.transfers, found.gain), (4, Gain::AsMuchAgain));
        assert!((found.at_once - 3.0).abs() < 1e-9, "{found:?}");
        assert!((found.rate.bytes_per_second() - 3e6).abs() < 1.0, "{found:?}");
        assert!((found.each.bytes_per_second() - 1e6).abs() < 1.0, "{found:?}");
        assert!((found.alone.unwrap().bytes_per_second() - 1e6).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn a_full_line_is_shared() {
        let mut streams = [0, 0, 1_000].map(|at| stream(at, Cause::PathQueue, 500_000));
        streams[2].bytes = Bytes::new(1_000_000);
        assert_eq!(only(&streams).gain, Gain::Nothing);
        // One alone that was slower contradicts that.
        streams[2].bytes = Bytes::new(500_000);
        assert_eq!(only(&streams).gain, Gain::Unknown);
    }

    #[test]
    fn windows_that_gain_nothing_are_doubted() {
        let mut streams = [0, 0, 1_000].map(|at| stream(at, Cause::WindowPathRtt, 500_000));
        streams[2].bytes = Bytes::new(1_000_000);
        assert_eq!(only(&streams).gain, Gain::Unknown);
    }

    #[test]
    fn one_after_the_other_is_not_at_once() {
        let streams = [0, 1_000, 2_000].map(|at| stream(at, Cause::WindowPathRtt, 500_000));
        assert!(together(&streams).is_empty());
        assert!(together(&streams[..1]).is_empty());
        assert!(together(&[]).is_empty());
    }

    #[test]
    fn directions_and_hosts_are_apart() {
        let one = stream(0, Cause::WindowPathRtt, 500_000);
        let other = Stream { hosts: [one.hosts[1], one.hosts[0]], ..one };
        assert!(together(&[one, other]).is_empty());
    }
}
