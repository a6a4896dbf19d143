//! One direction of a connection: the sender's state as its packets and the
//! ACKs that answer them show it.
//!
//! The flow keeps the sender's own clock. Where the capture was taken near the
//! receiver, an ACK reaches the sender only later, so its effect is held back
//! by that time (see [`Flow::set_ack_delay`]).

use std::collections::VecDeque;

use windlass_base::{Bytes, Span, Timestamp};

use crate::capacity::Capacity;
use crate::closure::Closure;
use crate::counts::Counts;
use crate::distribution::Distribution;
use crate::holes::{Hole, Holes};
use crate::ledger::{Activity, Doubt, Kind, Ledger, Phase};
use crate::note::{Note, Notes, Trigger};
use crate::outstanding::{Outstanding, Sent};
use crate::rounds::Rounds;
use crate::segment_size::SegmentSize;
use crate::upstream::Upstream;
use crate::windows::Windows;

/// ACKs that wait for their time at the sender; beyond that the first is
/// taken early.
const MOST_HELD: usize = 4096;

/// The shortest latency that earns a note.
const NOTABLE_LATENCY: Span = Span::from_millis(2);

/// Wireshark's default: data this late is out of order, not sent again, where
/// no round trip is known.
const REORDERING: Span = Span::from_millis(3);

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
}

/// An ACK of the other direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) time: Timestamp,
    pub(crate) number: u64,
    pub(crate) ack: u64,
    /// The window field as sent.
    pub(crate) window: u16,
    /// Whether it carries data of its own.
    pub(crate) carries_data: bool,
    /// Whether it says that data above a gap has arrived.
    pub(crate) sacks: bool,
    /// Whether its first SACK block lies below the ACK: data arrived twice
    /// (RFC 2883).
    pub(crate) d_sack: bool,
    pub(crate) echo: Option<u32>,
    pub(crate) timestamp: Option<u32>,
    /// Whether it ends the connection, which makes its window meaningless.
    pub(crate) closing: bool,
}

/// What is known of the receiver's window scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From the handshake.
    Known(u8),
    /// The least shift that the data seen so far asks for.
    AtLeast(u8),
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

/// Repair of loss.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    kind: Kind,
    /// The ACK that ends it.
    until: u64,
}

/// Retransmissions by timer that no ACK has answered yet.
#[derive(Clone, Copy, Debug, Default)]
struct Timeouts {
    count: u32,
    last: Timestamp,
    /// The timestamp option of the first retransmission.
    timestamp: Option<u32>,
    /// The flight when the timer ran out.
    until: u64,
}

/// The sender's state in one direction.
#[derive(Debug)]
pub(crate) struct Flow {
    // What was sent and acknowledged, as unwrapped offsets.
    pub(crate) first: Option<u64>,
    una: u64,
    nxt: u64,
    edge: u64,
    /// The last ACK as captured, whether or not it has reached the sender.
    acked: u64,
    heard: bool,
    pub(crate) scale: Scale,
    pub(crate) size: SegmentSize,
    pub(crate) window_most: u64,
    last_window: u16,
    // Time.
    ack_delay: Span,
    held: VecDeque<Ack>,
    pub(crate) path_rtt: Option<Span>,
    pub(crate) ledger: Ledger,
    last_event: Option<Timestamp>,
    last_data: Option<Timestamp>,
    /// The shortest time between two full segments: what one takes on the
    /// line.
    packet_time: Option<Span>,
    last_advance: Option<Timestamp>,
    /// The last ACK before anything moved.
    heard_at: Option<(Timestamp, u64)>,
    closure: Option<Closure>,
    // Loss.
    outstanding: Outstanding,
    holes: Holes,
    recovery: Option<Recovery>,
    timeouts: Timeouts,
    duplicates: u32,
    flight_before_loss: u64,
    rounds: Rounds,
    upstream: Upstream,
    /// How long the last segment stood in queues before the capture.
    queued: Span,
    last_identification: Option<u16>,
    /// Segments whose identification follows the one before by one, and those
    /// whose does not.
    counted_up: u32,
    jumped: u32,
    peer_sent: bool,
    last_small: bool,
    /// The flight when data was last sent, and the ACKs since.
    flight_sent: u64,
    acks_since_data: u32,
    // Measures.
    pub(crate) latency: Distribution,
    pub(crate) windows: Windows,
    /// From the first segment of a flight to its ACK.
    pub(crate) cycles: Distribution,
    /// How long the window stayed closed.
    pub(crate) closures: Distribution,
    pub(crate) counts: Counts,
    /// The flight before the first ACK of data.
    pub(crate) initial_flight: u64,
    pub(crate) capacity: Capacity,
}

impl Flow {
    pub(crate) fn new(scale: Scale, size: SegmentSize) -> Self {
        Self {
            first: None,
            una: 0,
            nxt: 0,
            edge: 0,
            acked: 0,
            heard: false,
            scale,
            size,
            window_most: 0,
            last_window: 0,
            ack_delay: Span::ZERO,
            held: VecDeque::new(),
            path_rtt: None,
            ledger: Ledger::default(),
            last_event: None,
            last_data: None,
            packet_time: None,
            last_advance: None,
            heard_at: None,
            closure: None,
            outstanding: Outstanding::default(),
            holes: Holes::default(),
            recovery: None,
            timeouts: Timeouts::default(),
            duplicates: 0,
            flight_before_loss: 0,
            rounds: Rounds::default(),
            upstream: Upstream::default(),
            queued: Span::ZERO,
            last_identification: None,
            counted_up: 0,
            jumped: 0,
            peer_sent: false,
            last_small: false,
            flight_sent: 0,
            acks_since_data: 0,
            latency: Distribution::default(),
            windows: Windows::default(),
            cycles: Distribution::default(),
            closures: Distribution::default(),
            counts: Counts::default(),
            initial_flight: 0,
            capacity: Capacity::default(),
        }
    }

    /// How long an ACK takes from the capture to the sender and the sender's
    /// answer back. Zero where the capture was taken at the sender.
    pub(crate) fn set_ack_delay(&mut self, delay: Span) {
        self.ack_delay = delay;
    }

    pub(crate) fn ack_delay(&self) -> Span {
        self.ack_delay
    }

    fn flight(&self) -> u64 {
        self.nxt.saturating_sub(self.una)
    }

    fn usable(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }

    /// Whether ACKs of this flow were captured.
    pub(crate) fn was_heard(&self) -> bool {
        self.heard
    }

    /// The data in flight when the capture ended.
    pub(crate) fn unanswered(&self) -> u64 {
        self.nxt.saturating_sub(self.acked.max(self.una))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closure.is_some()
    }

    /// The end of what was sent, for reading segments whose number was not
    /// printed.
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

    /// Takes the window that came with that ACK. A SYN's is never scaled
    /// (RFC 7323 section 2.2).
    pub(crate) fn hear(&mut self, window: u16, scaled: bool) {
        let shift = if scaled { self.scale.shift() } else { 0 };
        let bytes = u64::from(window) << shift;
        self.edge = self.una + bytes;
        self.window_most = self.window_most.max(bytes);
        self.last_window = window;
        self.heard = true;
    }

    /// A segment of the sender that carries nothing new and asks for an ACK.
    pub(crate) fn probe(&mut self, time: Timestamp, number: u64, notes: &mut impl Notes) {
        self.release(time, notes);
        match &mut self.closure {
            Some(closure) => {
                let count = closure.probe(time, number);
                self.counts.probes += 1;
                self.counts.probed.add(number);
                notes.note(number, Note::Probe { count });
            }
            None => {
                self.counts.keep_alives += 1;
                notes.note(number, Note::KeepAlive);
            }
        }
    }

    /// A data segment.
    pub(crate) fn data(&mut self, data: Data, notes: &mut impl Notes) {
        if let Some(value) = data.timestamp {
            self.queued = self.upstream.queued(data.time, value).unwrap_or_default();
        }
        let skipped = self.skipped_identifications(&data);
        self.release_before(&data, notes);
        let end = data.start + data.length;
        let Some(first) = self.first else {
            self.open(data.start, data.time, data.number);
            return self.fresh(data, skipped, notes);
        };
        if !self.ledger.started() {
            self.ledger.start(data.time, data.number);
        }
        // Offsets that lie far back belong to nothing that is known here.
        if data.start < first.saturating_sub(1 << 30) {
            return;
        }
        if data.length <= 1 && end == self.nxt && (self.flight() == 0 || self.is_closed()) {
            return self.probe(data.time, data.number, notes);
        }
        if data.start < self.nxt {
            return self.again(data, notes);
        }
        if self.closure.is_some() && data.length == 1 && self.usable() == 0 {
            self.probe(data.time, data.number, notes);
            // The byte counts as sent: the receiver may take it.
            self.nxt = end;
            self.counts.bytes += 1;
            self.counts.segments += 1;
            return;
        }
        self.fresh(data, skipped, notes);
    }

    /// How many packets the sender sent since the last one that are not in the
    /// capture, by its IPv4 identifications. Only a sender that counts them up
    /// for this connection alone tells.
    fn skipped_identifications(&mut self, data: &Data) -> u16 {
        let last = std::mem::replace(&mut self.last_identification, data.identification);
        let (Some(last), Some(this)) = (last, data.identification) else { return 0 };
        let step = this.wrapping_sub(last);
        if step == 1 {
            self.counted_up = self.counted_up.saturating_add(1);
        } else {
            self.jumped = self.jumped.saturating_add(1);
        }
        let counts = self.counted_up >= 10 && self.counted_up / 10 >= self.jumped;
        if counts && (2..1 << 10).contains(&step) { step - 1 } else { 0 }
    }

    fn open(&mut self, start: u64, time: Timestamp, number: u64) {
        self.first = Some(start);
        self.una = if self.heard { self.acked } else { start };
        self.nxt = start.max(self.una);
        self.acked = self.una;
        self.edge = self.edge.max(self.una);
        self.ledger.start(time, number);
    }

    /// Data that was not sent before.
    fn fresh(&mut self, data: Data, skipped: u16, notes: &mut impl Notes) {
        let end = data.start + data.length;
        // What lies beyond the window proves that an ACK was missed, or is on
        // its way to the sender, or that the scale is larger than thought.
        while end > self.edge
            && let Some(ack) = self.held.pop_front()
        {
            self.apply(ack, ack.time.max(self.last_event.unwrap_or(ack.time)), notes);
        }
        if end > self.edge && self.heard {
            self.stretch_scale(end);
        }
        if data.start > self.nxt {
            self.skip(&data, notes);
        }
        if let Some(closure) = self.closure.take() {
            let kind = closure.end(data.time, false);
            self.ledger.charge(kind, data.time, data.number);
        } else {
            self.settle_before_data(&data, skipped, notes);
        }
        let size = self.size.get();
        if self.flight() == 0 && !self.rounds.is_running() {
            self.rounds.start(end);
        }
        self.outstanding.push(Sent {
            start: data.start,
            end,
            time: data.time,
            number: data.number,
            sent_again: false,
        });
        self.nxt = end;
        self.counts.bytes += data.length;
        self.counts.segments += 1;
        self.size.saw(data.length, self.window_most);
        let activity = self.ledger.activity();
        activity.segments = activity.segments.saturating_add(1);
        let small = data.length < size / 2;
        if small {
            activity.small_segments = activity.small_segments.saturating_add(1);
        }
        self.last_small = data.length < size;
        if self.last_small {
            activity.partial_segments = activity.partial_segments.saturating_add(1);
        }
        if data.length > size {
            self.counts.super_packets += 1;
            notes.note(data.number, Note::SuperPacket { segments: data.length.div_ceil(size) });
        }
        let flight = self.flight();
        self.counts.flight_most = self.counts.flight_most.max(flight);
        if self.flight_before_loss > 0
            && self.recovery.is_none()
            && flight >= self.flight_before_loss * 9 / 10
        {
            // What the loss took is regained.
            self.flight_before_loss = 0;
            self.ledger.set_phase(Phase::Level);
        }
        self.rounds.flight(flight);
        self.flight_sent = flight;
        self.acks_since_data = 0;
        self.peer_sent = false;
        self.last_event = Some(data.time);
        if let Some(last) = self.last_data.replace(data.time)
            && data.length >= size
        {
            let gap = data.time.since(last);
            if gap > Span::ZERO && self.packet_time.is_none_or(|least| gap < least) {
                self.packet_time = Some(gap);
            }
        }
        if self.heard && self.usable() < size {
            let window = self.edge.saturating_sub(self.una);
            notes.note(data.number, Note::WindowFilled { window: Bytes::new(window) });
        }
    }

    /// Settles the time before a new segment.
    fn settle_before_data(&mut self, data: &Data, skipped: u16, notes: &mut impl Notes) {
        let (time, number) = (data.time, data.number);
        if let Some(recovery) = self.recovery {
            self.ledger.settle_all(recovery.kind, |_| recovery.kind);
            self.ledger.charge(recovery.kind, time, number);
            return;
        }
        let gap = self.ledger.since_mark(time);
        let flight = self.flight();
        let awaited = self.ledger.doubts(Doubt::AwaitPeer) || (self.peer_sent && flight == 0);
        if flight > 0 && self.usable() < self.size.get() && self.heard {
            self.ledger.doubt(Doubt::Window, time, number);
            self.ledger.settle(|_| Kind::Window);
        } else if gap <= self.reaction(flight) {
            let kind = if awaited {
                Kind::AwaitPeer
            } else if self.is_nagle(data) {
                self.counts.nagle += 1;
                Kind::Nagle
            } else {
                Kind::Open
            };
            if kind == Kind::Open {
                self.resume(flight);
            }
            self.settle_waits(kind);
            self.ledger.doubt(Doubt::Sending, time, number);
        } else if self.is_queued() {
            // The sender had sent it long before: the path held it.
            self.settle_waits(Kind::Queued);
            self.ledger.settle_all(Kind::Queued, |_| Kind::Queued);
            self.ledger.charge(Kind::Queued, time, number);
        } else if skipped > 0 && gap >= self.silence() {
            // The sender did send meanwhile, and the path lost all of it before
            // the capture: this is the timer's retransmission.
            self.settle_waits(Kind::Open);
            self.ledger.settle_all(Kind::Timeout, |_| Kind::Timeout);
            self.ledger.charge(Kind::Timeout, time, number);
            self.counts.timeouts += 1;
            self.counts.loss_events += 1;
            self.lose();
        } else {
            let idle = if self.heard { Kind::Idle } else { Kind::Missing };
            self.settle_waits(if awaited { Kind::AwaitPeer } else { idle });
            self.ledger.settle_all(idle, |_| idle);
            self.ledger.charge(idle, time, number);
            if flight == 0 && self.heard {
                if gap >= NOTABLE_LATENCY {
                    notes.note(number, Note::WasIdle { idle: gap });
                }
            }
        }
    }

    /// Whether the last segment stood in a queue before the capture for longer
    /// than jitter explains.
    fn is_queued(&self) -> bool {
        let rtt = self.path_rtt.unwrap_or_default();
        self.queued >= (rtt / 4).max(Span::from_millis(3))
    }

    /// Notes how a wait ended: a congestion window lets data out with each ACK,
    /// while the writer of a full send buffer is woken only when a good part
    /// of it is free (Linux: a third).
    fn resume(&mut self, flight: u64) {
        let freed = self.flight_sent.saturating_sub(flight);
        let activity = self.ledger.activity();
        if self.acks_since_data == 0 {
        } else if freed * 5 <= self.flight_sent * 2 {
            activity.prompt = activity.prompt.saturating_add(1);
        } else if self.acks_since_data > 1 {
            activity.deep = activity.deep.saturating_add(1);
        }
    }

    fn settle_waits(&mut self, open: Kind) {
        self.ledger.settle(|doubt| match doubt {
            Doubt::Window => Kind::Window,
            Doubt::AwaitPeer => Kind::AwaitPeer,
            Doubt::Sending | Doubt::Open | Doubt::OpenDuplicate => open,
        });
    }

    /// How soon a sender that waited for an ACK sends after it. What comes
    /// later was not held back by the ACK.
    ///
    /// A host reacts within tens of microseconds, a paced one within a share of
    /// its round trip (Linux paces a round over about half of it while it
    /// grows); an eighth of a round trip, between 0.2 and 20 ms, leaves both
    /// room.
    fn reaction(&self, flight: u64) -> Span {
        let rtt = self.path_rtt.unwrap_or(Span::from_millis(2));
        let most = Span::from_nanos((rtt.as_nanos() / 8).clamp(200_000, 20_000_000));
        let most = if flight == 0 { most.min((rtt / 2).max(Span::from_micros(20))) } else { most };
        // On a slow line the segment itself takes time to pass the capture.
        most.max(self.packet_time.unwrap_or_default() * 2)
    }

    /// Whether the wait before this segment was Nagle's algorithm against a
    /// delayed ACK: a small segment was in flight, another small one follows
    /// its ACK, and that ACK took much longer than the path (RFC 896;
    /// RFC 9293 section 3.7.4).
    fn is_nagle(&self, data: &Data) -> bool {
        let size = self.size.get();
        let wait = self.ledger.pending_wait();
        let slow = self.path_rtt.map_or(Span::from_millis(30), |rtt| rtt * 2).max(LEAST_DELAY);
        data.length < size
            && wait > slow
            && self.flight() == 0
            && self.ledger.doubts(Doubt::Open)
            && (self.last_small || self.counts.last_flight <= 2 * size)
    }

    /// Data ahead of what was sent: either it overtook other data on its way
    /// to the capture, or the capture missed some.
    fn skip(&mut self, data: &Data, notes: &mut impl Notes) {
        // Two windows beyond the edge: one ACK may have been missed, not all.
        let room = (2 * self.window_most).max(4 * self.size.get());
        let beyond = data.start.saturating_sub(self.edge);
        if self.heard && beyond > room || data.start - self.nxt > 1 << 30 {
            // So far beyond the window that a part of the conversation must be
            // missing. What came before says nothing about what follows.
            notes.note(
                data.number,
                Note::NotCaptured { missing: Bytes::new(data.start - self.nxt) },
            );
            self.ledger.settle_all(Kind::Missing, |_| Kind::Missing);
            self.ledger.charge(Kind::Missing, data.time, data.number);
            let window = self.edge.saturating_sub(self.una);
            self.counts.cuts += 1;
            self.outstanding.clear();
            self.holes = Holes::default();
            self.closure = None;
            self.recovery = None;
            self.timeouts = Timeouts::default();
            self.una = data.start;
            self.acked = self.acked.max(data.start);
            self.nxt = data.start;
            self.edge = data.start + window;
        } else {
            self.holes.open(Hole {
                start: self.nxt,
                end: data.start,
                since: data.time,
                identification: data.identification,
            });
        }
    }

    /// Where the scale is not known: the least one under which the sender kept
    /// to the window.
    fn stretch_scale(&mut self, end: u64) {
        let Scale::AtLeast(mut shift) = self.scale else { return };
        if self.last_window == 0 {
            return;
        }
        while shift < 14 && self.una + (u64::from(self.last_window) << shift) < end {
            shift += 1;
        }
        self.scale = Scale::AtLeast(shift);
        let window = u64::from(self.last_window) << shift;
        self.edge = self.una + window;
        self.window_most = self.window_most.max(window);
    }

    /// Data of which some was sent before.
    fn again(&mut self, data: Data, notes: &mut impl Notes) {
        let end = data.start + data.length;
        let of = self.outstanding.send_again(data.start, end);
        let filled = self.holes.fill(data.start, end);
        if let Some((bytes, hole)) = filled {
            self.counts.bytes += bytes;
            if self.was_overtaken(&data, &hole) {
                let late = data.time.since(hole.since).or_zero();
                self.counts.out_of_order += 1;
                self.counts.overtaken.add(data.number);
                notes.note(data.number, Note::OutOfOrder { late });
                return self.enter_quietly(data);
            }
        }
        self.counts.retransmissions += 1;
        self.counts.retransmitted_bytes += data.length;
        if end > self.nxt {
            // It carries new data as well.
            self.counts.bytes += end - self.nxt;
            self.nxt = end;
        }
        let trigger = if end <= self.acked {
            self.counts.spurious += 1;
            Trigger::Needless
        } else if self.duplicates > 0 && self.ledger.since_mark(data.time) < self.silence() {
            Trigger::Fast
        } else {
            Trigger::Timer
        };
        notes.note(data.number, Note::Retransmission { of, trigger });
        self.counts.retransmitted.add(data.number);
        match trigger {
            Trigger::Needless => self.enter_quietly(data),
            Trigger::Fast => {
                self.counts.fast += 1;
                self.repair(Kind::Recovery, &data);
            }
            Trigger::Timer => {
                self.counts.timer += 1;
                self.timed_out(&data);
            }
        }
        self.last_event = Some(data.time);
    }

    /// Whether late data was overtaken on its way rather than sent again.
    ///
    /// A retransmission takes at least a round trip: the segment behind the
    /// hole must reach the receiver and its ACK the sender. IPv4
    /// identifications, where the sender counts them up, tell directly.
    fn was_overtaken(&self, data: &Data, hole: &Hole) -> bool {
        if let (Some(late), Some(behind)) = (data.identification, hole.identification)
            && late != behind
            && late != 0
            && behind != 0
        {
            let step = late.wrapping_sub(behind);
            if step < 1 << 12 {
                return false;
            }
            if step > u16::MAX - (1 << 12) {
                return true;
            }
        }
        // Three duplicate ACKs that ask for this very data: a fast retransmit.
        if self.duplicates >= 3 && data.start == self.acked {
            return false;
        }
        let late = data.time.since(hole.since);
        late < self.path_rtt.map_or(REORDERING, |rtt| rtt.scaled(0.8).max(Span::from_micros(100)))
    }

    /// Passes time to a packet that changes nothing of what the sender waits
    /// for.
    fn enter_quietly(&mut self, data: Data) {
        let (time, number) = (data.time, data.number);
        if let Some(closure) = &mut self.closure {
            closure.goes_on(time, number);
        } else if let Some(recovery) = self.recovery {
            self.ledger.charge(recovery.kind, time, number);
        } else if self.flight() > 0 {
            self.ledger.doubt(self.waiting(), time, number);
        }
    }

    /// What a sender with data in flight waits for, as far as it shows.
    fn waiting(&self) -> Doubt {
        if self.heard && self.usable() < self.size.get() {
            Doubt::Window
        } else if self.duplicates > 0 {
            Doubt::OpenDuplicate
        } else {
            Doubt::Open
        }
    }

    /// A retransmission after duplicate ACKs.
    fn repair(&mut self, kind: Kind, data: &Data) {
        let (time, number) = (data.time, data.number);
        match &mut self.recovery {
            Some(recovery) => {
                let kind = recovery.kind;
                self.ledger.charge(kind, time, number);
            }
            None => {
                self.ledger.settle(|doubt| match doubt {
                    Doubt::OpenDuplicate => kind,
                    Doubt::Window => Kind::Window,
                    Doubt::AwaitPeer => Kind::AwaitPeer,
                    Doubt::Open | Doubt::Sending => Kind::Open,
                });
                self.ledger.settle_all(kind, |_| kind);
                self.ledger.charge(kind, time, number);
                self.lose();
                self.recovery = Some(Recovery { kind, until: self.nxt });
                self.counts.loss_events += 1;
            }
        }
    }

    fn lose(&mut self) {
        let flight = self.flight_sent.max(self.rounds.recent_flight()).max(1);
        self.flight_before_loss = self.flight_before_loss.max(flight);
        self.ledger.set_phase(Phase::AfterLoss);
        self.rounds.lose();
    }

    /// The silence before a retransmission that only a timer explains. Linux's
    /// runs for at least 200 ms, and RFC 6298 section 2.4 asks for a second;
    /// 150 ms leaves room for an ACK that came in between.
    fn silence(&self) -> Span {
        self.path_rtt.unwrap_or_default().scaled(1.2).max(Span::from_millis(150))
    }

    /// A retransmission by timer. Whether anything was lost shows when the next
    /// ACK comes.
    fn timed_out(&mut self, data: &Data) {
        let (time, number) = (data.time, data.number);
        let silence = self.silence();
        if let Some(recovery) = &mut self.recovery {
            // Repair itself ran into the timer.
            if self.ledger.since_mark(time) >= silence {
                recovery.kind = Kind::Timeout;
            }
            let kind = recovery.kind;
            self.ledger.charge(kind, time, number);
            return;
        }
        self.ledger.doubt(self.waiting(), time, number);
        if self.timeouts.count == 0 {
            self.timeouts.timestamp = data.timestamp;
        }
        self.timeouts.count += 1;
        self.timeouts.last = time;
        self.timeouts.until = self.nxt;
    }

    /// An ACK, as captured. It takes effect when it reaches the sender.
    pub(crate) fn ack(&mut self, ack: Ack, notes: &mut impl Notes) {
        self.release(ack.time, notes);
        if let Some(answered) = self.outstanding.acknowledge(ack.ack, ack.time)
            && ack.ack > self.acked
            && answered.latency >= Span::ZERO
        {
            // An ACK counts once for each full segment that it covers: it is the
            // data that waits.
            let covered = (ack.ack - self.acked).div_ceil(self.size.get());
            let weight = u32::try_from(covered).unwrap_or(u32::MAX);
            self.latency.record_weighted(answered.latency, weight);
            self.cycles.record_weighted(answered.cycle, weight);
            let rtt = answered.latency + self.ack_delay;
            if answered.latency > Span::ZERO && self.path_rtt.is_none_or(|path| rtt < path) {
                self.path_rtt = Some(rtt);
            }
            let activity = self.ledger.activity();
            activity.latency_sum += answered.latency;
            activity.latency_count = activity.latency_count.saturating_add(1);
            if answered.latency >= NOTABLE_LATENCY {
                let (latency, answers) = (answered.latency, answered.number);
                notes.note(ack.number, Note::AckAfter { latency, answers });
            }
        }
        self.acked = self.acked.max(ack.ack);
        if self.ack_delay > Span::ZERO {
            if self.held.len() == MOST_HELD
                && let Some(first) = self.held.pop_front()
            {
                self.apply(first, first.time, notes);
            }
            self.held.push_back(Ack { time: ack.time + self.ack_delay, ..ack });
        } else {
            self.apply(ack, ack.time, notes);
        }
    }

    /// Lets ACKs reach the sender whose time has come. Where timestamps tell
    /// when they did, [`Flow::release_before`] waits for that.
    fn release(&mut self, time: Timestamp, notes: &mut impl Notes) {
        while let Some(ack) = self.held.front()
            && ack.time <= time
            && ack.timestamp.is_none()
        {
            let ack = *ack;
            self.held.pop_front();
            self.apply(ack, ack.time, notes);
        }
    }

    /// Lets those ACKs reach the sender that it had when it sent this segment.
    ///
    /// The echo tells which they are (RFC 7323). The time between is the path's
    /// to the sender and back, with its queues. In an unbroken stream all of it
    /// was a wait; after a pause, what goes beyond the path's own time was the
    /// sender's.
    fn release_before(&mut self, data: &Data, notes: &mut impl Notes) {
        let Some(echo) = data.echo.filter(|_| self.ack_delay > Span::ZERO) else {
            // The way from an ACK to its answer varies a little.
            return self.release(data.time + self.ack_delay / 8, notes);
        };
        let queued = self.is_queued();
        let mut sampled = false;
        while let Some(ack) = self.held.front()
            && ack.timestamp.is_none_or(|value| echo.wrapping_sub(value) < 1 << 31)
        {
            let ack = *ack;
            self.held.pop_front();
            if ack.timestamp == Some(echo) && !sampled {
                sampled = true;
                let turn = data.time.since(ack.time) + self.ack_delay;
                let activity = self.ledger.activity();
                activity.turn_sum += turn.or_zero();
                activity.turn_count = activity.turn_count.saturating_add(1);
            }
            let at = if queued { data.time } else { ack.time.min(data.time) };
            self.apply(ack, at, notes);
        }
    }

    /// An ACK reaches the sender.
    fn apply(&mut self, ack: Ack, time: Timestamp, notes: &mut impl Notes) {
        let number = ack.number;
        let shift = self.scale.shift();
        let window = u64::from(ack.window) << shift;
        if !self.heard {
            self.heard = true;
            if self.first.is_none() {
                // ACKs only, so far: the data is not in the capture.
                self.una = ack.ack;
                self.nxt = ack.ack;
                self.edge = ack.ack + window;
                self.window_most = window;
                self.last_window = ack.window;
                self.heard_at = Some((time, number));
                return;
            }
            self.una = self.una.min(ack.ack);
        }
        if ack.ack < self.una {
            return;
        }
        if !self.ledger.started() && ack.ack == self.una {
            self.heard_at = Some((time, number));
        }
        self.counts.acks += 1;
        let advanced = ack.ack - self.una;
        if ack.ack > self.nxt {
            self.unseen(&ack, time, notes);
        } else if advanced > 0 {
            self.advance(&ack, time, advanced);
        } else {
            self.repeat(&ack, time, window, notes);
        }
        if ack.d_sack {
            self.counts.d_sacks += 1;
            notes.note(number, Note::GotTwice);
        }
        if ack.carries_data {
            self.peer_sent = true;
            if self.flight() == 0 && self.closure.is_none() {
                self.ledger.doubt(Doubt::AwaitPeer, time, number);
            }
        }
        self.last_event = Some(time);
        if !ack.closing {
            self.set_window(&ack, time, window, notes);
        }
    }

    /// An ACK of data that the capture never saw.
    fn unseen(&mut self, ack: &Ack, time: Timestamp, notes: &mut impl Notes) {
        let missing = ack.ack - self.nxt;
        self.counts.missing_bytes += missing + self.holes.acknowledge(ack.ack);
        self.counts.missing_gaps += 1;
        notes.note(ack.number, Note::NotCaptured { missing: Bytes::new(missing) });
        self.first = self.first.or(Some(self.una));
        if let Some((time, number)) = self.heard_at {
            // The data moved since the last ACK at the latest.
            self.ledger.start(time, number);
        }
        self.ledger.settle_all(Kind::Missing, |_| Kind::Missing);
        match &mut self.closure {
            Some(closure) => closure.goes_on(time, ack.number),
            None => self.ledger.charge(Kind::Missing, time, ack.number),
        }
        self.una = ack.ack;
        self.nxt = ack.ack;
        self.outstanding.clear();
        self.recovery = None;
        self.timeouts = Timeouts::default();
        self.duplicates = 0;
    }

    /// An ACK of new data.
    fn advance(&mut self, ack: &Ack, time: Timestamp, advanced: u64) {
        let number = ack.number;
        let missing = if self.holes.is_empty() { 0 } else { self.holes.acknowledge(ack.ack) };
        if missing > 0 {
            self.counts.missing_bytes += missing;
            self.counts.missing_gaps += 1;
        }
        let flight = self.flight();
        if self.counts.acked == 0 {
            self.initial_flight = flight;
        }
        self.counts.acked += advanced;
        self.counts.last_flight = flight;
        self.acks_since_data += 1;
        self.ledger.flight_at_wait(flight);
        let activity: &mut Activity = self.ledger.activity();
        activity.acks = activity.acks.saturating_add(1);
        activity.acked += advanced;
        if let Some(last) = self.last_advance.replace(time) {
            let gap = time.since(last).or_zero().as_seconds();
            activity.gaps += gap;
            activity.gaps_squared += gap * gap;
        }
        self.capacity.acked(time, advanced, self.path_rtt);
        if let Some(recovery) = self.recovery {
            self.ledger.settle_all(recovery.kind, |_| recovery.kind);
            self.ledger.charge(recovery.kind, time, number);
            if ack.ack >= recovery.until {
                self.recovery = None;
            }
        } else if self.timeouts.count > 0 {
            self.judge_timeout(ack, time);
        } else if self.usable() < self.size.get() {
            self.ledger.doubt(Doubt::Window, time, number);
            self.ledger.settle(|doubt| match doubt {
                Doubt::AwaitPeer => Kind::AwaitPeer,
                Doubt::Window | Doubt::Sending | Doubt::Open | Doubt::OpenDuplicate => Kind::Window,
            });
        } else {
            self.ledger.doubt(self.waiting(), time, number);
        }
        self.duplicates = 0;
        self.una = ack.ack;
        if self.rounds.acknowledged(ack.ack, self.nxt) {
            self.ledger.new_round();
        }
        if self.ledger.phase() != Phase::AfterLoss {
            let growing = self.rounds.in_slow_start();
            self.ledger.set_phase(if growing { Phase::SlowStart } else { Phase::Level });
        }
    }

    /// The first ACK after a retransmission by timer tells what it was.
    fn judge_timeout(&mut self, ack: &Ack, time: Timestamp) {
        let timeouts = std::mem::take(&mut self.timeouts);
        let window_full = self.waiting() == Doubt::Window;
        let rtt = self.path_rtt.unwrap_or(Span::ZERO);
        // An echo of the first copy's timestamp (RFC 3522), a D-SACK (RFC 2883)
        // or an answer sooner than the path allows: nothing was lost.
        let echoes_first = match (ack.echo, timeouts.timestamp) {
            (Some(echo), Some(again)) => echo != again && again.wrapping_sub(echo) < 1 << 31,
            _ => false,
        };
        let too_soon = time.since(timeouts.last) < rtt.scaled(0.7);
        self.ledger.doubt(self.waiting(), time, ack.number);
        if ack.d_sack || echoes_first || too_soon {
            self.counts.spurious += u64::from(timeouts.count);
            if window_full {
                self.ledger.settle_all(Kind::Window, |_| Kind::Window);
            } else {
                self.counts.withheld += 1;
            }
            return;
        }
        let proven = ack.echo.is_some() && timeouts.timestamp.is_some();
        if proven || timeouts.count > 1 || ack.ack < self.nxt {
            self.ledger.settle_all(Kind::Timeout, |_| Kind::Timeout);
            self.counts.timeouts += 1;
            self.counts.loss_events += 1;
            self.lose();
            if ack.ack < timeouts.until {
                self.recovery = Some(Recovery { kind: Kind::Timeout, until: timeouts.until });
            }
        } else {
            let kind = Kind::Blind { window_full };
            self.ledger.settle_all(kind, |_| kind);
            self.counts.blind_timeouts += 1;
        }
    }

    /// An ACK that repeats the last one.
    fn repeat(&mut self, ack: &Ack, time: Timestamp, window: u64, notes: &mut impl Notes) {
        let number = ack.number;
        let same_window = self.edge == ack.ack + window;
        // RFC 5681 section 2: data in flight, no data in the ACK, no new ACK
        // and no new window.
        if self.flight() > 0 && !ack.carries_data && !ack.closing && (same_window || ack.sacks) {
            self.duplicates = self.duplicates.saturating_add(1);
            self.counts.duplicate_acks += 1;
            notes.note(number, Note::DuplicateAck { count: self.duplicates });
            if let Some(recovery) = self.recovery {
                self.ledger.charge(recovery.kind, time, number);
            } else {
                // The gap before the first one was an ordinary wait.
                let doubt = match self.waiting() {
                    Doubt::OpenDuplicate if self.duplicates == 1 => Doubt::Open,
                    doubt => doubt,
                };
                self.ledger.doubt(doubt, time, number);
            }
        } else if self.closure.is_none() && self.flight() > 0 {
            if let Some(recovery) = self.recovery {
                self.ledger.charge(recovery.kind, time, number);
            } else if self.usable() < self.size.get() {
                self.ledger.doubt(Doubt::Window, time, number);
                if self.timeouts.count == 0 {
                    self.ledger.settle(|_| Kind::Window);
                }
            } else {
                self.ledger.doubt(self.waiting(), time, number);
            }
        }
    }

    /// Takes the window of an ACK, and notes when it closes or opens.
    fn set_window(&mut self, ack: &Ack, time: Timestamp, window: u64, notes: &mut impl Notes) {
        self.last_window = ack.window;
        self.edge = ack.ack + window;
        self.window_most = self.window_most.max(window);
        self.size.offered(window);
        self.counts.window_least = self.counts.window_least.min(window);
        if ack.window == 0 {
            self.counts.zero_windows += 1;
        }
        let size = self.size.get();
        // A window is closed in effect when nothing is in flight and a sender
        // that avoids silly windows would not use what is left (RFC 9293
        // section 3.8.6.2.1: a segment, or half the largest window).
        let least = size.min(self.window_most / 2).max(1);
        let closed = ack.window == 0 || (self.flight() == 0 && self.usable() < least);
        if !closed {
            self.windows.record(window);
        }
        match (&mut self.closure, closed) {
            (None, true) => {
                self.ledger.settle_all(Kind::Open, settle_plainly);
                self.ledger.charge(Kind::Open, time, ack.number);
                self.closure = Some(Closure::new(time, ack.number));
                self.counts.closures += 1;
                notes.note(ack.number, Note::WindowClosed { left: Bytes::new(self.usable()) });
            }
            (Some(closure), true) => {
                if closure.answers_probe(time, self.path_rtt) {
                    notes.note(ack.number, Note::StillClosed);
                }
                closure.goes_on(time, ack.number);
            }
            (Some(closure), false) => {
                let probed = closure.answers_probe(time, self.path_rtt);
                let after = closure.since(time);
                let kind = closure.end(time, probed);
                notes.note(
                    ack.number,
                    Note::WindowOpens { after, window: Bytes::new(window), when_probed: probed },
                );
                self.ledger.charge(kind, time, ack.number);
                self.closures.record(after);
                self.closure = None;
            }
            (None, false) => {}
        }
    }

    /// Ends the flow with what the capture holds of it.
    pub(crate) fn close(&mut self, notes: &mut impl Notes) {
        while let Some(ack) = self.held.pop_front() {
            self.apply(ack, ack.time, notes);
        }
        if let Some(closure) = self.closure.take() {
            let (time, number) = closure.last();
            self.ledger.charge(Kind::NotReading, time, number);
            self.closures.record(closure.since(time));
            self.counts.closed_at_end = true;
        } else if self.timeouts.count > 0 {
            self.ledger.settle_all(Kind::Timeout, |_| Kind::Timeout);
            self.counts.timeouts += 1;
            self.counts.loss_events += 1;
        } else {
            // The last wait is for the ACK of the last data: the same limit as
            // before, or none.
            let last = self.ledger.last_kind().filter(|kind| {
                matches!(kind, Kind::Window | Kind::Open | Kind::Recovery | Kind::Timeout)
            });
            let tail = match (last, self.heard) {
                (_, false) => Kind::Missing,
                (Some(kind), true) => kind,
                (None, true) => Kind::Idle,
            };
            self.ledger.drop_trailing(Doubt::AwaitPeer);
            self.ledger.settle_all(tail, |doubt| match doubt {
                Doubt::Window => Kind::Window,
                Doubt::AwaitPeer => Kind::AwaitPeer,
                Doubt::Sending | Doubt::Open | Doubt::OpenDuplicate => tail,
            });
        }
    }
}

/// The least time that makes an ACK a delayed one: timers run from 40 ms
/// (Linux) to 500 ms (RFC 1122 section 4.2.3.2); half of the least leaves room
/// for a burst in between.
const LEAST_DELAY: Span = Span::from_millis(20);

fn settle_plainly(doubt: Doubt) -> Kind {
    match doubt {
        Doubt::Window => Kind::Window,
        Doubt::AwaitPeer => Kind::AwaitPeer,
        Doubt::Sending | Doubt::Open | Doubt::OpenDuplicate => Kind::Open,
    }
}
