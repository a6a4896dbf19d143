//! The report of a connection: facts, a timeline, and the verdict.
//!
//! The types here are the JSON of `windlass explain`; `schemas/` holds their
//! JSON Schema. Units are in the names: bytes, seconds, bytes per second.

mod audit;
mod build;
mod ending;
mod measures;
mod together;

use std::collections::BTreeMap;
use std::net::IpAddr;

pub use crate::judge::bounds::Bounds;
pub use audit::{Breach, audit};
pub use ending::{Ending, EndingKind};
pub use measures::{Measures, Spread};
use serde::Serialize;
pub use together::{Gain, Stream, TransferGroup, together};
pub use windlass_base::verdict::{
    Caveat, CaveatId, Confidence, Evidence, Input, Law, Remedy, Side, Unit, Verdict,
};
use windlass_base::{Bytes, Cause, Rate, Span, Timestamp};
use windlass_wire::Mac;

pub use crate::follow::handshake::Offer;
pub use crate::judge::WITHOUT_LOSS;

/// One connection, reduced to its larger transfer.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Number of the connection, from 1 in order of appearance: Wireshark's `tcp.stream` plus one.
    pub number: u64,
    /// Sender of the data, as `host:port`.
    pub sender: String,
    /// Receiver.
    pub receiver: String,
    /// The sender's address; null where the capture has a name instead.
    pub sender_address: Option<IpAddr>,
    /// The sender's port.
    pub sender_port: u16,
    /// The receiver's address; null where the capture has a name instead.
    pub receiver_address: Option<IpAddr>,
    /// The receiver's port.
    pub receiver_port: u16,
    /// The MAC address of the sender's side: of its first hop, where the sender is
    /// further off. Null where the capture has no Ethernet headers.
    pub sender_mac: Option<Mac>,
    /// MAC address of the receiver's side.
    pub receiver_mac: Option<Mac>,
    /// The VLANs that its first packet was tagged with, the outer first.
    pub vlans: Vec<u16>,
    /// The time when the connection's first packet came; null where the capture has no dates.
    pub start_time: Option<Timestamp>,
    /// The time when its last packet came.
    pub end_time: Option<Timestamp>,
    /// Packets of both directions.
    pub packets: u64,
    /// Payload of the transfer, each byte counted once.
    pub bytes: Bytes,
    /// Time from the first data to the last ACK, or the last sign of the transfer.
    pub seconds: Span,
    /// `bytes` divided by `seconds`.
    pub bytes_per_second: Rate,
    /// The part of the time in which the programs paused: nothing was in flight and
    /// nothing was owed, because the sender had nothing to send or waited for an answer.
    pub think_seconds: Span,
    /// Part of the time that the capture does not explain.
    pub untold_seconds: Span,
    /// The rest of the time, in which the data moved.
    pub transfer_seconds: Span,
    /// Payload that went the other way.
    pub bytes_returned: Bytes,
    /// Options of both sides; null without a captured SYN.
    pub handshake: Option<Handshake>,
    /// End of the connection.
    pub ending: Ending,
    /// The window that the receiver offered.
    pub receive_window: ReceiveWindow,
    /// Time from a segment to the ACK that answers it, at the place of the capture; null without
    /// samples.
    pub ack_latency_seconds: Option<AckLatency>,
    /// The path's round trip; null where nothing tells it.
    pub rtt_seconds: Option<Rtt>,
    /// The longest that data stood in the path's queue; null where no queue took time.
    pub queue_seconds: Option<Span>,
    /// The step of the capture's clock; null where it is too fine to matter.
    pub clock_step_seconds: Option<Span>,
    /// Loss, reordering, and what looks like them.
    pub losses: Losses,
    /// Losses of the data in the other direction; null if none.
    pub losses_returned: Option<Losses>,
    /// The time when the timeline begins; nothing where the capture has no dates, or its clock was
    /// set back meanwhile.
    #[serde(skip)]
    pub timeline_start: Option<Timestamp>,
    /// Use of the time, in order.
    pub timeline: Vec<Interval>,
    /// The share of the transfer's time that each limit cost; they sum to 1.
    pub shares: BTreeMap<&'static str, f64>,
    /// Shares by limit and reason, such as `receiver-window/ack-latency`.
    pub causes: BTreeMap<String, f64>,
    /// Verdict.
    pub verdict: Verdict,
}

impl ConnectionReport {
    /// Returns the step of the capture's clock, or zero.
    fn clock_step(&self) -> Span {
        self.clock_step_seconds.unwrap_or_default()
    }
}

/// The opening of a connection.
#[derive(Clone, Debug, Serialize)]
pub struct Handshake {
    /// True if both SYNs were captured with all their options.
    pub complete: bool,
    /// Options of the sender of the data.
    pub sender: Option<Offer>,
    /// Options of its receiver.
    pub receiver: Option<Offer>,
    /// Time from the last SYN to the third segment; null if one of the three is missing.
    pub rtt_seconds: Option<Span>,
    /// Side that opened it; null if unknown.
    pub opened_by: Option<Side>,
    /// Duration of the set-up: from the first SYN to the third segment, however often either was
    /// sent. Null if one of the three is missing.
    pub seconds: Option<Span>,
    /// Number of SYNs.
    pub syns: u32,
    /// Number of answers.
    pub syn_acks: u32,
}

/// The receiver's window.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiveWindow {
    /// The window that was offered most often while it was open; null where no
    /// ACK was captured.
    pub bytes: Option<Bytes>,
    /// Full segments that fit into it.
    pub full_frames: Option<u64>,
    /// The least that was offered.
    pub min_bytes: Option<Bytes>,
    /// The most that was offered.
    pub max_bytes: Option<Bytes>,
    /// The payload of a full segment.
    pub segment_bytes: Bytes,
    /// The shift of the window field.
    pub scale: u8,
    /// True if the handshake tells the shift; else it is the least one that
    /// fits what was sent.
    pub scale_known: bool,
    /// Number of closures of the window.
    pub closures: u64,
    /// Total time of the closures.
    pub closed_seconds: Span,
    /// Longest closure.
    pub longest_closure_seconds: Option<Span>,
    /// Probes of the closed window.
    pub probes: u64,
    /// First few packets of these probes.
    pub probe_packets: Vec<u64>,
    /// ACKs that offered no window.
    pub zero_windows: u64,
    /// Segments that ask whether the other side is still there.
    pub keep_alives: u64,
    /// The most that was in flight.
    pub max_flight_bytes: Bytes,
}

/// The receiver's ACK latency.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AckLatency {
    /// The median.
    pub p50: Span,
    /// Nine of ten are not longer.
    pub p90: Span,
    /// The longest.
    pub max: Span,
    /// The receiver's own part of the median: what goes beyond the path. Null
    /// where that is not known, or is mostly a queue's.
    pub receiver_own: Option<Span>,
    /// The number of samples.
    pub samples: u64,
}

/// The path's round trip.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rtt {
    /// The least that was seen.
    pub min: Span,
    /// Round trip of the handshake.
    pub handshake: Option<Span>,
    /// The part of the path between the capture and the sender, and back. Zero
    /// where the capture was taken at the sender.
    pub capture_to_sender: Span,
}

/// Loss, reordering, and what looks like them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Losses {
    /// Data segments that were sent, those that were sent again among them.
    pub segments: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmissions after duplicate ACKs.
    pub fast: u64,
    /// Retransmissions by a timer.
    pub by_timer: u64,
    /// Needless retransmissions: nothing was lost.
    pub needless: u64,
    /// Segments retransmitted by a timer though they had arrived: their ACK did not come in time.
    pub unheard: u64,
    /// Repairs after duplicate ACKs whose first segment others had only overtaken.
    pub vain_repairs: u64,
    /// The least silence after which a timer sent again; `None` where one ran out less than
    /// twice.
    pub timer_seconds: Option<Span>,
    /// Times that the sender found loss, each of which may be several segments.
    pub events: u64,
    /// Times that the sender cut its congestion window as queues marked its data (ECN, RFC 3168).
    pub ecn_cuts: u64,
    /// Share of `segments` that was retransmitted, and not needlessly.
    pub ratio: f64,
    /// Segments that others overtook.
    pub out_of_order: u64,
    /// ACKs that repeat the one before.
    pub duplicate_acks: u64,
    /// Packets that the capture holds twice.
    pub captured_twice: u64,
    /// Bytes that were acknowledged but are not in the capture.
    pub missing_from_capture_bytes: Bytes,
    /// Segments larger than a full one, which the network card cuts.
    pub super_packets: u64,
}

/// A part of the timeline.
#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    /// The limit that cost most of it, and its reason.
    #[serde(flatten)]
    pub cause: Cause,
    /// Its start, from the start of the transfer.
    pub start: Span,
    /// Its end.
    pub end: Span,
    /// The time in it that went to this limit: all of it, unless short
    /// intervals were merged into it.
    pub charged: Span,
    /// The packet at which it begins.
    pub first_packet: u64,
    /// The packet at which it ends.
    pub last_packet: u64,
}
