//! The report of `windlass link`: the behavior of the link, and the end of the command.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::Serialize;
use windlass_base::{Bytes, Histogram, Quantiles, Schema, Span, Timestamp};
use windlass_sim::{Channel, LinkSettings, Queue};

use crate::ends::{Ending, Scheduling};

/// Report on a link while a command ran.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRunReport {
    /// Schema of the JSON.
    pub schema: Schema,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// End of the command.
    pub ending: Ending,
    /// True if windlass was stopped before the command ended.
    pub interrupted: bool,
    /// The program at the far end.
    pub peer: Option<PeerReport>,
    /// The addresses of the near end.
    pub local_addresses: Addresses,
    /// The addresses of the far end.
    pub peer_addresses: Addresses,
    /// Time for which the link existed.
    pub seconds: Span,
    /// The largest packet.
    pub mtu_bytes: u16,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Scheduling of the emulator.
    pub scheduling: Scheduling,
    /// Relative increase of a full packet's idle round trip by the emulator's lateness, in the
    /// mean; null if the round trip takes no time, or if nothing passed.
    pub lengthened: Option<f64>,
    /// From the command to the peer.
    pub up: LinkDirectionReport,
    /// From the peer to the command.
    pub down: LinkDirectionReport,
}

/// The program at the far end.
#[derive(Clone, Debug, Serialize)]
pub struct PeerReport {
    /// The command, as the shell got it.
    pub command: String,
    /// Ending of the program by itself.
    pub ending: Ending,
}

/// Counts of the emulator for one direction, besides those of its channel.
#[derive(Debug, Default)]
pub(super) struct EmulatedDirection {
    /// Lateness of the packets: their arrival behind schedule.
    pub(super) late: Histogram,
    /// Packets that the far end's kernel rejected.
    pub(super) refused: u64,
    /// Packets that queued for long, and could be marked.
    pub(super) marked: u64,
    /// Packets of the near end that the emulator did not fetch in time.
    pub(super) missed: Option<u64>,
}

/// The addresses of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Addresses {
    /// For IPv4.
    pub ipv4: Ipv4Addr,
    /// For IPv6.
    pub ipv6: Ipv6Addr,
}

/// Report on one direction of the link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkDirectionReport {
    /// Settings of the link.
    pub settings: LinkSettings,
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes of these packets, with IP headers.
    pub bytes: Bytes,
    /// Packets that found the queue full.
    pub dropped_by_queue: u64,
    /// Packets that the policer dropped.
    pub policed: u64,
    /// Packets that the line destroyed.
    pub lost: u64,
    /// Packets that were held back for others to overtake.
    pub reordered: u64,
    /// Packets that queued long enough to be marked (ECN).
    pub marked: u64,
    /// Packets that never entered the link, since the emulator did not fetch them in time; null if
    /// the system did not tell.
    pub missed: Option<u64>,
    /// Packets that the far end rejected.
    pub refused: u64,
    /// Largest queue, in bytes.
    pub queue_high_water_bytes: Bytes,
    /// Share of the time for which the line was busy.
    pub busy: f64,
    /// Delay from the departure of a packet to its arrival; null without any arrival.
    pub delay_seconds: Option<Delay>,
    /// Lateness of the arrivals: the emulator's own part of the delay. Within 1/32.
    pub late_seconds: Option<Quantiles>,
}

impl LinkDirectionReport {
    /// Returns the report on a direction of a channel that ran for `took`.
    pub(super) fn new(
        way: usize,
        channel: &Channel<Vec<u8>>,
        emulated: &EmulatedDirection,
        took: Span,
    ) -> Self {
        let EmulatedDirection { late, refused, marked, missed } = emulated;
        let (settings, counters) = (channel.settings(way), channel.counters(way));
        let any = counters.passed > 0;
        Self {
            settings: *settings,
            packets: counters.passed,
            bytes: counters.bytes,
            dropped_by_queue: counters.dropped_by_queue,
            policed: counters.policed,
            lost: counters.lost,
            reordered: counters.reordered,
            marked: *marked,
            missed: *missed,
            refused: *refused,
            queue_high_water_bytes: counters.queue_high_water,
            busy: counters.busy.share_of(took),
            delay_seconds: any.then(|| Delay {
                min: counters.min_delay,
                mean: counters.mean_delay(),
                max: counters.max_delay,
            }),
            late_seconds: late.quantiles(),
        }
    }
}

/// Snapshot of a running link.
#[derive(Clone, Debug)]
pub struct LinkSnapshot {
    /// Time since the start.
    pub at: Span,
    /// Direction from the command to the peer, and back.
    pub ways: [LinkDirectionSnapshot; 2],
}

/// Snapshot of one direction of a running link.
#[derive(Clone, Debug)]
pub struct LinkDirectionSnapshot {
    /// Report up to now.
    pub so_far: LinkDirectionReport,
    /// Queue of the line at this moment.
    pub queue: Queue,
}

impl LinkSnapshot {
    pub(super) fn new(
        now: Timestamp,
        channel: &Channel<Vec<u8>>,
        emulated: &[EmulatedDirection; 2],
    ) -> Self {
        let at = now.since(Timestamp::ZERO);
        let ways = [0, 1].map(|way| LinkDirectionSnapshot {
            so_far: LinkDirectionReport::new(way, channel, &emulated[way], at),
            queue: channel.queue(way, now),
        });
        Self { at, ways }
    }
}

/// The delays of all packets.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Delay {
    /// The shortest.
    pub min: Span,
    /// The mean.
    pub mean: Span,
    /// The longest.
    pub max: Span,
}

impl LinkRunReport {
    /// Returns whether the emulator was too late for a valid measurement of the requested path. It
    /// was if the round trip grew by a twentieth, or if packets were missed.
    pub fn is_doubtful(&self) -> bool {
        let missed = [&self.up, &self.down].into_iter().filter_map(|way| way.missed);
        self.lengthened.is_some_and(|share| share >= 0.05) || missed.sum::<u64>() > 0
    }

    /// Schema of the JSON, described by `schemas/link.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.link", version: 2 };
}
