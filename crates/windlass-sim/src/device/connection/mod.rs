//! One connection of a device: RFC 9293 section 3.10, and the device's habits.

mod arrivals;
mod departures;

use std::collections::VecDeque;

use windlass_base::{Bytes, Span, Timestamp};

use crate::device::acking::Acking;
use crate::device::habits::{Close, Drain, Habits, Window};
use crate::device::look::{ConnectionLook, Reading};
use crate::device::offer::{Offer, Room};
use crate::device::reader::Reader;
use crate::device::receive::Receive;
use crate::device::service::{Program, Service};
use crate::device::transmit::Transmit;
use crate::ipp::Printer;
use crate::lpr::Received;
use crate::numbering::START;
use crate::random::Random;
use crate::segment::{DEFAULT_MSS, MAX_SHIFT, Payload, Segment};

/// How long a device waits for its peer's FIN after its own: Linux's
/// `tcp_fin_timeout`.
const FIN_WAIT: Span = Span::from_millis(60_000);

/// How long a device answers after both have closed. RFC 9293 asks for four
/// minutes; a device that holds eight connections cannot afford that, and small
/// stacks do not.
const TIME_WAIT: Span = Span::from_millis(1_000);

/// The states of RFC 9293 section 3.3.2 that a connection passes through after
/// a SYN. A device that listens has no connection yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// The answer to the SYN leaves at its time, or is under way.
    SynReceived {
        answer: Option<Timestamp>,
    },
    Established,
    /// The peer has closed. `close` is when this side will, once that is known.
    CloseWait {
        close: Option<Timestamp>,
    },
    LastAck,
    FinWait1,
    FinWait2 {
        until: Timestamp,
    },
    Closing,
    TimeWait {
        until: Timestamp,
    },
    Closed,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    AnswerSyn,
    Read,
    Decide,
    Send,
    Ack,
    Update,
    TimeOut,
    Expire,
}

/// What both sides agreed on in their SYNs.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    window_scale: Option<u8>,
    peer_shift: u8,
    sack: bool,
    timestamps: bool,
}

/// The ports of a connection, as its segments have them on the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::device) struct Ports {
    pub(in crate::device) own: u16,
    pub(in crate::device) peer: u16,
}

#[derive(Clone, Debug)]
pub(in crate::device) struct Connection {
    pub(in crate::device) ports: Ports,
    state: ConnectionState,
    agreed: Agreed,
    receive: Receive,
    /// In-order data that nobody has read, where its bytes matter.
    unread: VecDeque<Payload>,
    offer: Offer,
    /// What the last ACK allowed beyond itself.
    offered: u64,
    acking: Acking,
    reader: Reader,
    transmit: Transmit,
    program: Program,
    /// A window update leaves at this time.
    update: Option<Timestamp>,
    /// The timestamp to echo.
    echo: u32,
    heard: Timestamp,
    random: Random,
}

impl Connection {
    /// The connection that a SYN asks for.
    pub(in crate::device) fn new(
        now: Timestamp,
        syn: &Segment,
        service: Service,
        habits: &Habits,
        random: &mut Random,
    ) -> Self {
        let asked = syn.options;
        let scale = habits.window_scale.filter(|_| asked.window_scale.is_some());
        let agreed = Agreed {
            window_scale: scale.map(|shift| shift.min(MAX_SHIFT)),
            peer_shift: scale.and(asked.window_scale).unwrap_or(0).min(MAX_SHIFT),
            sack: habits.sack && asked.sack_permitted,
            timestamps: habits.timestamps && asked.timestamps.is_some(),
        };
        let mss = asked.mss.unwrap_or(DEFAULT_MSS).min(habits.mss);
        let receive = Receive::new(syn.sequence);
        let delay = habits.handshake_delay;
        let answer = now + random.around(delay.typical, delay.spread);
        let mut transmit = Transmit::new(random.bits(), mss, habits);
        transmit.window(transmit.number(START + 1), u64::from(syn.window));
        Self {
            ports: Ports { own: syn.destination, peer: syn.source },
            state: ConnectionState::SynReceived { answer: Some(answer) },
            agreed,
            unread: VecDeque::new(),
            offer: Offer::new(receive.next, habits, agreed.window_scale.unwrap_or(0)),
            offered: habits.window.most().get(),
            acking: Acking::new(random.fork()),
            reader: Reader::new(habits.drain, habits.stalls, now, receive.next, random.fork()),
            receive,
            transmit,
            program: Program::new(service),
            update: None,
            echo: asked.timestamps.map_or(0, |(value, _)| value),
            heard: now,
            random: random.fork(),
        }
    }

    pub(in crate::device) const fn is_closed(&self) -> bool {
        matches!(self.state, ConnectionState::Closed)
    }

    /// Whether a new SYN may take its place.
    pub(in crate::device) const fn is_over(&self) -> bool {
        matches!(self.state, ConnectionState::Closed | ConnectionState::TimeWait { .. })
    }

    /// Bytes that the program has read.
    pub(in crate::device) const fn read_bytes(&self) -> Bytes {
        Bytes::new(self.reader.position - START - 1)
    }

    pub(in crate::device) const fn received(&self) -> Option<Received> {
        self.program.received()
    }

    pub(in crate::device) const fn is_raw(&self) -> bool {
        matches!(self.program, Program::Raw)
    }

    /// How it is at this time.
    pub(in crate::device) fn look(&self, now: Timestamp) -> ConnectionLook {
        let arrived = self.arrived();
        ConnectionLook {
            port: self.ports.own,
            peer_port: self.ports.peer,
            received: Bytes::new(arrived - START - 1),
            unread: Bytes::new(self.unread_bytes()),
            window: Bytes::new(self.offer.edge.saturating_sub(self.receive.next)),
            reading: match self.reader.reading(now, arrived) {
                Reading::Waiting => Reading::Waiting,
                _ if self.transmit.is_clogged() => Reading::Clogged,
                reading => reading,
            },
        }
    }

    /// It is over, however it ended.
    pub(in crate::device) fn cut(&mut self, printer: &mut Printer) {
        self.program.cut(printer);
    }

    /// The position after the last byte in order.
    fn arrived(&self) -> u64 {
        self.receive.next - u64::from(self.receive.is_finished())
    }

    fn unread_bytes(&self) -> u64 {
        self.arrived() - self.reader.position
    }

    fn room(&self) -> Room {
        Room {
            next: self.receive.next,
            unread: self.unread_bytes(),
            stalled: self.reader.is_stalled(),
        }
    }

    /// What is to be done next, and when. One list serves both `poll` and
    /// `next_time`, so that neither waits for what the other does not see.
    fn due(&self, habits: &Habits) -> Option<(Timestamp, Due)> {
        let mut first: Option<(Timestamp, Due)> = None;
        let mut at = |time: Option<Timestamp>, due: Due| {
            if let Some(time) = time
                && first.is_none_or(|(other, _)| time < other)
            {
                first = Some((time, due));
            }
        };
        match self.state {
            ConnectionState::Closed => return None,
            ConnectionState::SynReceived { answer } => at(answer, Due::AnswerSyn),
            ConnectionState::CloseWait { close: None } if self.may_decide(habits) => {
                at(Some(self.heard), Due::Decide);
            }
            ConnectionState::CloseWait { close } => at(close, Due::Decide),
            ConnectionState::FinWait2 { until } | ConnectionState::TimeWait { until } => {
                at(Some(until), Due::Expire);
            }
            ConnectionState::Established
            | ConnectionState::LastAck
            | ConnectionState::FinWait1
            | ConnectionState::Closing => {}
        }
        if !matches!(self.state, ConnectionState::SynReceived { .. }) {
            if !self.transmit.is_clogged() {
                at(self.reader.due(self.arrived()), Due::Read);
            }
            at(self.transmit.due(), Due::Send);
            at(self.acking.due().filter(|_| !self.holds_ack(habits)), Due::Ack);
            at(self.update, Due::Update);
        }
        at(self.transmit.timer, Due::TimeOut);
        at(habits.idle.map(|idle| self.heard + idle), Due::Expire);
        first
    }

    /// Whether it can be decided how to close.
    fn may_decide(&self, habits: &Habits) -> bool {
        match habits.close {
            Close::AtOnce => true,
            // The last ACK leaves before the reset, which carries none.
            Close::Reset => {
                self.unread_bytes() == 0
                    && self.acking.due().is_none()
                    && self.transmit.due().is_none()
            }
            Close::AfterDrain | Close::KeepOpen(_) => self.unread_bytes() == 0,
        }
    }

    /// Whether the ACK waits for the reader: see [`Window::Fixed`].
    fn holds_ack(&self, habits: &Habits) -> bool {
        matches!((habits.window, habits.drain), (Window::Fixed(_), Drain::Rate { .. }))
            && self.unread_bytes() > 0
            && !self.reader.is_stalled()
            && !self.transmit.is_clogged()
    }

    pub(in crate::device) fn next_time(&self, habits: &Habits) -> Option<Timestamp> {
        self.due(habits).map(|(time, _)| time)
    }

    pub(in crate::device) fn poll(
        &mut self,
        now: Timestamp,
        habits: &Habits,
        printer: &mut Printer,
    ) -> Option<Segment> {
        while let Some((time, due)) = self.due(habits)
            && time <= now
        {
            match due {
                Due::AnswerSyn => return Some(self.answer_syn(now, habits)),
                Due::Read => self.read(now, habits, printer),
                Due::Decide => {
                    if let Some(reset) = self.decide(now, habits, printer) {
                        return Some(reset);
                    }
                }
                Due::Send => return Some(self.send(now, habits)),
                Due::Ack | Due::Update => return Some(self.ack(now, habits)),
                Due::TimeOut => {
                    if self.transmit.gives_up(now) {
                        return Some(self.reset());
                    }
                    if let ConnectionState::SynReceived { answer } = &mut self.state {
                        *answer = Some(now);
                    }
                }
                Due::Expire => match self.state {
                    ConnectionState::TimeWait { .. } => self.state = ConnectionState::Closed,
                    _ => return Some(self.reset()),
                },
            }
        }
        None
    }

    fn read(&mut self, now: Timestamp, habits: &Habits, printer: &mut Printer) {
        let amount = self.reader.read(now, self.arrived());
        let mut answers = Vec::new();
        self.hand_over(amount, printer, &mut answers);
        self.answer(now, &answers, habits);
        if self.program.wants_to_close() && self.state == ConnectionState::Established {
            self.close(now, habits);
            self.state = ConnectionState::FinWait1;
        }
        let open = matches!(
            self.state,
            ConnectionState::Established
                | ConnectionState::FinWait1
                | ConnectionState::FinWait2 { .. }
        );
        if open
            && !self.acking.answers()
            && self.offer.deserves_update(self.room(), habits, self.acking.due().is_some())
        {
            self.update = Some(now);
        }
    }

    /// Hands the program the next `amount` bytes.
    fn hand_over(&mut self, mut amount: u64, printer: &mut Printer, answers: &mut Vec<u8>) {
        if !self.program.wants_bytes() {
            let payload = Payload::Zeros(u32::try_from(amount).unwrap_or(u32::MAX));
            return self.program.read(&payload, printer, answers);
        }
        while amount > 0
            && let Some(payload) = self.unread.pop_front()
        {
            let length = u64::from(payload.len());
            if length > amount {
                let cut = u32::try_from(amount).unwrap_or(u32::MAX);
                self.unread.push_front(payload.slice(cut, u32::MAX));
                self.program.read(&payload.slice(0, cut), printer, answers);
                return;
            }
            amount -= length;
            self.program.read(&payload, printer, answers);
        }
    }

    fn answer(&mut self, now: Timestamp, answers: &[u8], habits: &Habits) {
        if !answers.is_empty() {
            let latency = habits.answer_latency;
            let ready = now + self.random.around(latency.typical, latency.spread);
            self.transmit.answer(answers, ready);
            self.transmit.watch_window(now);
        }
    }

    /// The peer has closed, and all is read or need not be.
    fn decide(
        &mut self,
        now: Timestamp,
        habits: &Habits,
        printer: &mut Printer,
    ) -> Option<Segment> {
        if self.unread_bytes() == 0 {
            let mut answers = Vec::new();
            self.program.end(printer, &mut answers);
            self.answer(now, &answers, habits);
        }
        match (habits.close, self.state) {
            (Close::KeepOpen(span), ConnectionState::CloseWait { close: None }) => {
                self.state = ConnectionState::CloseWait { close: Some(now + span) };
            }
            (Close::Reset, _) => return Some(self.reset()),
            _ => {
                self.close(now, habits);
                self.state = ConnectionState::LastAck;
            }
        }
        None
    }

    /// Asks for the FIN. It does not overtake the ACK of the peer's.
    fn close(&mut self, now: Timestamp, habits: &Habits) {
        let latency = habits.answer_latency;
        let ready = now + self.random.around(latency.typical, latency.spread);
        self.transmit.finish(self.acking.due().map_or(ready, |due| ready.max(due)));
    }
}
