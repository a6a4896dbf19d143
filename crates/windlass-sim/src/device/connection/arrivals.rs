//! Effects of an arriving segment: RFC 9293 section 3.10.7.

use windlass_base::Timestamp;
use windlass_wire::Flags;

use super::{Connection, ConnectionState, FIN_WAIT, TIME_WAIT};
use crate::device::habits::Habits;
use crate::device::receive::Arrival;
use crate::ipp::Printer;
use crate::numbering::START;
use crate::segment::{Payload, Segment};

impl Connection {
    /// Takes any segment. An unacceptable one gets an ACK and has no other effect.
    pub(in crate::device) fn handle(
        &mut self,
        now: Timestamp,
        segment: &Segment,
        habits: &Habits,
        printer: &mut Printer,
    ) -> Option<Segment> {
        self.heard = now;
        if let ConnectionState::SynReceived { answer } = &mut self.state
            && segment.flags.has(Flags::SYN)
            && self.receive.position(segment.sequence) == START
            && !segment.flags.has(Flags::ACK)
        {
            // A repeated SYN: the answer was lost, or is not sent yet.
            if answer.is_none() {
                *answer = Some(now);
            }
            return None;
        }
        let payload = segment.payload.len();
        let start = self.receive.position(segment.sequence);
        let next = self.receive.next;
        let acceptable = self.is_acceptable(start, u64::from(segment.length()));
        if segment.flags.has(Flags::RST) {
            // RFC 5961 section 3.2: only the exact number resets. Any other number in the window
            // gets a challenge ACK.
            if start == next {
                self.state = ConnectionState::Closed;
            } else if acceptable {
                self.acking.answer(now, payload, habits);
            }
            return None;
        }
        if segment.flags.has(Flags::SYN) {
            // RFC 5961 section 4.2: a SYN on an open connection gets a challenge ACK.
            self.acking.answer(now, payload, habits);
            return None;
        }
        if !segment.flags.has(Flags::ACK) {
            return None;
        }
        // An ACK that rides on data beyond a closed window still counts
        // (RFC 9293 section 3.10.7.4).
        if (acceptable || start == next)
            && let Some(reset) = self.acknowledge(now, segment, habits, printer)
        {
            return Some(reset);
        }
        if !acceptable {
            self.receive.again(start, payload);
            self.acking.answer(now, payload, habits);
            return None;
        }
        if let Some((value, _)) = segment.options.timestamps
            && self.agreed.timestamps
            && start <= next
        {
            self.echo = value;
        }
        if payload > 0 && self.takes_data() {
            self.data(now, start, &segment.payload, habits);
        }
        if segment.flags.has(Flags::FIN) && self.takes_data() {
            self.receive.fin(start + u64::from(payload));
        }
        if self.receive.is_finished() && self.takes_data() {
            self.peer_closed(now, payload, habits);
        }
        None
    }

    /// Returns whether a segment is acceptable: the four cases of RFC 9293 section 3.10.7.4, table
    /// 6.
    fn is_acceptable(&self, start: u64, length: u64) -> bool {
        let next = self.receive.next;
        let edge = self.offer.edge;
        let inside = |position: u64| next <= position && position < edge;
        match (length, edge.saturating_sub(next)) {
            (0, 0) => start == next,
            (0, _) => inside(start),
            (_, 0) => false,
            (_, _) => inside(start) || inside(start + length - 1),
        }
    }

    /// Returns whether the peer's side is open.
    const fn takes_data(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::Established
                | ConnectionState::FinWait1
                | ConnectionState::FinWait2 { .. }
        )
    }

    /// Takes the acknowledgment. Returns a reset if it does not fit the handshake.
    fn acknowledge(
        &mut self,
        now: Timestamp,
        segment: &Segment,
        habits: &Habits,
        printer: &mut Printer,
    ) -> Option<Segment> {
        if self.transmit.acknowledge(segment.acknowledgment, now).is_err() {
            if matches!(self.state, ConnectionState::SynReceived { .. }) {
                return segment.refused();
            }
            self.acking.answer(now, segment.payload.len(), habits);
            return None;
        }
        let window = u64::from(segment.window) << self.agreed.peer_shift;
        self.transmit.window(segment.acknowledgment, window);
        self.transmit.watch_window(now);
        if self.transmit.is_syn_acknowledged()
            && let ConnectionState::SynReceived { .. } = self.state
        {
            self.state = ConnectionState::Established;
        }
        if self.transmit.is_fin_acknowledged() {
            self.state = match self.state {
                ConnectionState::FinWait1 => ConnectionState::FinWait2 { until: now + FIN_WAIT },
                ConnectionState::Closing => ConnectionState::TimeWait { until: now + TIME_WAIT },
                ConnectionState::LastAck => {
                    let left = self.reader.finish(self.arrived());
                    let mut nobody_reads = Vec::new();
                    self.hand_over(left, printer, &mut nobody_reads);
                    self.program.end(printer, &mut nobody_reads);
                    ConnectionState::Closed
                }
                other => other,
            };
        }
        None
    }

    fn data(&mut self, now: Timestamp, start: u64, payload: &Payload, habits: &Habits) {
        let had_gap = self.receive.has_gap();
        let wants_bytes = self.program.wants_bytes();
        let unread = &mut self.unread;
        let zeros;
        let kept = if wants_bytes {
            payload
        } else {
            zeros = payload.as_zeros();
            &zeros
        };
        let arrival =
            self.receive.data(start, kept, self.offer.edge, habits.keeps_out_of_order, |piece| {
                match (unread.back_mut(), piece) {
                    _ if !wants_bytes => {}
                    (Some(Payload::Zeros(before)), Payload::Zeros(more))
                        if before.checked_add(more).is_some() =>
                    {
                        *before += more;
                    }
                    (_, piece) => unread.push_back(piece),
                }
            });
        let length = payload.len();
        match arrival {
            Arrival::InOrder(_) if had_gap => self.acking.answer(now, length, habits),
            Arrival::InOrder(bytes) => {
                self.acking.data(now, length, bytes, self.offered, habits);
            }
            Arrival::Ahead | Arrival::Nothing => self.acking.duplicate(now, length, habits),
        }
    }

    fn peer_closed(&mut self, now: Timestamp, payload: u32, habits: &Habits) {
        self.acking.answer(now, payload, habits);
        self.state = match self.state {
            ConnectionState::FinWait1 => ConnectionState::Closing,
            ConnectionState::FinWait2 { .. } => {
                ConnectionState::TimeWait { until: now + TIME_WAIT }
            }
            _ => ConnectionState::CloseWait { close: None },
        };
    }
}
