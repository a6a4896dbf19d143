//! One connection of a device: RFC 9293 section 3.10, and the device's habits.

use std::collections::VecDeque;

use windlass_base::{Bytes, Span, Timestamp};
use windlass_wire::{Flags, Options};

use super::acking::Acking;
use super::habits::{Close, Drain, Habits, Window};
use super::offer::{Offer, Room};
use super::reader::Reader;
use super::receive::{Arrival, Receive};
use super::service::{Program, Service};
use super::transmit::{Timeout, Transmit};
use crate::lpr::Received;
use crate::numbering::START;
use crate::random::Random;
use crate::segment::{Payload, Segment, timestamp_clock};

/// How long a device waits for its peer's FIN after its own: Linux's
/// `tcp_fin_timeout`.
const FIN_WAIT: Span = Span::from_millis(60_000);

/// How long a device answers after both have closed. RFC 9293 asks for four
/// minutes; a device that holds eight connections cannot afford that, and small
/// stacks do not.
const TIME_WAIT: Span = Span::from_millis(1_000);

/// The MSS of a peer that announces none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// The largest window shift (RFC 7323 section 2.3).
const MOST_SHIFT: u8 = 14;

/// The states of RFC 9293 section 3.3.2 that a connection passes through after
/// a SYN. A device that listens has no connection yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
pub(super) struct Ports {
    pub(super) own: u16,
    pub(super) peer: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Connection {
    ports: Ports,
    state: State,
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
    zero_windows: u64,
}

impl Connection {
    /// The connection that a SYN asks for.
    pub(super) fn new(
        now: Timestamp,
        syn: &Segment,
        service: Service,
        habits: &Habits,
        random: &mut Random,
    ) -> Self {
        let asked = syn.options;
        let scale = habits.window_scale.filter(|_| asked.window_scale.is_some());
        let agreed = Agreed {
            window_scale: scale.map(|shift| shift.min(MOST_SHIFT)),
            peer_shift: scale.and(asked.window_scale).unwrap_or(0).min(MOST_SHIFT),
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
            state: State::SynReceived { answer: Some(answer) },
            agreed,
            unread: VecDeque::new(),
            offer: Offer::new(receive.next(), habits, agreed.window_scale.unwrap_or(0)),
            offered: habits.window.most().get(),
            acking: Acking::new(random.fork()),
            reader: Reader::new(habits.drain, habits.stalls, now, receive.next(), random.fork()),
            receive,
            transmit,
            program: Program::new(service),
            update: None,
            echo: asked.timestamps.map_or(0, |(value, _)| value),
            heard: now,
            zero_windows: 0,
        }
    }

    pub(super) const fn ports(&self) -> Ports {
        self.ports
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Whether a new SYN may take its place.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait { .. })
    }

    /// Bytes that the program has read.
    pub(super) const fn read_bytes(&self) -> Bytes {
        Bytes::new(self.reader.position() - START - 1)
    }

    pub(super) const fn received(&self) -> Option<Received> {
        self.program.received()
    }

    pub(super) const fn zero_windows(&self) -> u64 {
        self.zero_windows
    }

    /// The position after the last byte in order.
    fn arrived(&self) -> u64 {
        self.receive.next() - u64::from(self.receive.is_finished())
    }

    fn unread_bytes(&self) -> u64 {
        self.arrived() - self.reader.position()
    }

    fn room(&self) -> Room {
        Room {
            next: self.receive.next(),
            unread: self.unread_bytes(),
            stalled: self.reader.is_stalled(),
        }
    }

    /// Takes a segment. It may be anything: what is not acceptable gets an ACK
    /// and changes nothing.
    pub(super) fn handle(
        &mut self,
        now: Timestamp,
        segment: &Segment,
        habits: &Habits,
    ) -> Option<Segment> {
        self.heard = now;
        if let State::SynReceived { answer } = &mut self.state
            && segment.flags.has(Flags::SYN)
            && self.receive.position(segment.sequence) == START
            && !segment.flags.has(Flags::ACK)
        {
            // The SYN again: the answer was lost, or is not out yet.
            if answer.is_none() {
                *answer = Some(now);
            }
            return None;
        }
        let payload = segment.payload.len();
        let start = self.receive.position(segment.sequence);
        let next = self.receive.next();
        let acceptable = self.is_acceptable(start, u64::from(segment.length()));
        if segment.flags.has(Flags::RST) {
            // RFC 5961 section 3.2: only the exact number resets, any other in
            // the window is challenged.
            if start == next {
                self.state = State::Closed;
            } else if acceptable {
                self.acking.answer(now, payload, habits);
            }
            return None;
        }
        if segment.flags.has(Flags::SYN) {
            // RFC 5961 section 4.2: a SYN in the middle is challenged.
            self.acking.answer(now, payload, habits);
            return None;
        }
        if !segment.flags.has(Flags::ACK) {
            return None;
        }
        // An ACK that rides on data beyond a closed window still counts
        // (RFC 9293 section 3.10.7.4).
        if (acceptable || start == next)
            && let Some(reset) = self.acknowledge(now, segment)
        {
            return Some(reset);
        }
        if !acceptable {
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

    /// The four cases of RFC 9293 section 3.10.7.4, table 6.
    fn is_acceptable(&self, start: u64, length: u64) -> bool {
        let next = self.receive.next();
        let edge = self.offer.edge();
        let inside = |position: u64| next <= position && position < edge;
        match (length, edge.saturating_sub(next)) {
            (0, 0) => start == next,
            (0, _) => inside(start),
            (_, 0) => false,
            (_, _) => inside(start) || inside(start + length - 1),
        }
    }

    /// Whether the peer's side is open.
    const fn takes_data(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2 { .. })
    }

    /// Takes the acknowledgment; gives a reset where the handshake's is wrong.
    fn acknowledge(&mut self, now: Timestamp, segment: &Segment) -> Option<Segment> {
        if self.transmit.acknowledge(segment.acknowledgment, now).is_err() {
            if matches!(self.state, State::SynReceived { .. }) {
                return segment.refused();
            }
            self.acking.answer(now, 0, &Habits::HEALTHY);
            return None;
        }
        let window = u64::from(segment.window) << self.agreed.peer_shift;
        self.transmit.window(segment.acknowledgment, window);
        self.transmit.watch_window(now);
        if self.transmit.is_syn_acknowledged()
            && let State::SynReceived { .. } = self.state
        {
            self.state = State::Established;
        }
        if self.transmit.is_fin_acknowledged() {
            self.state = match self.state {
                State::FinWait1 => State::FinWait2 { until: now + FIN_WAIT },
                State::Closing => State::TimeWait { until: now + TIME_WAIT },
                State::LastAck => {
                    let left = self.reader.finish(self.arrived());
                    self.hand_over(left, &mut Vec::new());
                    State::Closed
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
            self.receive.data(start, kept, self.offer.edge(), habits.keeps_out_of_order, |piece| {
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
            State::FinWait1 => State::Closing,
            State::FinWait2 { .. } => State::TimeWait { until: now + TIME_WAIT },
            _ => State::CloseWait { close: None },
        };
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
            State::Closed => return None,
            State::SynReceived { answer } => at(answer, Due::AnswerSyn),
            State::CloseWait { close: None }
                if self.unread_bytes() == 0 || habits.close == Close::AtOnce =>
            {
                at(Some(self.heard), Due::Decide);
            }
            State::CloseWait { close } => at(close, Due::Decide),
            State::FinWait2 { until } | State::TimeWait { until } => at(Some(until), Due::Expire),
            State::Established | State::LastAck | State::FinWait1 | State::Closing => {}
        }
        if !matches!(self.state, State::SynReceived { .. }) {
            if !self.transmit.is_clogged() {
                at(self.reader.due(self.arrived()), Due::Read);
            }
            at(self.transmit.due(), Due::Send);
            at(self.acking.due().filter(|_| !self.holds_ack(habits)), Due::Ack);
            at(self.update, Due::Update);
        }
        at(self.transmit.timer(), Due::TimeOut);
        at(habits.idle.map(|idle| self.heard + idle), Due::Expire);
        first
    }

    /// Whether the ACK waits for the reader: see [`Window::Fixed`].
    fn holds_ack(&self, habits: &Habits) -> bool {
        matches!((habits.window, habits.drain), (Window::Fixed(_), Drain::Rate { .. }))
            && self.unread_bytes() > 0
            && !self.reader.is_stalled()
            && !self.transmit.is_clogged()
    }

    pub(super) fn next_time(&self, habits: &Habits) -> Option<Timestamp> {
        self.due(habits).map(|(time, _)| time)
    }

    pub(super) fn poll(&mut self, now: Timestamp, habits: &Habits) -> Option<Segment> {
        while let Some((time, due)) = self.due(habits)
            && time <= now
        {
            match due {
                Due::AnswerSyn => return Some(self.answer_syn(now, habits)),
                Due::Read => self.read(now, habits),
                Due::Decide => {
                    if let Some(reset) = self.decide(now, habits) {
                        return Some(reset);
                    }
                }
                Due::Send => return Some(self.send(now, habits)),
                Due::Ack | Due::Update => return Some(self.ack(now, habits)),
                Due::TimeOut => {
                    if self.transmit.time_out(now) == Timeout::GiveUp {
                        return Some(self.reset());
                    }
                    if let State::SynReceived { answer } = &mut self.state {
                        *answer = Some(now);
                    }
                }
                Due::Expire => match self.state {
                    State::TimeWait { .. } => self.state = State::Closed,
                    _ => return Some(self.reset()),
                },
            }
        }
        None
    }

    fn answer_syn(&mut self, now: Timestamp, habits: &Habits) -> Segment {
        self.state = State::SynReceived { answer: None };
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

    fn read(&mut self, now: Timestamp, habits: &Habits) {
        let amount = self.reader.read(now, self.arrived());
        let mut answers = Vec::new();
        self.hand_over(amount, &mut answers);
        self.answer(now, &answers, habits);
        if self.program.wants_to_close() && self.state == State::Established {
            self.close(now, habits);
            self.state = State::FinWait1;
        }
        let open =
            matches!(self.state, State::Established | State::FinWait1 | State::FinWait2 { .. });
        if open
            && !self.acking.answers()
            && self.offer.deserves_update(self.room(), habits, self.acking.due().is_some())
        {
            self.update = Some(now);
        }
    }

    /// Hands the program the next `amount` bytes.
    fn hand_over(&mut self, mut amount: u64, answers: &mut Vec<u8>) {
        if !self.program.wants_bytes() {
            let payload = Payload::Zeros(u32::try_from(amount).unwrap_or(u32::MAX));
            return self.program.read(&payload, answers);
        }
        while amount > 0
            && let Some(payload) = self.unread.pop_front()
        {
            let length = u64::from(payload.len());
            if length > amount {
                let cut = u32::try_from(amount).unwrap_or(u32::MAX);
                self.unread.push_front(payload.slice(cut, u32::MAX));
                self.program.read(&payload.slice(0, cut), answers);
                return;
            }
            amount -= length;
            self.program.read(&payload, answers);
        }
    }

    fn answer(&mut self, now: Timestamp, answers: &[u8], habits: &Habits) {
        if !answers.is_empty() {
            self.transmit.answer(answers, now + habits.answer_latency.typical);
            self.transmit.watch_window(now);
        }
    }

    /// The peer has closed, and all is read or need not be.
    fn decide(&mut self, now: Timestamp, habits: &Habits) -> Option<Segment> {
        let mut answers = Vec::new();
        if self.unread_bytes() == 0 {
            self.program.end(&mut answers);
            self.answer(now, &answers, habits);
        }
        match (habits.close, self.state) {
            (Close::KeepOpen(span), State::CloseWait { close: None }) => {
                self.state = State::CloseWait { close: Some(now + span) };
            }
            (Close::Reset, _) => return Some(self.reset()),
            _ => {
                self.close(now, habits);
                self.state = State::LastAck;
            }
        }
        None
    }

    /// Asks for the FIN. It does not overtake the ACK of the peer's.
    fn close(&mut self, now: Timestamp, habits: &Habits) {
        let ready = now + habits.answer_latency.typical;
        self.transmit.finish(self.acking.due().map_or(ready, |due| ready.max(due)));
    }

    fn send(&mut self, now: Timestamp, habits: &Habits) -> Segment {
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

    fn ack(&mut self, now: Timestamp, habits: &Habits) -> Segment {
        let flags = if habits.pushes_acks { Flags::ACK.with(Flags::PSH) } else { Flags::ACK };
        self.acknowledging(now, flags, self.transmit.next(), Payload::EMPTY, habits)
    }

    /// A segment with the ACK, the window and the options of the moment.
    fn acknowledging(
        &mut self,
        now: Timestamp,
        flags: Flags,
        position: u64,
        payload: Payload,
        habits: &Habits,
    ) -> Segment {
        let window = self.offer.window(self.room(), habits);
        self.zero_windows += u64::from(window == 0);
        self.offered = self.offer.edge() - self.receive.next();
        self.acking.sent();
        self.update = None;
        self.reader.acknowledged(now, self.arrived());
        let timestamps = self.agreed.timestamps.then(|| (timestamp_clock(now), self.echo));
        // Three blocks fit beside timestamps, four do not (RFC 2018 section 3).
        let blocks = if timestamps.is_some() { 3 } else { 4 };
        let sack = if self.agreed.sack { self.receive.sack(blocks) } else { Default::default() };
        let options = Options { timestamps, sack, ..Options::default() };
        Segment { window, options, ..self.segment(flags, position, payload) }
    }

    /// Gives up: what is sent last is a reset.
    fn reset(&mut self) -> Segment {
        self.state = State::Closed;
        self.segment(Flags::RST.with(Flags::ACK), self.transmit.next(), Payload::EMPTY)
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
