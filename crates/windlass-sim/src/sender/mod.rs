//! A TCP sender, and the program on top of it.
//!
//! A [`Sender`] connects, sends the data of its program, and closes. It records the truth about the
//! causes that held it back: see [`Truth`].

mod congestion;
mod cubic;
mod outstanding;
mod persist;
mod reduction;
mod settings;
mod supply;
mod timeout;
mod transfer;
mod truth;

pub use settings::{
    AnnouncedSize, Congestion, LeavePolicy, Method, PartialSegmentPolicy, Probe, SenderSettings,
    WritePattern,
};
pub use supply::{SupplyStep, steps};
use transfer::{OutgoingSegment, Transfer};
use truth::Ledger;
pub use truth::{HoldCause, Truth};
use windlass_base::{Bytes, Span, Timestamp};
use windlass_wire::{Flags, Options};

use crate::numbering::{Numbering, START};
use crate::random::Random;
use crate::segment::{DEFAULT_MSS, MAX_SHIFT, Payload, Segment, timestamp_clock};

/// Time that a sender waits for its peer's FIN after its own. It is longer than the 90 s that CUPS
/// waits for a printer's back-channel.
const FIN_WAIT: Span = Span::from_millis(120_000);

/// End of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All data was acknowledged, and the connection closed.
    Finished,
    /// The peer reset the connection.
    Reset,
    /// The peer did not answer for too long.
    GaveUp,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments sent.
    pub segments_out: u64,
    /// Segments received.
    pub segments_in: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Recoveries that duplicate ACKs began.
    pub fast_retransmits: u64,
    /// Probes of a closed window.
    pub probes: u64,
}

/// The states of RFC 9293 section 3.3.2 for the side that opens and, mostly,
/// closes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SenderState {
    /// The SYN leaves at its time; then the sender waits for the answer.
    SynSent,
    /// Open, until the program's FIN is acknowledged.
    Open,
    /// The FIN is acknowledged; the sender waits for the peer's FIN until a deadline.
    FinWait2 { until: Timestamp },
    /// Both ends have closed, or one has given up.
    Over { at: Timestamp, ending: Ending },
}

/// A sender.
#[derive(Clone, Debug)]
pub struct Sender {
    settings: SenderSettings,
    source: u16,
    destination: u16,
    state: SenderState,
    transfer: Transfer,
    numbering: Numbering,
    /// The peer's side of the connection; `None` before its SYN.
    peer: Option<Peer>,
    /// True if the sender owes the peer an ACK.
    owes_ack: bool,
    /// True if this ACK is the last one of the handshake, which hosts send by itself before the
    /// program can write.
    greets: bool,
    /// Time before which nothing leaves: the host's own speed.
    ready: Timestamp,
    ledger: Ledger,
    /// Time at which the last of the data was acknowledged and the last answer had arrived.
    delivered: Option<Timestamp>,
    counters: SenderCounters,
}

/// The peer's side of the connection.
#[derive(Clone, Copy, Debug)]
struct Peer {
    numbering: Numbering,
    /// RCV.NXT.
    next: u64,
    shift: u8,
    sack: bool,
    timestamps: bool,
    /// The timestamp to echo.
    echo: u32,
    closed: bool,
}

impl Sender {
    /// Returns a sender that will connect from port `source` to port `destination`.
    pub fn new(settings: SenderSettings, source: u16, destination: u16, seed: u64) -> Self {
        let numbering = Numbering::new(Random::new(seed, 0).bits());
        Self {
            settings,
            source,
            destination,
            state: SenderState::SynSent,
            transfer: Transfer::new(&settings),
            numbering,
            peer: None,
            owes_ack: false,
            greets: false,
            ready: settings.start,
            ledger: Ledger::new(settings.start),
            delivered: None,
            counters: SenderCounters::default(),
        }
    }

    /// Takes a segment that arrives at the sender.
    pub fn handle(&mut self, now: Timestamp, segment: &Segment) {
        self.counters.segments_in += 1;
        let idle = self.next_outgoing(now).is_none() && !self.owes_ack;
        match self.state {
            SenderState::SynSent => self.handshake(now, segment),
            SenderState::Open | SenderState::FinWait2 { .. } => self.established(now, segment),
            SenderState::Over { .. } => self.after_the_end(segment),
        }
        if idle {
            self.ready = self.ready.max(now + self.settings.response);
        }
        self.transfer.write(now, &self.settings);
        self.turn(now);
    }

    fn handshake(&mut self, now: Timestamp, segment: &Segment) {
        let position = self.numbering.position(segment.acknowledgment, START + 1);
        let acknowledges = segment.flags.has(Flags::ACK) && position == START + 1;
        if segment.flags.has(Flags::RST) {
            if acknowledges {
                self.end(now, Ending::Reset);
            }
            return;
        }
        if !segment.flags.has(Flags::SYN) || !acknowledges {
            return;
        }
        let offered = segment.options;
        let scale = self.settings.window_scale.and(offered.window_scale);
        let numbering = Numbering::new(segment.sequence);
        self.peer = Some(Peer {
            numbering,
            next: START + 1,
            shift: scale.unwrap_or(0).min(MAX_SHIFT),
            sack: self.settings.sack && offered.sack_permitted,
            timestamps: self.settings.timestamps && offered.timestamps.is_some(),
            echo: offered.timestamps.map_or(0, |(value, _)| value),
            closed: false,
        });
        let stamps = if self.settings.timestamps && offered.timestamps.is_some() { 12 } else { 0 };
        let mss = offered.mss.unwrap_or(DEFAULT_MSS).min(self.settings.mss);
        self.transfer.opened(now, u64::from(mss.max(64)) - stamps, u64::from(segment.window));
        self.state = SenderState::Open;
        self.owes_ack = true;
        self.greets = true;
        self.ledger.progress(now);
    }

    fn established(&mut self, now: Timestamp, segment: &Segment) {
        let Some(peer) = &mut self.peer else { return };
        let start = peer.numbering.position(segment.sequence, peer.next);
        if segment.flags.has(Flags::RST) {
            if start == peer.next {
                // Some devices end a connection by a reset after the last byte.
                let ending =
                    if self.transfer.is_acknowledged() { Ending::Finished } else { Ending::Reset };
                self.end(now, ending);
            }
            return;
        }
        if segment.flags.has(Flags::SYN) {
            // The last ACK of the handshake was lost.
            self.owes_ack = true;
            return;
        }
        if let Some((value, _)) = segment.options.timestamps
            && start <= peer.next
        {
            peer.echo = value;
        }
        let end = start + u64::from(segment.payload.len());
        if segment.length() > 0 {
            self.owes_ack = true;
        }
        let mut answered = 0;
        if start <= peer.next {
            answered = end.saturating_sub(peer.next);
            peer.next = peer.next.max(end);
            if segment.flags.has(Flags::FIN) && end == peer.next && !peer.closed {
                peer.closed = true;
                peer.next += 1;
            }
        }
        let (closed, shift, sack) = (peer.closed, peer.shift, peer.sack);
        if answered > 0 {
            self.transfer.supply.answered(answered, now);
        }
        if segment.flags.has(Flags::ACK) {
            let position =
                self.numbering.position(segment.acknowledgment, self.transfer.unacknowledged);
            let arrival = transfer::Ack {
                position,
                sequence: start,
                window: u64::from(segment.window) << shift,
                sack: if sack { segment.options.sack } else { Default::default() },
                bare: segment.length() == 0,
            };
            let (numbering, counters) = (self.numbering, &mut self.counters);
            if self.transfer.handle(now, &arrival, numbering, &self.settings, counters) {
                self.ledger.progress(now);
            }
        }
        if self.delivered.is_none() && self.transfer.is_acknowledged() {
            self.delivered = Some(now);
        }
        if self.transfer.is_fin_acknowledged() {
            if self.state == SenderState::Open {
                self.state = SenderState::FinWait2 { until: now + FIN_WAIT };
            }
            if self.settings.leave == LeavePolicy::Gone {
                // The answer to this segment is a reset already.
                self.end(now, Ending::Finished);
                self.after_the_end(segment);
            } else if closed {
                self.end(now, Ending::Finished);
            }
        } else if closed && !self.transfer.has_fin() {
            // The peer closed before the program was done, as an LPR server does after a refusal.
            self.transfer.supply.cut_off();
        }
    }

    /// Answers a segment after the end of the connection: a repeated FIN by an ACK, or everything
    /// by a reset.
    fn after_the_end(&mut self, segment: &Segment) {
        match self.settings.leave {
            LeavePolicy::Gone => self.transfer.reset = segment.refused(),
            LeavePolicy::Wait => {
                self.owes_ack |= segment.length() > 0 && !segment.flags.has(Flags::RST);
            }
        }
    }

    fn end(&mut self, now: Timestamp, ending: Ending) {
        self.state = SenderState::Over { at: now, ending };
        self.transfer.stop();
        self.ledger.turn(now, HoldCause::Closing);
        self.ledger.progress(now);
    }

    /// Returns the next segment that leaves by `now`.
    pub fn poll(&mut self, now: Timestamp) -> Option<Segment> {
        self.transfer.write(now, &self.settings);
        if self.transfer.timer().is_some_and(|timer| timer <= now) {
            self.time_out(now);
        }
        if let SenderState::FinWait2 { until } = self.state
            && until <= now
        {
            self.end(now, Ending::Finished);
        }
        let segment = if now < self.ready { None } else { self.leave(now) };
        if segment.is_some() {
            self.ready = now + self.settings.gap;
            self.counters.segments_out += 1;
        }
        self.turn(now);
        segment
    }

    fn time_out(&mut self, now: Timestamp) {
        if self.transfer.gives_up(&self.settings) {
            self.end(now, Ending::GaveUp);
            if let Some(peer) = self.peer {
                let flags = Flags::RST.with(Flags::ACK);
                let reset = self.segment(now, peer, flags, self.transfer.next, Payload::EMPTY);
                self.transfer.reset = Some(reset);
            }
            return;
        }
        if self.transfer.time_out(now, &self.settings, &mut self.counters) {
            self.ledger.timed_out(now);
        }
    }

    fn leave(&mut self, now: Timestamp) -> Option<Segment> {
        if let Some(reset) = self.transfer.reset.take() {
            return Some(reset);
        }
        let Some(peer) = self.peer else {
            let due = matches!(self.state, SenderState::SynSent) && self.transfer.opens(now);
            return due.then(|| self.syn(now));
        };
        if let Some(outgoing) = self.next_outgoing(now).filter(|_| !self.greets) {
            let OutgoingSegment { from, to, fin, .. } = outgoing;
            self.transfer.sent(now, outgoing, &mut self.counters);
            // A window probe counts as progress here: no timeout will claim the time before it.
            self.ledger.progress(now);
            let payload = self.transfer.supply.payload(from, to);
            let mut flags = Flags::ACK;
            if !payload.is_empty() {
                flags = flags.with(Flags::PSH);
            }
            if fin {
                flags = flags.with(Flags::FIN);
            }
            self.owes_ack = false;
            return Some(self.segment(now, peer, flags, from, payload));
        }
        if self.owes_ack {
            self.owes_ack = false;
            self.greets = false;
            return Some(self.segment(now, peer, Flags::ACK, self.transfer.next, Payload::EMPTY));
        }
        None
    }

    fn next_outgoing(&self, now: Timestamp) -> Option<OutgoingSegment> {
        match self.state {
            SenderState::Open | SenderState::FinWait2 { .. } => {
                self.transfer.next_outgoing(now, &self.settings)
            }
            SenderState::SynSent | SenderState::Over { .. } => None,
        }
    }

    fn syn(&self, now: Timestamp) -> Segment {
        Segment {
            source: self.source,
            destination: self.destination,
            sequence: self.numbering.number(START),
            acknowledgment: 0,
            flags: Flags::SYN,
            window: self.settings.receive_window,
            options: Options {
                mss: Some(self.settings.mss),
                window_scale: self.settings.window_scale,
                sack_permitted: self.settings.sack,
                timestamps: self.settings.timestamps.then(|| (timestamp_clock(now), 0)),
                ..Options::default()
            },
            payload: Payload::EMPTY,
        }
    }

    fn segment(
        &self,
        now: Timestamp,
        peer: Peer,
        flags: Flags,
        position: u64,
        payload: Payload,
    ) -> Segment {
        let timestamps = peer.timestamps.then(|| (timestamp_clock(now), peer.echo));
        Segment {
            source: self.source,
            destination: self.destination,
            sequence: self.numbering.number(position),
            acknowledgment: peer.numbering.number(peer.next),
            flags,
            window: self.settings.receive_window,
            options: Options { timestamps, ..Options::default() },
            payload,
        }
    }

    /// Returns the time of the next poll. A time in the past means at once; `None` means only after
    /// the next segment.
    pub fn next_time(&self) -> Option<Timestamp> {
        let leaves = self.transfer.reset.is_some()
            || self.owes_ack
            || self.next_outgoing(self.ready).is_some();
        let leaves = leaves.then_some(self.ready);
        match self.state {
            SenderState::Over { .. } => leaves,
            SenderState::SynSent => {
                // The timer is set when the SYN leaves.
                Some(self.transfer.timer().unwrap_or(self.ready).max(self.ready))
            }
            SenderState::Open | SenderState::FinWait2 { .. } => {
                let until = match self.state {
                    SenderState::FinWait2 { until } => Some(until),
                    _ => None,
                };
                let others = [self.transfer.timer(), self.transfer.supply.next_time(), until];
                others.into_iter().chain([leaves]).flatten().min()
            }
        }
    }

    /// Records the cause that holds the sender from now on.
    fn turn(&mut self, now: Timestamp) {
        let held = match self.state {
            SenderState::SynSent => HoldCause::Opening,
            SenderState::FinWait2 { .. } | SenderState::Over { .. } => HoldCause::Closing,
            SenderState::Open if self.next_outgoing(now).is_some() => {
                self.transfer.repairing().unwrap_or(HoldCause::Sending)
            }
            SenderState::Open => self.transfer.held(&self.settings),
        };
        if !self.is_over() {
            self.ledger.turn(now, held);
        }
    }

    /// Returns the truth about the causes that held the sender back until `now`.
    pub fn truth(&self, now: Timestamp) -> Truth {
        let end = match self.state {
            SenderState::Over { at, .. } => at.min(now),
            _ => now,
        };
        self.ledger.truth(end)
    }

    /// Returns the time and the kind of the transfer's end; `None` before it.
    pub const fn ending(&self) -> Option<(Timestamp, Ending)> {
        match self.state {
            SenderState::Over { at, ending } => Some((at, ending)),
            _ => None,
        }
    }

    /// Returns the time at which the last of the data was acknowledged and the last answer had
    /// arrived. The job is done then, however long the connection takes to close.
    pub const fn delivered(&self) -> Option<Timestamp> {
        self.delivered
    }

    /// Returns whether the transfer is over.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, SenderState::Over { .. })
    }

    /// Returns the bytes of the stream that are acknowledged, LPR's own included.
    pub fn acknowledged(&self) -> Bytes {
        self.transfer.delivered()
    }

    /// Returns the sender's counters.
    pub const fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// Returns the sender's settings.
    pub const fn settings(&self) -> &SenderSettings {
        &self.settings
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
