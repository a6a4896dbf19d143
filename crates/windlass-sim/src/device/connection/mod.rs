//! One connection of a device: RFC 9293 section 3.10, and the device's habits.

mod arrivals;
mod departures;

use std::collections::VecDeque;

use windlass_base::{Bytes, Span, Timestamp};

use crate::device::acking::AckScheduler;
use crate::device::habits::{ClosePolicy, Drain, Habits, Window};
use crate::device::look::{ConnectionSnapshot, ReaderActivity};
use crate::device::offer::{Offer, Room};
use crate::device::reader::Reader;
use crate::device::receive::ReassemblyBuffer;
use crate::device::service::{Program, Service};
use crate::device::transmit::TransmitState;
use crate::ipp::Printer;
use crate::lpr::LprTotals;
use crate::numbering::START;
use crate::random::Random;
use crate::segment::{DEFAULT_MSS, MAX_SHIFT, Payload, Segment};

/// Time that a device waits for its peer's FIN after its own: Linux's `tcp_fin_timeout`.
const FIN_WAIT: Span = Span::from_millis(60_000);

/// Time that a device still answers after both ends have closed. RFC 9293 asks for four minutes. A
/// device with eight connections cannot afford that, and small stacks do not.
const TIME_WAIT: Span = Span::from_millis(1_000);

/// The states of RFC 9293 section 3.3.2 that a connection passes through after
/// a SYN. A device that listens has no connection yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// The answer to the SYN leaves at this time; `None` once it is under way.
    SynReceived {
        answer: Option<Timestamp>,
    },
    Established,
    /// The peer has closed. `close` is the time at which this side will, once that is decided.
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

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DueAction {
    AnswerSyn,
    Read,
    Decide,
    Send,
    Ack,
    Update,
    TimeOut,
    Expire,
}

/// Options that both sides agreed on in their SYNs.
#[derive(Clone, Copy, Debug)]
struct NegotiatedOptions {
    window_scale: Option<u8>,
    peer_shift: u8,
    sack: bool,
    timestamps: bool,
}

/// The ports of a connection, as in its outgoing segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::device) struct Ports {
    pub(in crate::device) own: u16,
    pub(in crate::device) peer: u16,
}

#[derive(Clone, Debug)]
pub(in crate::device) struct Connection {
    pub(in crate::device) ports: Ports,
    state: ConnectionState,
    agreed: NegotiatedOptions,
    receive: ReassemblyBuffer,
    /// In-order data that the program has not read, if the program needs the bytes.
    unread: VecDeque<Payload>,
    offer: Offer,
    /// Window of the last ACK.
    offered: u64,
    acking: AckScheduler,
    reader: Reader,
    transmit: TransmitState,
    program: Program,
    /// Time at which a window update leaves.
    update: Option<Timestamp>,
    /// The timestamp to echo.
    echo: u32,
    heard: Timestamp,
    random: Random,
}

impl Connection {
    /// Opens the connection that a SYN requests.
    pub(in crate::device) fn new(
        now: Timestamp,
        syn: &Segment,
        service: Service,
        habits: &Habits,
        random: &mut Random,
    ) -> Self {
        let asked = syn.options;
        let scale = habits.window_scale.filter(|_| asked.window_scale.is_some());
        let agreed = NegotiatedOptions {
            window_scale: scale.map(|shift| shift.min(MAX_SHIFT)),
            peer_shift: scale.and(asked.window_scale).unwrap_or(0).min(MAX_SHIFT),
            sack: habits.sack && asked.sack_permitted,
            timestamps: habits.timestamps && asked.timestamps.is_some(),
        };
        let mss = asked.mss.unwrap_or(DEFAULT_MSS).min(habits.mss);
        let receive = ReassemblyBuffer::new(syn.sequence);
        let delay = habits.handshake_delay;
        let answer = now + random.around(delay.typical, delay.spread);
        let mut transmit = TransmitState::new(random.bits(), mss, habits);
        transmit.window(transmit.number(START + 1), u64::from(syn.window));
        Self {
            ports: Ports { own: syn.destination, peer: syn.source },
            state: ConnectionState::SynReceived { answer: Some(answer) },
            agreed,
            unread: VecDeque::new(),
            offer: Offer::new(receive.next, habits, agreed.window_scale.unwrap_or(0)),
            offered: habits.window.most().get(),
            acking: AckScheduler::new(random.fork()),
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

    /// Returns whether a new SYN may replace this connection.
    pub(in crate::device) const fn is_over(&self) -> bool {
        matches!(self.state, ConnectionState::Closed | ConnectionState::TimeWait { .. })
    }

    /// Returns the bytes that the program has read.
    pub(in crate::device) const fn read_bytes(&self) -> Bytes {
        Bytes::new(self.reader.position - START - 1)
    }

    pub(in crate::device) const fn received(&self) -> Option<LprTotals> {
        self.program.received()
    }

    pub(in crate::device) const fn is_raw(&self) -> bool {
        matches!(self.program, Program::Raw)
    }

    /// Returns a snapshot of the connection at this time.
    pub(in crate::device) fn look(&self, now: Timestamp) -> ConnectionSnapshot {
        let arrived = self.arrived();
        ConnectionSnapshot {
            port: self.ports.own,
            peer_port: self.ports.peer,
            received: Bytes::new(arrived - START - 1),
            unread: Bytes::new(self.unread_bytes()),
            window: Bytes::new(self.offer.edge.saturating_sub(self.receive.next)),
            reading: match self.reader.reading(now, arrived) {
                ReaderActivity::Waiting => ReaderActivity::Waiting,
                _ if self.transmit.is_clogged() => ReaderActivity::Clogged,
                reading => reading,
            },
        }
    }

    /// Ends the program: the connection is over.
    pub(in crate::device) fn cut(&mut self, printer: &mut Printer) {
        self.program.cut(printer);
    }

    /// Returns the position after the last byte in order.
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

    /// Returns the next action and its time. One list serves both `poll` and `next_time`, so that
    /// they always agree.
    fn due(&self, habits: &Habits) -> Option<(Timestamp, DueAction)> {
        let mut first: Option<(Timestamp, DueAction)> = None;
        let mut at = |time: Option<Timestamp>, due: DueAction| {
            if let Some(time) = time
                && first.is_none_or(|(other, _)| time < other)
            {
                first = Some((time, due));
            }
        };
        match self.state {
            ConnectionState::Closed => return None,
            ConnectionState::SynReceived { answer } => at(answer, DueAction::AnswerSyn),
            ConnectionState::CloseWait { close: None } if self.may_decide(habits) => {
                at(Some(self.heard), DueAction::Decide);
            }
            ConnectionState::CloseWait { close } => at(close, DueAction::Decide),
            ConnectionState::FinWait2 { until } | ConnectionState::TimeWait { until } => {
                at(Some(until), DueAction::Expire);
            }
            ConnectionState::Established
            | ConnectionState::LastAck
            | ConnectionState::FinWait1
            | ConnectionState::Closing => {}
        }
        if !matches!(self.state, ConnectionState::SynReceived { .. }) {
            if !self.transmit.is_clogged() {
                at(self.reader.due(self.arrived()), DueAction::Read);
            }
            at(self.transmit.due(), DueAction::Send);
            at(self.acking.due().filter(|_| !self.holds_ack(habits)), DueAction::Ack);
            at(self.update, DueAction::Update);
        }
        at(self.transmit.timer, DueAction::TimeOut);
        at(habits.idle.map(|idle| self.heard + idle), DueAction::Expire);
        first
    }

    /// Returns whether the connection can close now.
    fn may_decide(&self, habits: &Habits) -> bool {
        match habits.close {
            ClosePolicy::AtOnce => true,
            // The last ACK leaves before the reset, which carries none.
            ClosePolicy::Reset => {
                self.unread_bytes() == 0
                    && self.acking.due().is_none()
                    && self.transmit.due().is_none()
            }
            ClosePolicy::AfterDrain | ClosePolicy::KeepOpen(_) => self.unread_bytes() == 0,
        }
    }

    /// Returns whether the ACK waits for the reader: see [`Window::Fixed`].
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
                DueAction::AnswerSyn => return Some(self.answer_syn(now, habits)),
                DueAction::Read => self.read(now, habits, printer),
                DueAction::Decide => {
                    if let Some(reset) = self.decide(now, habits, printer) {
                        return Some(reset);
                    }
                }
                DueAction::Send => return Some(self.send(now, habits)),
                DueAction::Ack | DueAction::Update => return Some(self.ack(now, habits)),
                DueAction::TimeOut => {
                    if self.transmit.gives_up(now) {
                        return Some(self.reset());
                    }
                    if let ConnectionState::SynReceived { answer } = &mut self.state {
                        *answer = Some(now);
                    }
                }
                DueAction::Expire => match self.state {
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

    /// Passes the next `amount` bytes to the program.
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

    /// Closes this side: the peer has closed, and all data is read or need not be.
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
            (ClosePolicy::KeepOpen(span), ConnectionState::CloseWait { close: None }) => {
                self.state = ConnectionState::CloseWait { close: Some(now + span) };
            }
            (ClosePolicy::Reset, _) => return Some(self.reset()),
            _ => {
                self.close(now, habits);
                self.state = ConnectionState::LastAck;
            }
        }
        None
    }

    /// Requests the FIN. It does not overtake the ACK of the peer's FIN.
    fn close(&mut self, now: Timestamp, habits: &Habits) {
        let latency = habits.answer_latency;
        let ready = now + self.random.around(latency.typical, latency.spread);
        self.transmit.finish(self.acking.due().map_or(ready, |due| ready.max(due)));
    }
}
