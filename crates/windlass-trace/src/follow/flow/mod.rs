//! Flows: one direction of a connection, with the sender's state by its packets and the ACKs that
//! answer them.
//!
//! The flow keeps the sender's own clock. If the capture was taken near the receiver, an ACK
//! reaches the sender only later, so its effect is delayed by that time (see [`Path`]).

mod acks;
mod black_hole;
mod data;
mod departures;
mod farewell;
mod full_segment;
mod look;
mod loss;

use std::collections::VecDeque;

pub(crate) use data::INITIAL_WINDOW;
use farewell::LongRest;
use windlass_base::thresholds::{HALF_AGAIN, LATEST_DELAYED_ACK};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;
use windlass_wire::{Flags, Segment};

use crate::estimate::active_rates::ActiveTime;
use crate::estimate::arrivals::Arrivals;
use crate::estimate::beacons::BeaconDetector;
use crate::estimate::black_hole::BlackHoleDetector;
use crate::estimate::capacity::Capacity;
use crate::estimate::delay_variation::DelayVariation;
use crate::estimate::discards::Discards;
use crate::estimate::distribution::Distribution;
use crate::estimate::doubling_bursts::DoublingBursts;
use crate::estimate::echoes::Echoes;
use crate::estimate::ecn::EcnResponse;
use crate::estimate::far::{FarFacts, FarLimit, FarVerdict};
use crate::estimate::longer_path::LongerPathTest;
use crate::estimate::loss_pattern::LossPattern;
use crate::estimate::message_releases::MessageReleases;
use crate::estimate::packet_pairs::PacketPairRate;
use crate::estimate::path::{Path, Promptness};
use crate::estimate::program_pace::ProgramPace;
use crate::estimate::queueing_delay::PacketDelay;
use crate::estimate::reader::Reader;
use crate::estimate::seconds::Seconds;
use crate::estimate::segment_size::SegmentSize;
use crate::estimate::spurious::SpuriousRetransmissions;
use crate::estimate::token_bucket::TokenBucket;
use crate::estimate::trains::Trains;
use crate::follow::ack::Ack;
use crate::follow::closure::Closure;
use crate::follow::counts::Counts;
use crate::follow::ledger::{Ledger, PendingWait, WaitKind};
use crate::follow::outstanding::{OutstandingSegments, TimeInFlight};
use crate::follow::rounds::Rounds;
use crate::follow::sequence_gaps::SequenceGaps;
use crate::follow::windows::Windows;
use crate::note::Notes;
use crate::packed::{Packed, Packer, Unpacker};
use crate::quality::clock_jumps::{ClockJump, SilenceMeasurements};

/// Least latency for a note.
const NOTABLE_LATENCY: Span = Span::from_millis(2);

/// Number of segments and ACKs under way that are kept of a hibernating connection.
const MIN_UNDER_WAY: usize = 16;

/// Seconds of ACK counts kept for each interval: a second takes a tenth of an interval's memory,
/// and there are more of them.
const SECONDS_PER_INTERVAL: usize = 64;

/// A data segment of this direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    pub(crate) time: Timestamp,
    pub(crate) number: u64,
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) timestamp: Option<u32>,
    pub(crate) echo: Option<u32>,
    pub(crate) identification: Option<u16>,
    /// Delay to the capture, by its timestamp.
    pub(crate) late: PacketDelay,
    /// Number of packets that its sender sent before it and the capture lacks, by the sender's
    /// identifications.
    pub(crate) skipped: u16,
    /// True if it carries an ACK that was due long before.
    pub(crate) acked_late: bool,
    /// True if it ends a write of its program (PSH).
    pub(crate) pushed: bool,
    /// True if its sender says that it has cut its congestion window (CWR of RFC 3168).
    pub(crate) cut: bool,
}

impl Data {
    /// Returns `length` bytes of data from `start` on, as the segment shows them. Delay in queues
    /// and skipped packets are unknown here.
    pub(crate) fn told_by(segment: &Segment, start: u64, length: u64) -> Self {
        Self {
            time: segment.time,
            number: segment.number,
            start,
            length,
            timestamp: segment.options.timestamps.map(|(value, _)| value),
            echo: segment.options.timestamps.map(|(_, echo)| echo),
            identification: segment.identification,
            late: PacketDelay::default(),
            skipped: 0,
            acked_late: false,
            pushed: segment.flags.has(Flags::PSH),
            cut: segment.flags.has(Flags::CWR),
        }
    }
}

/// Knowledge of the receiver's window scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From the handshake.
    Known(u8),
    /// Least shift that the data so far needs.
    AtLeast(u8),
}

impl Default for Scale {
    fn default() -> Self {
        Self::AtLeast(0)
    }
}

impl Packed for Scale {
    fn pack(&self, to: &mut Packer) {
        (self.is_known(), self.shift()).pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        let (known, shift) = Packed::unpack(from);
        if known { Self::Known(shift) } else { Self::AtLeast(shift) }
    }
}

impl Scale {
    pub(crate) fn shift(self) -> u8 {
        match self {
            Self::Known(shift) | Self::AtLeast(shift) => shift,
        }
    }

    pub(crate) fn is_known(self) -> bool {
        matches!(self, Self::Known(_))
    }
}

/// Data that no ACK has answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnansweredData {
    pub(crate) bytes: u64,
    /// Time since which the oldest of it waits.
    pub(crate) since: Timestamp,
    /// Number of its retransmissions by a timer.
    pub(crate) again: u32,
}

/// Repair of loss.
#[derive(Clone, Copy, Debug, Packed)]
struct Recovery {
    kind: WaitKind,
    /// The ACK that ends it.
    until: u64,
}

/// Retransmissions by timer that no ACK has answered yet.
#[derive(Clone, Copy, Debug, Default, Packed)]
struct Timeouts {
    count: u32,
    first: Timestamp,
    last: Timestamp,
    /// The timestamp option of the first retransmission.
    timestamp: Option<u32>,
    /// The flight when the timer ran out.
    until: u64,
    /// The last packet that it sent.
    number: u64,
    /// The silence before the first.
    silence: Span,
    /// True if one of them filled a hole: no first copy had come here.
    fills: bool,
    /// End of the furthest retransmitted data.
    end: u64,
}

/// Data that was acknowledged before it was captured, if it ever is.
#[derive(Clone, Copy, Debug, Packed)]
struct UncapturedData {
    start: u64,
    end: u64,
    /// The time when its ACK was captured.
    since: Timestamp,
}

/// Retransmission after duplicate ACKs.
#[derive(Clone, Copy, Debug, Packed)]
struct FastRetransmission {
    start: u64,
    end: u64,
    time: Timestamp,
    number: u64,
    timestamp: Option<u32>,
    identification: Option<u16>,
    /// True if the data filled a hole: the first copy had not come here.
    fills: bool,
}

/// The sender's state in one direction.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct Flow {
    // Sent and acknowledged data, as unwrapped offsets.
    pub(crate) first: Option<u64>,
    una: u64,
    nxt: u64,
    edge: u64,
    /// The last ACK as captured, whether or not it has reached the sender.
    acked: u64,
    /// The time when the ACK of that was captured.
    acked_at: Option<Timestamp>,
    /// Number of ACKs in the capture that have repeated it since.
    repeats: u32,
    /// The time when the receiver was last heard of.
    last_heard: Option<Timestamp>,
    /// The time when data last came that fills a hole.
    filled_at: Option<Timestamp>,
    /// True if ACKs of this flow were captured.
    pub(crate) heard: bool,
    pub(crate) scale: Scale,
    pub(crate) size: SegmentSize,
    pub(crate) window_most: u64,
    last_window: u16,
    // Time.
    /// ACKs that are on their way to the sender.
    held: VecDeque<Ack>,
    /// True if an ACK with data may be among them; false saves the search.
    held_message: bool,
    pub(crate) path: Path,
    pub(crate) echoes: Echoes,
    /// Promptness of answers to ACKs.
    pub(crate) turns: Promptness,
    /// Promptness of ACKs, near the sender.
    pub(crate) ack_promptness: Promptness,
    pub(crate) ledger: Ledger,
    last_event: Option<Timestamp>,
    last_data: Option<Timestamp>,
    /// The times between two full segments that are in flight at once.
    pub(crate) packet_times: Distribution,
    last_advance: Option<Timestamp>,
    /// Last ACK that left nothing in flight, and last long rest behind one.
    drained: Option<(Timestamp, u64)>,
    rest: Option<LongRest>,
    /// The last ACK before anything moved.
    heard_at: Option<(Timestamp, u64)>,
    closure: Option<Closure>,
    /// The offset of a byte that was sent only to probe.
    probe_byte: Option<u64>,
    /// Last such byte that the receiver did not accept.
    taken_back: Option<u64>,
    /// Last data sent only to ask for the window: a byte, or a piece of a segment.
    piece: Option<(u64, u64)>,
    // Loss.
    pub(crate) outstanding: OutstandingSegments,
    holes: SequenceGaps,
    pub(crate) discards: Discards,
    pub(crate) sizes: BlackHoleDetector,
    pub(crate) drops: LossPattern,
    /// Token bucket, once its sender has sent more than at first.
    pub(crate) token_bucket: Option<Box<TokenBucket>>,
    /// Bytes that a part of the conversation that is left out must have carried, until an ACK
    /// proves them.
    left_out: u64,
    /// Last data whose ACK came first.
    missed: Option<UncapturedData>,
    recovery: Option<Recovery>,
    timeouts: Timeouts,
    duplicates: u32,
    /// True if a duplicate ACK since the last ACK of new data reports only data that arrived twice.
    /// That is no sign of a loss (RFC 2883 section 4, RFC 6675 section 2).
    tells_of_copies: bool,
    /// True if the last ACK told of data above a gap.
    sacks: bool,
    flight_before_loss: u64,
    /// Response to marks of queues; `None` if no ACK tells of marks.
    marks: Option<Box<EcnResponse>>,
    /// Late ACKs, near the sender.
    pub(crate) beacons: Option<Box<BeaconDetector>>,
    rounds: Rounds,
    /// True if the SYN was captured, so that all data since is known.
    pub(crate) start_known: bool,
    /// True if its FIN was sent.
    pub(crate) fin_sent: bool,
    /// True if the other direction carries more: this one only answers, and its pauses do not
    /// matter.
    pub(crate) answers: bool,
    peer_sent: Option<Timestamp>,
    /// Time of its last data, and number of separate pieces since data went to it.
    peer_piece: Option<Timestamp>,
    peer_pieces: u64,
    /// True if the last ACK ended a timeout without proof of a loss.
    after_blind: bool,
    last_small: bool,
    /// Length of the last segment, whether it was pushed, and whether the program had no more: it
    /// carried less than it might have.
    last_length: u64,
    last_pushed: bool,
    ran_out: bool,
    /// Last time between two segments, the second of which Nagle's algorithm held back.
    held_for: Option<Span>,
    /// The flight when data was last sent, and the ACKs since.
    flight_sent: u64,
    acks_since_data: u32,
    /// Flight when data was last sent, or at the end of a repair since, during which nothing new
    /// may go out.
    drains_from: u64,
    /// ACKs of new data that carried none.
    bare_acks: u8,
    /// True if the last ACK came later than receivers withhold them, and whether one since the last
    /// data did.
    pub(crate) answered_late: bool,
    overdue: bool,
    /// True if the last ACK carried data of the other side.
    message_last: bool,
    // Measures.
    pub(crate) latency: Distribution,
    /// Latencies by the second, if requested.
    pub(crate) seconds: Option<Box<Seconds>>,
    pub(crate) windows: Windows,
    /// Times from the first segment of a flight to its ACK.
    pub(crate) cycles: Distribution,
    pub(crate) stays: TimeInFlight,
    /// The time for which the window stayed closed.
    pub(crate) closures: Distribution,
    pub(crate) counts: Counts,
    /// The flight before the first ACK of data.
    pub(crate) initial_flight: u64,
    pub(crate) capacity: Capacity,
    pub(crate) trains: Trains,
    pub(crate) pipeline: LongerPathTest,
    /// Pace of the program, at the sender, once it has waited.
    pub(crate) program_pace: Option<Box<ProgramPace>>,
    doubling_bursts: DoublingBursts,
    /// Releases by messages, at the sender, once the receiver has sent data.
    pub(crate) message_releases: Option<Box<MessageReleases>>,
    /// Evenness of its ACKs.
    pub(crate) ack_trains: Trains,
    pub(crate) service: PacketPairRate,
    pub(crate) arrivals: Arrivals,
    /// Delay variation, far from the sender.
    pub(crate) lateness: Option<Box<DelayVariation>>,
    /// Facts for a capture that may be far from the sender.
    pub(crate) far: Option<Box<FarFacts>>,
    pub(crate) needless: SpuriousRetransmissions,
    /// The last retransmission after duplicate ACKs.
    repaired_fast: Option<FastRetransmission>,
    /// The largest window since a part of one was taken back.
    room_most: u64,
    pub(crate) moving: ActiveTime,
    /// Evidence of the right edge, once the sender has waited for room.
    pub(crate) reader: Option<Box<Reader>>,
}

impl Flow {
    pub(crate) fn new(scale: Scale, size: SegmentSize, path: Path, intervals: usize) -> Self {
        Self { scale, size, path, ledger: Ledger::new(intervals), ..Self::default() }
    }

    /// Discards detail until its lists have at most about so many entries.
    pub(crate) fn shrink(&mut self, most: usize) {
        let under_way = most.max(MIN_UNDER_WAY);
        while self.held.len() > under_way
            && let Some(ack) = self.held.pop_front()
        {
            self.apply(ack, ack.time + self.path.turn, &mut ());
        }
        self.outstanding.shrink(under_way);
        self.windows.shrink(2 * most);
        self.ledger.shrink(most);
        self.drops.shrink(most);
        if let Some(far) = &mut self.far {
            far.shrink(most);
        }
        if let Some(bucket) = &mut self.token_bucket {
            bucket.shrink(most);
        }
        if let Some(seconds) = &mut self.seconds {
            seconds.shrink(most.saturating_mul(SECONDS_PER_INTERVAL));
        }
    }

    /// Starts to count ACKs by the second, too, with as many seconds as befit so many intervals.
    pub(crate) fn count_seconds(&mut self, intervals: usize) {
        let most = intervals.saturating_mul(SECONDS_PER_INTERVAL);
        self.seconds = Some(Box::new(Seconds::new(most)));
    }

    /// Returns the cuts of the sender's window in response to marks.
    pub(crate) fn marks(&self) -> EcnResponse {
        self.marks.as_deref().copied().unwrap_or_default()
    }

    /// Returns whether the capture may be far from the sender: at the receiver, on the way, or at
    /// an unknown place.
    fn may_be_far(&self) -> bool {
        self.path.turn > Span::ZERO || self.path.opening.is_none()
    }

    fn flight(&self) -> u64 {
        self.nxt.saturating_sub(self.una)
    }

    fn usable(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }

    /// Returns whether the sender has data and the window has no room for a full segment of it.
    ///
    /// A last segment that is neither full nor as long as the window allowed ended the program's
    /// data, unless three quarters of the window were taken.
    fn is_window_full(&self) -> bool {
        let window = self.edge.saturating_sub(self.una);
        self.heard
            && self.usable() < self.size.get()
            && !(self.ran_out && self.usable() * 4 >= window)
    }

    /// Returns the bytes that are known to have moved.
    pub(crate) fn moved(&self) -> u64 {
        self.counts.bytes + self.counts.missing_bytes
    }

    /// Returns the data in flight when the capture ended.
    pub(crate) fn unanswered(&self) -> u64 {
        self.nxt.saturating_sub(self.acked.max(self.una))
    }

    /// Returns whether all data is acknowledged, and its last byte was not sent alone: that byte
    /// alone is no retransmission.
    pub(crate) fn has_last_byte_answered(&self) -> bool {
        self.heard && self.unanswered() == 0 && self.last_length > 1
    }

    /// Returns the data that no ACK has answered.
    pub(crate) fn owed(&self) -> Option<UnansweredData> {
        let since = self.outstanding.oldest().or(self.last_data)?;
        let bytes = self.unanswered();
        (bytes > 0 && self.heard).then_some(UnansweredData {
            bytes,
            since,
            again: self.timeouts.count,
        })
    }

    /// Returns whether no data of it can stand in a queue any more: all sent data is acknowledged,
    /// and has been for long.
    pub(crate) fn is_at_rest(&self, time: Timestamp) -> bool {
        let Some(last) = self.last_data else { return true };
        if self.unanswered() > 0 {
            return false;
        }
        let rtt = self.path.rtt.unwrap_or_default();
        let spacing = self.packet_times.least().unwrap_or_default();
        let rest = (rtt * 3).max(spacing * 8).max(LATEST_DELAYED_ACK.get());
        time.since(last) >= rest
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closure.is_some()
    }

    /// Returns the end of the sent data, for reading segments whose number was not printed.
    pub(crate) fn next(&self) -> u64 {
        self.nxt
    }

    /// Sets the start of the data, from the last ACK before it.
    pub(crate) fn begin(&mut self, start: u64) {
        self.first = Some(start);
        self.una = start;
        self.nxt = start;
        self.acked = start;
        self.edge = start;
    }

    /// Records that data up to here was sent before the capture began.
    pub(crate) fn sent_before(&mut self, end: u64) {
        self.nxt = self.nxt.max(end);
    }

    /// Takes the window that came with that ACK. A SYN's is never scaled
    /// (RFC 7323 section 2.2).
    pub(crate) fn hear(&mut self, window: u16, scaled: bool) {
        let shift = if scaled { self.scale.shift() } else { 0 };
        let bytes = u64::from(window) << shift;
        self.edge = self.una + bytes;
        self.window_most = self.window_most.max(bytes);
        self.room_most = self.room_most.max(bytes);
        self.last_window = window;
        self.heard = true;
    }

    /// Ends the flow with what the capture holds of it. `ended` is the time of the last packet of a
    /// connection that a FIN or a RST ended.
    pub(crate) fn close(&mut self, ended: Option<Timestamp>, notes: &mut impl Notes) {
        // The last sign of the transfer is a packet of the capture: what an ACK takes
        // from there to the sender nobody waits for.
        while let Some(ack) = self.held.pop_front() {
            self.apply(ack, ack.time, notes);
        }
        if let Some(closure) = self.closure.take().filter(|closure| !closure.is_offered) {
            let (time, number) = closure.last;
            self.ledger.charge(WaitKind::NotReading, time, number);
            self.was_closed(&closure, time);
            self.counts.closed_at_end = true;
        } else if self.timeouts.count > 0 {
            self.counts.silent_at_end = self.ledger.pending_wait();
            self.ledger.settle_all(WaitKind::Timeout, |_| WaitKind::Timeout);
            self.counts.timeouts += 1;
            self.counts.loss_events += 1;
        } else {
            self.ledger.drop_trailing(PendingWait::AwaitPeer);
            let tail = self.tail();
            self.ledger.settle_all(tail, |wait| wait.settled(tail));
            if let Some(ended) = ended {
                self.leave_out_farewell(ended);
            }
        }
    }

    /// Compares the facts of the whole transfer, far from its sender, with the apparent kinds of
    /// single waits. Without a round trip of the handshake, the place of the capture is unknown.
    pub(crate) fn settle_far(&mut self, is_told: bool) -> FarVerdict {
        let is_far = self.path.turn > Span::ZERO || !is_told;
        let Some(far) = self.far.take().filter(|_| is_far) else { return FarVerdict::default() };
        let limit = far.limit(self.path.rtt);
        let decides = limit.is_some_and(|limit| limit.settle(&mut self.ledger));
        if decides && limit == Some(FarLimit::Messages) {
            self.counts.awaits += u64::from(far.waits_with_message());
        }
        if decides
            && limit == Some(FarLimit::Window)
            && let Some(turn) = far.turn()
        {
            self.path.is_no_less(turn, self.latency.least().unwrap_or_default());
        }
        FarVerdict { limit, decides, is_unprompted: far.is_unprompted(), shares: far.shares() }
    }

    /// Leaves out a jump of the capture's clock: that time did not pass.
    pub(crate) fn leave_out(&mut self, leap: &ClockJump, spanned: SilenceMeasurements) {
        self.latency.leave_out(leap.by, spanned.latencies);
        self.cycles.leave_out(leap.by, spanned.latencies);
        if self.ledger.kind_at(leap.end).is_some_and(WaitKind::is_closed) {
            self.closures.leave_out(leap.by, 1);
            self.counts.unasked = (self.counts.unasked - leap.by).or_zero();
        }
        self.counts.clock_stood = (self.counts.clock_stood - leap.by).or_zero();
        self.ledger.leave_out(leap, spanned);
    }

    /// Cuts the last ACK's time beyond the path's round trip and the receiver's usual time, as
    /// nothing waited for it. Returns the kind of the rest of the last wait.
    fn tail(&mut self) -> WaitKind {
        // The missing data may have been retransmitted and lost, or never retransmitted; the
        // capture does not show which.
        if !self.heard || self.unanswered() > 0 && !self.holes.is_empty() {
            return WaitKind::Missing;
        }
        let kind = self.last_wait();
        let Some(last) = self.last_data else { return kind.unwrap_or(WaitKind::Idle) };
        let Some(kind) = kind.or_else(|| self.sent_several().then_some(WaitKind::Open)) else {
            if !self.ledger.is_empty() {
                self.ledger.cut(last);
            }
            return WaitKind::Idle;
        };
        if self.sent_several() {
            // A delayed ACK holds back less.
            return kind;
        }
        let usual = self.cycles.median().unwrap_or_default() + self.path.turn;
        self.ledger
            .cut(last + usual.max(self.path.rtt.unwrap_or_default()).scaled(HALF_AGAIN.get()));
        kind
    }

    /// Returns the kind of the sender's last wait, if it was for an ACK.
    fn last_wait(&self) -> Option<WaitKind> {
        self.ledger.last().map(|last| last.kind).filter(|kind| {
            matches!(
                kind,
                WaitKind::Window | WaitKind::Open | WaitKind::Recovery | WaitKind::Timeout
            )
        })
    }

    /// Returns whether the last ACK answered more than one segment.
    fn sent_several(&self) -> bool {
        self.counts.last_flight >= 2 * self.size.get()
    }
}
