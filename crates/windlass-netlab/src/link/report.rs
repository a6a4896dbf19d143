//! The report of `windlass link`: what the link did, and how the command ended.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::Serialize;
use windlass_base::{Bytes, Histogram, Quantiles, Schema, Span, Timestamp};
use windlass_sim::{Channel, LinkSettings, Queue};

use crate::ends::{Ending, Scheduling};

/// What a link did while a command ran.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRunReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// How the command ended.
    pub ending: Ending,
    /// Whether windlass was told to end before the command had.
    pub interrupted: bool,
    /// What ran at the far end.
    pub peer: Option<PeerReport>,
    /// The addresses of the near end.
    pub local_addresses: Addresses,
    /// The addresses of the far end.
    pub peer_addresses: Addresses,
    /// The time for which the link was there.
    pub seconds: Span,
    /// The largest packet.
    pub mtu_bytes: u16,
    /// What chance began with.
    pub seed: u64,
    /// How the emulator ran.
    pub scheduling: Scheduling,
    /// By how much of itself the emulator's lateness lengthened the round trip of a full packet
    /// over the idle link, in the mean; nothing where that takes no time, or nothing passed.
    pub lengthened: Option<f64>,
    /// From the command to the peer.
    pub up: WayReport,
    /// From the peer to the command.
    pub down: WayReport,
}

/// What ran at the far end.
#[derive(Clone, Debug, Serialize)]
pub struct PeerReport {
    /// The command, as the shell got it.
    pub command: String,
    /// How it ended by itself.
    pub ending: Ending,
}

/// What the emulator counts of one way of the link, beside its channel.
#[derive(Debug, Default)]
pub(super) struct EmulatedDirection {
    /// How much later than they were due packets arrived.
    pub(super) late: Histogram,
    /// Packets that the far end's kernel did not take.
    pub(super) refused: u64,
    /// Packets that waited for long, and could be marked.
    pub(super) marked: u64,
    /// Packets that the near end sent, and nobody took in time.
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

/// One way of the link.
#[derive(Clone, Debug, Serialize)]
pub struct WayReport {
    /// What it was to do.
    pub settings: LinkSettings,
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes, with IP headers.
    pub bytes: Bytes,
    /// Packets that found the queue full.
    pub dropped_by_queue: u64,
    /// Packets that the policer dropped.
    pub policed: u64,
    /// Packets that the line destroyed.
    pub lost: u64,
    /// Packets that were held back for others to overtake.
    pub reordered: u64,
    /// Packets that waited for so long that they were marked (ECN).
    pub marked: u64,
    /// Packets that never got to the link, as the emulator did not fetch them
    /// in time; nothing where the system did not tell.
    pub missed: Option<u64>,
    /// Packets that the far end did not take.
    pub refused: u64,
    /// The most bytes that ever waited for the line.
    pub queue_high_water_bytes: Bytes,
    /// The share of the time for which the line was busy.
    pub busy: f64,
    /// From where a packet was sent to where it arrived; nothing where none
    /// did.
    pub delay_seconds: Option<Delay>,
    /// How much later packets arrived than they were due: the emulator's own
    /// part of the delay. Within 1/32.
    pub late_seconds: Option<Quantiles>,
}

impl WayReport {
    /// What a way of a channel has done in so long.
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

/// A link while it runs.
#[derive(Clone, Debug)]
pub struct LinkLook {
    /// How long it has run.
    pub at: Span,
    /// From the command to the peer, and back.
    pub ways: [WayLook; 2],
}

/// One way of a link while it runs.
#[derive(Clone, Debug)]
pub struct WayLook {
    /// What it has done so far, as its report tells it at the end.
    pub so_far: WayReport,
    /// What waits for the line at this moment.
    pub queue: Queue,
}

impl LinkLook {
    pub(super) fn new(
        now: Timestamp,
        channel: &Channel<Vec<u8>>,
        emulated: &[EmulatedDirection; 2],
    ) -> Self {
        let at = now.since(Timestamp::ZERO);
        let ways = [0, 1].map(|way| WayLook {
            so_far: WayReport::new(way, channel, &emulated[way], at),
            queue: channel.queue(way, now),
        });
        Self { at, ways }
    }
}

/// The delays of all packets.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Delay {
    /// The least.
    pub min: Span,
    /// The mean.
    pub mean: Span,
    /// The largest.
    pub max: Span,
}

impl LinkRunReport {
    /// Whether the emulator was too late for what was measured over the link to be of the
    /// path that was asked for: round trips were longer by a twentieth, or packets were missed.
    pub fn is_doubtful(&self) -> bool {
        let missed = [&self.up, &self.down].into_iter().filter_map(|way| way.missed);
        self.lengthened.is_some_and(|share| share >= 0.05) || missed.sum::<u64>() > 0
    }

    /// The shape of the JSON, described by `schemas/link.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.link", version: 2 };
}
