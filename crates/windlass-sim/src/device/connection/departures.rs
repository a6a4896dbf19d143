//! The segments that a connection sends.

use windlass_base::Timestamp;
use windlass_wire::{Flags, Options};

use super::{Connection, ConnectionState};
use crate::device::habits::Habits;
use crate::numbering::START;
use crate::segment::{Payload, Segment, timestamp_clock};

impl Connection {
    pub(super) fn answer_syn(&mut self, now: Timestamp, habits: &Habits) -> Segment {
        self.state = ConnectionState::SynReceived { answer: None };
        self.transmit.syn_sent(now);
        let options = Options {
            mss: Some(habits.mss),
            window_scale: self.agreed.window_scale,
            sack_permitted: self.agreed.sack,
            timestamps: self.agreed.timestamps.then(|| (timestamp_clock(now), self.echo)),
            ..Options::default()
        };
        Segment {
            options,
            window: u16::try_from(habits.window.most().get()).unwrap_or(u16::MAX),
            ..self.segment(Flags::SYN.with(Flags::ACK), START, Payload::EMPTY)
        }
    }

    pub(super) fn send(&mut self, now: Timestamp, habits: &Habits) -> Segment {
        let piece = self.transmit.take(now);
        let mut flags = Flags::ACK;
        if !piece.payload.is_empty() {
            flags = flags.with(Flags::PSH);
        }
        if piece.fin {
            flags = flags.with(Flags::FIN);
        }
        self.acknowledging(now, flags, piece.position, piece.payload, habits)
    }

    pub(super) fn ack(&mut self, now: Timestamp, habits: &Habits) -> Segment {
        let flags = if habits.pushes_acks { Flags::ACK.with(Flags::PSH) } else { Flags::ACK };
        self.acknowledging(now, flags, self.transmit.next, Payload::EMPTY, habits)
    }

    /// Returns a segment with the current ACK, window and options.
    fn acknowledging(
        &mut self,
        now: Timestamp,
        flags: Flags,
        position: u64,
        payload: Payload,
        habits: &Habits,
    ) -> Segment {
        let window = self.offer.window(self.room(), habits);
        self.offered = self.offer.edge - self.receive.next;
        self.acking.sent();
        self.update = None;
        self.reader.acknowledged(now, self.arrived());
        let timestamps = self.agreed.timestamps.then(|| (timestamp_clock(now), self.echo));
        // Three blocks fit beside timestamps, four do not (RFC 2018 section 3).
        let blocks = if timestamps.is_some() { 3 } else { 4 };
        let sack = if self.agreed.sack {
            self.receive.sack(blocks, habits.d_sack)
        } else {
            Default::default()
        };
        let options = Options { timestamps, sack, ..Options::default() };
        Segment { window, options, ..self.segment(flags, position, payload) }
    }

    /// Gives up, and returns a reset as the last segment.
    pub(super) fn reset(&mut self) -> Segment {
        self.state = ConnectionState::Closed;
        self.segment(Flags::RST.with(Flags::ACK), self.transmit.next, Payload::EMPTY)
    }

    fn segment(&self, flags: Flags, position: u64, payload: Payload) -> Segment {
        Segment {
            source: self.ports.own,
            destination: self.ports.peer,
            sequence: self.transmit.number(position),
            acknowledgment: self.receive.number(),
            flags,
            window: 0,
            options: Options::default(),
            payload,
        }
    }
}
