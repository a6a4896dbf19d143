//! Connections: two directions, and the state that they share.

use windlass_base::thresholds::BEFORE_TIMERS;
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;
use windlass_wire::{Endpoint, Flags, Host, PacketTooBig, Segment};

use crate::estimate::arrivals::HEADERS;
use crate::estimate::damaged_segments::DamageDetector;
use crate::estimate::ecn::AceCounter;
use crate::estimate::identification::Identifications;
use crate::estimate::path::Path;
use crate::estimate::queueing_delay::{PacketDelay, QueueingDelay};
use crate::estimate::segment_size::{SegmentSize, TIMESTAMPS};
use crate::follow::ack::Ack;
use crate::follow::flow::{Data, Flow, Scale};
use crate::follow::handshake::Handshake;
use crate::follow::ledger;
use crate::follow::sequence::SequenceUnwrapper;
pub(crate) use crate::follow::setting::{Setting, SnapshotState};
use crate::note::{Note, Notes};
use crate::packed::{Packed, Packer, Unpacker};
use crate::quality::anomalies::CaptureAnomalies;
use crate::quality::clock_jumps::ClockJumps;
use crate::quality::direction_clocks::DirectionClockSkew;

/// State of a direction before it carries data.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct Side {
    unwrap: SequenceUnwrapper,
    pub(crate) flow: Option<Box<Flow>>,
    /// The last ACK of this side's data, and the window with it.
    heard: Option<LastAck>,
    /// Number of zero windows before any of this side's data.
    zero_windows: u64,
    pub(crate) packets: u64,
    /// True if a packet had an option of Multipath TCP.
    multipath: bool,
    /// The hop limit of its last packet; zero where the capture tells none.
    pub(crate) hop_limit: u8,
    /// Offset behind its FIN.
    fin: Option<u64>,
    /// The packets that carried its first FIN and its first RST.
    pub(crate) fin_packet: Option<u64>,
    pub(crate) reset_packet: Option<u64>,
    /// The time when its last packet came.
    pub(crate) last: Option<Timestamp>,
    fin_acked: bool,
    /// Counter of the marks that its ACKs report.
    ace: AceCounter,
    /// The last ACK that this side sent itself.
    last_ack: Option<u64>,
    pub(crate) captured_twice: u64,
    /// True if its last segment carried data.
    sent_data_last: bool,
    identifications: Identifications,
    /// The clock of its timestamps.
    clock: QueueingDelay,
    /// Its damaged data.
    pub(crate) damage: DamageDetector,
}

#[derive(Clone, Copy, Debug, Packed)]
struct LastAck {
    ack: u64,
    window: u16,
    scaled: bool,
    time: Timestamp,
    number: u64,
}

/// A connection under observation.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) number: u64,
    /// The ends; the first packet went from 0 to 1.
    pub(crate) ends: [Endpoint; 2],
    setting: Setting,
    pub(crate) sides: [Side; 2],
    pub(crate) handshake: Handshake,
    /// The time when its first packet came.
    pub(crate) began: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) reset: bool,
    /// True if another connection took its ports.
    pub(crate) replaced: bool,
    /// True if a packet came since the last look.
    pub(crate) busy: bool,
    /// True if data came again, or late, since the last look.
    pub(crate) has_repaired: bool,
    /// Maximum number of intervals of its transfer.
    intervals: usize,
    /// State at the last snapshot.
    pub(crate) seen: SnapshotState,
    /// Total backward step of the capture's clock, and number of these steps. The connection's time
    /// is ahead of the capture's by the total.
    pub(crate) stepped: Span,
    pub(crate) set_backs: u64,
    /// Largest time by which a packet stood before its predecessor, set clocks aside.
    pub(crate) disorder: Span,
    /// Largest time by which an answer stood before the packet that it answers.
    pub(crate) answered_before: Span,
    pub(crate) oddities: CaptureAnomalies,
    pub(crate) leaps: ClockJumps,
    /// Step of the clock by the whole capture, once it is known.
    pub(crate) clock_step: Span,
    precedence: DirectionClockSkew,
}

/// Maximum payload of a packet, also if the card splits it: Linux hands over eight times 65,535
/// bytes at most (`GSO_MAX_SIZE`). A larger one is invented, or a torn line of text.
const LARGEST_SEGMENT: u32 = 8 * 65_535;

/// Minimum number of intervals: a ledger with fewer could not be thinned.
const MIN_INTERVALS: usize = 2;

/// Maximum total step of the clock that is followed, a year: a file of random times then overflows
/// nothing.
const MAX_STEPPED: Span = Span::from_millis(366 * 86_400_000);

impl Connection {
    /// Returns a connection whose first packet went from `ends[0]` at `first`, in a capture of this
    /// setting.
    pub(crate) fn new(
        number: u64,
        ends: [Endpoint; 2],
        first: Timestamp,
        setting: Setting,
    ) -> Self {
        Self {
            number,
            ends,
            setting,
            sides: [Side::default(), Side::default()],
            handshake: Handshake::default(),
            began: first,
            last: first,
            reset: false,
            replaced: false,
            busy: false,
            has_repaired: false,
            intervals: ledger::MAX,
            seen: SnapshotState::default(),
            stepped: Span::ZERO,
            set_backs: 0,
            disorder: Span::ZERO,
            answered_before: Span::ZERO,
            oddities: CaptureAnomalies::default(),
            leaps: ClockJumps::default(),
            clock_step: Span::ZERO,
            precedence: DirectionClockSkew::default(),
        }
    }

    /// Returns whether each side has nothing more to send, after a FIN or a reset.
    pub(crate) fn fins(&self) -> [bool; 2] {
        [0, 1].map(|side: usize| self.reset || self.sides[side].fin.is_some())
    }

    /// Sets the maximum number of intervals of its transfer. A direction that only answers, and is
    /// hardly reported, has fewer.
    pub(crate) fn keep(&mut self, intervals: usize) {
        self.intervals = intervals.min(ledger::MAX);
        let intervals = self.intervals_by_side();
        for (side, intervals) in self.sides.iter_mut().zip(intervals) {
            if let Some(flow) = &mut side.flow {
                flow.ledger.most = intervals;
            }
        }
    }

    fn intervals_by_side(&self) -> [usize; 2] {
        let [one, two] = &self.sides;
        let [one, two] =
            [one, two].map(|side| side.flow.as_ref().map_or(0, |flow| flow.counts.bytes));
        let share = |own, other| if own < other / 2 { 4 } else { 1 };
        [share(one, two), share(two, one)]
            .map(|share: usize| (self.intervals / share).max(MIN_INTERVALS))
    }

    /// Packs the connection in few bytes, without its number, its ends, its last time and its
    /// snapshot state. It is first reduced to its maximum number of intervals, so that the size is
    /// bounded.
    pub(crate) fn pack(&mut self, to: &mut Packer) {
        let most = self.intervals_by_side();
        for (side, most) in self.sides.iter_mut().zip(most) {
            if let Some(flow) = &mut side.flow {
                flow.shrink(most);
            }
        }
        let Self {
            number: _,
            ends: _,
            setting: _,
            last: _,
            replaced: _,
            busy: _,
            has_repaired: _,
            seen: _,
            clock_step: _,
            intervals,
            sides,
            handshake,
            began,
            reset,
            stepped,
            set_backs,
            disorder,
            answered_before,
            oddities,
            leaps,
            precedence,
        } = self;
        intervals.pack(to);
        sides.pack(to);
        handshake.pack(to);
        began.pack(to);
        reset.pack(to);
        stepped.pack(to);
        set_backs.pack(to);
        disorder.pack(to);
        answered_before.pack(to);
        oddities.pack(to);
        leaps.pack(to);
        precedence.pack(to);
    }

    /// Restores a connection that was packed after its last packet at `last`, in a capture of this
    /// setting.
    pub(crate) fn unpack(
        number: u64,
        ends: [Endpoint; 2],
        last: Timestamp,
        setting: Setting,
        from: &mut Unpacker<'_>,
    ) -> Self {
        Self {
            intervals: Packed::unpack(from),
            sides: Packed::unpack(from),
            handshake: Packed::unpack(from),
            began: Packed::unpack(from),
            reset: Packed::unpack(from),
            stepped: Packed::unpack(from),
            set_backs: Packed::unpack(from),
            disorder: Packed::unpack(from),
            answered_before: Packed::unpack(from),
            oddities: Packed::unpack(from),
            leaps: Packed::unpack(from),
            precedence: Packed::unpack(from),
            ..Self::new(number, ends, last, setting)
        }
    }

    /// Returns the direction of a segment of this connection, by the end that sent it.
    #[inline]
    pub(crate) fn direction_of(&self, segment: &Segment) -> Option<usize> {
        let [one, two] = &self.ends;
        if segment.source == *one && segment.destination == *two {
            Some(0)
        } else if segment.source == *two && segment.destination == *one {
            Some(1)
        } else {
            None
        }
    }

    /// Returns whether it is a subflow of Multipath TCP: every side that sent packets took part.
    /// (One side alone has only asked for it.)
    pub(crate) fn is_subflow(&self) -> bool {
        self.sides.iter().all(|side| side.packets == 0 || side.multipath)
    }

    /// Returns the bytes that are known to have moved, by direction.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        [0, 1].map(|side: usize| self.sides[side].flow.as_deref().map_or(0, Flow::moved))
    }

    /// Returns whether a side waits for the other: for an ACK, or for room.
    pub(crate) fn waits(&self) -> bool {
        let flows = self.sides.iter().filter_map(|side| side.flow.as_deref());
        flows.into_iter().any(|flow| flow.is_closed() || flow.unanswered() > 0)
    }

    /// Marks the present end of its ledgers for the next look.
    pub(crate) fn mark_look(&mut self) {
        let last = |side: &Side| side.flow.as_deref().and_then(|flow| flow.ledger.last());
        self.seen.last = Some(Box::new([last(&self.sides[0]), last(&self.sides[1])]));
    }

    /// Charges the silence since the last packet, in a copy.
    pub(crate) fn wait_until(&mut self, now: Timestamp) {
        if self.is_over() {
            return;
        }
        for side in &mut self.sides {
            if let Some(flow) = &mut side.flow {
                flow.wait_until(now);
            }
        }
    }

    /// Returns whether both directions have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.reset || self.sides.iter().all(|side| side.fin_acked)
    }

    /// Returns whether a SYN with this sequence number opens another connection rather
    /// than repeating this one's.
    pub(crate) fn is_reopened_by(&self, segment: &Segment, direction: usize) -> bool {
        if !segment.flags.has(Flags::SYN) || segment.flags.has(Flags::ACK) {
            return false;
        }
        match self.handshake.offers[direction] {
            Some(offer) => segment.sequence.is_some_and(|sequence| sequence != offer.sequence),
            None => true,
        }
    }

    /// Takes a segment that went from `ends[direction]`.
    pub(crate) fn segment(&mut self, segment: &Segment, direction: usize, notes: &mut impl Notes) {
        let back = self.last.since(segment.time + self.stepped);
        if back > BEFORE_TIMERS.get() && self.stepped + back < MAX_STEPPED {
            // No time passes over the step, rather than none until the clock is
            // where it was.
            self.stepped += back;
            self.set_backs += 1;
        } else {
            self.disorder = self.disorder.max(back);
        }
        let moved;
        let segment = if self.stepped > Span::ZERO {
            moved = Segment { time: segment.time + self.stepped, ..*segment };
            &moved
        } else {
            segment
        };
        if carries_data(segment) && self.is_damaged(segment, direction) {
            // The receiver drops it: to both ends it was lost.
            self.last = self.last.max(segment.time);
            self.sides[direction].packets += 1;
            self.sides[direction].last = Some(segment.time);
            return;
        }
        self.compare_clocks(segment, direction);
        self.oddities.saw(segment, direction, segment.time.since(self.last));
        self.last = self.last.max(segment.time);
        let side = &mut self.sides[direction];
        side.packets += 1;
        side.multipath |= segment.options.multipath;
        side.hop_limit = segment.hop_limit;
        side.last = Some(segment.time);
        let sent = side.sent(segment);
        let flags = segment.flags;
        if flags.has(Flags::SYN) {
            self.syn(segment, direction, notes);
        }
        if flags.has(Flags::RST) {
            self.reset = true;
            let side = &mut self.sides[direction];
            side.reset_packet = side.reset_packet.or(Some(segment.number));
        }
        let carries_data = carries_data(segment);
        let keeps_alive = segment.payload == 1 && self.keeps_alive(segment, direction);
        let mut acked = None;
        if flags.has(Flags::ACK) {
            if self.handshake.needs_third() && !flags.has(Flags::SYN) {
                self.handshake.completed(segment.time, direction);
            }
            let queued = sent.late.queued();
            let has_message = carries_data && !keeps_alive;
            acked = Some(self.acknowledge(segment, direction, (has_message, queued), notes));
        }
        if carries_data && !(keeps_alive && self.sides[direction].flow.is_none()) {
            self.data(segment, direction, sent, notes);
        } else if !flags.has(Flags::SYN) && !flags.has(Flags::RST) && !flags.has(Flags::FIN) {
            self.empty(segment, direction, acked, notes);
        }
        if flags.has(Flags::FIN) {
            let side = &mut self.sides[direction];
            let end = match segment.sequence {
                Some(sequence) => side.unwrap.peek(sequence) + u64::from(segment.payload),
                None => side.flow.as_ref().map_or(0, |flow| flow.next()),
            };
            side.fin = Some(end + 1);
            side.fin_packet = side.fin_packet.or(Some(segment.number));
            if let Some(flow) = &mut side.flow {
                flow.fin_sent = true;
            }
        }
        let side = &mut self.sides[direction];
        side.sent_data_last = carries_data;
        side.last_ack = acked.or(side.last_ack);
    }

    /// Returns whether a segment arrived damaged.
    #[inline]
    fn is_damaged(&mut self, segment: &Segment, direction: usize) -> bool {
        let side = &mut self.sides[direction];
        let start = segment.sequence.map_or(0, |sequence| side.unwrap.peek(sequence));
        let damage = side.damage.saw(segment.checksum, start, segment.payload, segment.number);
        self.has_repaired |= damage;
        damage
    }

    /// Returns whether a segment of one byte is a keep-alive: its sender repeats the last number
    /// that it used, though that is acknowledged (RFC 9293 section 3.8.4).
    fn keeps_alive(&self, segment: &Segment, direction: usize) -> bool {
        let side = &self.sides[direction];
        let Some(sequence) = segment.sequence.filter(|_| side.unwrap.is_set()) else {
            return false;
        };
        let end = side.unwrap.peek(sequence) + 1;
        match side.flow.as_deref() {
            Some(flow) => end == flow.next() && flow.heard && flow.unanswered() == 0,
            // The side has sent no data yet.
            None => end == side.unwrap.last(),
        }
    }

    /// Compares the capture's clock with both hosts'. It may have been set ahead, or be another one
    /// for each direction.
    #[inline]
    fn compare_clocks(&mut self, segment: &Segment, direction: usize) {
        let (own, other) = (&self.sides[direction], &self.sides[1 - direction]);
        let (packets, clocks) = ((own.packets, other.packets), (&own.clock, &other.clock));
        if let Some(behind) = self.precedence.saw(segment, direction, packets, clocks) {
            self.answered_before = self.answered_before.max(behind);
        }
        if self.leaps.may_tell(self.last, segment.time) {
            self.compare_over_silence(segment, direction);
        }
    }

    /// Compares the capture's clock with both hosts' after a silence.
    #[inline(never)]
    fn compare_over_silence(&mut self, segment: &Segment, direction: usize) {
        let times = (self.last, segment.time, segment.number);
        let value = segment.options.timestamps.map(|(value, _)| value);
        let [one, two] = &mut self.sides;
        if let Some(by) = self.leaps.saw(times, (direction, value), [&one.clock, &two.clock]) {
            one.clock.set_ahead(by);
            two.clock.set_ahead(by);
        }
    }

    /// Takes a router's message that a segment was too big.
    pub(crate) fn too_big(&mut self, message: &PacketTooBig) {
        let direction = usize::from(self.ends[0] != message.source);
        // Of IP and of TCP, without options (RFC 791, RFC 8200, RFC 9293).
        let headers = if matches!(message.source.host, Host::V6(_)) { 60 } else { 40 };
        let stamped =
            self.handshake.offers.iter().all(|offer| offer.is_some_and(|offer| offer.timestamps));
        let options = if stamped { TIMESTAMPS } else { 0 };
        if let Some(flow) = &mut self.sides[direction].flow {
            flow.told_mtu(message.mtu.into(), headers + options, message.time);
        }
    }

    /// Takes second copies of segments that went from `ends[direction]`.
    pub(crate) fn copies(&mut self, direction: usize, count: u64) {
        let side = &mut self.sides[direction];
        side.packets += count;
        side.captured_twice += count;
    }

    fn syn(&mut self, segment: &Segment, direction: usize, notes: &mut impl Notes) {
        let again = self.handshake.offers[direction].is_some();
        if again {
            notes.note(segment.number, Note::SynAgain);
        }
        self.handshake.syn(segment, direction, segment.flags.has(Flags::ACK));
        if let Some(sequence) = segment.sequence {
            // The SYN takes one number; data starts behind it.
            self.sides[direction].unwrap.advance(sequence.wrapping_add(1));
        }
    }

    /// Takes the ACK of a segment for the other direction's data. Returns its number.
    #[inline(always)]
    fn acknowledge(
        &mut self,
        segment: &Segment,
        direction: usize,
        (carries_data, queued): (bool, Span),
        notes: &mut impl Notes,
    ) -> u64 {
        let other = &mut self.sides[1 - direction];
        if !other.unwrap.is_set() {
            other.unwrap.advance(segment.acknowledgment);
        }
        let number = other.unwrap.peek(segment.acknowledgment);
        let mut ack = number;
        if other.fin.is_some_and(|fin| ack >= fin) {
            other.fin_acked = true;
            ack -= 1;
        }
        other.damage.acked(ack);
        if other.flow.is_some() {
            self.answer(segment, direction, (number, ack), (carries_data, queued), notes);
        } else {
            self.hear(segment, direction, ack, carries_data, notes);
        }
        number
    }

    /// Takes an ACK of this number, up to `ack`, when the other side has sent data.
    #[inline(never)]
    fn answer(
        &mut self,
        segment: &Segment,
        direction: usize,
        (number, ack): (u64, u64),
        (carries_data, queued): (bool, Span),
        notes: &mut impl Notes,
    ) {
        let scaled = !segment.flags.has(Flags::SYN);
        let newly_marked = self.newly_marked(segment, direction, number);
        let other = &mut self.sides[1 - direction];
        let Some(flow) = &mut other.flow else { return };
        let blocks = segment.options.sack.as_slice();
        let (mut sacks, mut d_sack) = (false, None);
        if !blocks.is_empty() && flow.takes_blocks(segment, ack, &other.unwrap) {
            sacks = blocks.iter().any(|block| other.unwrap.peek(block.right) > ack);
            let first = (other.unwrap.peek(blocks[0].left), other.unwrap.peek(blocks[0].right));
            let inside = blocks.get(1).is_some_and(|second| {
                other.unwrap.peek(second.left) <= first.0
                    && first.1 <= other.unwrap.peek(second.right)
            });
            d_sack = (first.1 <= ack || inside).then_some(first);
        }
        let ack = Ack {
            time: segment.time,
            number: segment.number,
            ack,
            window: segment.window,
            carries_data,
            sacks,
            d_sack,
            echo: segment.options.timestamps.map(|(_, echo)| echo),
            timestamp: segment.options.timestamps.map(|(value, _)| value),
            queued,
            marked: self.handshake.agrees_on_ecn() && segment.flags.has(Flags::ECE) && scaled,
            newly_marked,
            closing: segment.flags.has(Flags::RST),
            is_last: segment.flags.has(Flags::FIN),
        };
        flow.counts.cut_acks += u64::from(segment.options.truncated);
        let answers = ack.ack >= flow.next();
        let sample = flow.ack(ack, notes);
        self.leaps.measured(1 - direction, segment.time, sample, None);
        // A side with unacknowledged data cannot expect an echo yet.
        let turn = flow.path.turn;
        let is_echoed =
            self.sides[direction].flow.as_ref().is_none_or(|flow| flow.unanswered() == 0);
        if let Some((value, _)) = segment.options.timestamps.filter(|_| is_echoed)
            && let Some(flow) = &mut self.sides[1 - direction].flow
        {
            flow.echoes.acked(segment.time, value, turn);
        }
        if let Some(turn) = sample
            && let Some(flow) = &mut self.sides[direction].flow
        {
            // As long, at most, is the way to that end and back.
            flow.path.acknowledged(turn);
        }
        // A keep-alive and its answer tell nothing of when that came.
        let is_news = self.sides[direction].last_ack != Some(number);
        if answers
            && is_news
            && let Some(flow) = &mut self.sides[direction].flow
        {
            flow.had_all(segment.time, segment.number, carries_data, notes);
        }
    }

    /// Returns the number of packets that an ACK newly reports as marked. An ACK that others
    /// overtook tells nothing.
    fn newly_marked(&mut self, segment: &Segment, direction: usize, number: u64) -> u64 {
        let side = &mut self.sides[direction];
        let is_late = side.last_ack.is_some_and(|last| number < last);
        let counts = self.handshake.agrees_on_accurate_ecn() && !segment.flags.has(Flags::SYN);
        if counts && !is_late { side.ace.advance(segment.ace()) } else { 0 }
    }

    /// Takes an ACK when none of the other side's data has been seen.
    #[inline]
    fn hear(
        &mut self,
        segment: &Segment,
        direction: usize,
        ack: u64,
        carries_data: bool,
        notes: &mut impl Notes,
    ) {
        let other = &mut self.sides[1 - direction];
        let scaled = !segment.flags.has(Flags::SYN);
        let heard = LastAck {
            ack,
            window: segment.window,
            scaled,
            time: segment.time,
            number: segment.number,
        };
        if segment.window == 0 && scaled && !segment.flags.has(Flags::RST) {
            other.zero_windows += 1;
        }
        // The first ACK moves by one where it covers a SYN that was not seen.
        let moved = |before: &LastAck| ack > before.ack + 1 && !segment.flags.has(Flags::RST);
        let before = other.heard.filter(moved);
        other.heard = Some(heard);
        if let Some(before) = before {
            self.open_by_acks(1 - direction, [before, heard], carries_data, notes);
        }
    }

    /// Begins a flow with only ACKs so far; the second ACK may have come with data.
    #[cold]
    fn open_by_acks(
        &mut self,
        direction: usize,
        [before, heard]: [LastAck; 2],
        carries_data: bool,
        notes: &mut impl Notes,
    ) {
        self.open_flow(direction);
        let replay = |heard: LastAck| Ack {
            time: heard.time,
            number: heard.number,
            ack: heard.ack,
            window: heard.window,
            ..Ack::default()
        };
        if let Some(flow) = &mut self.sides[direction].flow {
            flow.ack(replay(before), notes);
            flow.ack(Ack { carries_data, ..replay(heard) }, notes);
        }
    }

    fn open_flow(&mut self, direction: usize) {
        let receiver = 1 - direction;
        let handshake = &self.handshake;
        let scale = handshake.shift(receiver).map_or(Scale::AtLeast(0), Scale::Known);
        let offers = &handshake.offers;
        let size = match offers[receiver].and_then(|offer| offer.mss) {
            Some(mss) => {
                let stamps = offers.iter().all(|offer| offer.is_some_and(|offer| offer.timestamps));
                let own = offers[direction].and_then(|offer| offer.mss);
                SegmentSize::from_handshake(mss, own, stamps)
            }
            None => SegmentSize::default(),
        };
        let turns = [direction, receiver].map(|side| handshake.turn_at(side));
        let path = Path::opened(handshake.rtt(), turns[1], turns[0]);
        let mut flow = Box::new(Flow::new(scale, size, path, self.intervals));
        if self.setting.by_second {
            flow.count_seconds(self.intervals);
        }
        flow.start_known = handshake.offers[direction].is_some();
        flow.counts.zero_windows = self.sides[direction].zero_windows;
        self.sides[direction].flow = Some(flow);
    }

    fn data(
        &mut self,
        segment: &Segment,
        direction: usize,
        sent: DepartureHints,
        notes: &mut impl Notes,
    ) {
        if self.sides[direction].flow.is_none() {
            self.open_flow(direction);
            let known = self.handshake.offers[direction].is_some();
            let side = &mut self.sides[direction];
            let heard = side.heard;
            if let Some(flow) = &mut side.flow {
                let start = segment.sequence.map_or(0, |sequence| side.unwrap.peek(sequence));
                match heard {
                    Some(heard) if known || heard.ack <= start => {
                        flow.begin(if known { heard.ack.min(start) } else { heard.ack });
                        if !known && start - heard.ack < 1 << 30 {
                            flow.sent_before(start);
                        }
                        flow.hear(heard.window, heard.scaled);
                    }
                    _ => {}
                }
            }
        }
        let back = self.sides[1 - direction].flow.as_deref();
        let acked_late = back.is_some_and(|flow| flow.answered_late);
        let other = back.map_or(0, |flow| flow.counts.bytes);
        let side = &mut self.sides[direction];
        let Some(flow) = &mut side.flow else { return };
        flow.answers = other > flow.counts.bytes;
        let since = segment.time.since(self.setting.origin);
        flow.arrivals.add(since, u64::from(segment.payload) + HEADERS);
        let start = match segment.sequence {
            Some(sequence) => side.unwrap.advance(sequence),
            None => flow.next(),
        };
        let repairs = flow.counts.retransmissions + flow.counts.out_of_order;
        let turn = flow.data(
            &Data {
                cut: segment.flags.has(Flags::CWR) && self.handshake.agrees_on_ecn(),
                late: sent.late,
                skipped: sent.skipped,
                acked_late,
                ..Data::told_by(segment, start, u64::from(segment.payload))
            },
            notes,
        );
        self.has_repaired |= repairs != flow.counts.retransmissions + flow.counts.out_of_order;
        self.leaps.measured(direction, segment.time, None, turn);
        if let Some(turn) = turn {
            side.clock.pend(sent.late.queued(), turn);
        }
    }

    /// Takes a segment without data, which may be a probe or a keep-alive.
    fn empty(
        &mut self,
        segment: &Segment,
        direction: usize,
        acked: Option<u64>,
        notes: &mut impl Notes,
    ) {
        let asked = self.sides[1 - direction].sent_data_last;
        let side = &mut self.sides[direction];
        let news = acked.is_none() || acked != side.last_ack;
        let Some(flow) = &mut side.flow else { return };
        let echo = segment.options.timestamps.map(|(_, echo)| echo);
        flow.release_before(segment.time, echo, (false, false), notes);
        // An ACK that answers data is no question.
        let answers = news || asked;
        let asks = match segment.sequence {
            // Linux's persist probe and every keep-alive: one number back
            // (RFC 9293 section 3.8.4).
            Some(sequence) => !answers && side.unwrap.peek(sequence) + 1 == flow.next(),
            // Text leaves the number out. An ACK that tells nothing new while
            // the window is closed asks for the window.
            None => !answers && flow.is_closed(),
        };
        if asks {
            flow.probe(segment.time, segment.number, notes);
        }
        let next = segment.sequence.map_or(0, |sequence| side.unwrap.peek(sequence));
        // A FIN takes a number, too.
        if next > flow.next() + 1 {
            let data = Data::told_by(segment, flow.next(), next - flow.next());
            flow.announced(&data, notes);
        }
    }
}

/// Returns whether a segment carries data that counts.
#[inline]
pub(crate) fn carries_data(segment: &Segment) -> bool {
    (1..=LARGEST_SEGMENT).contains(&segment.payload) && !segment.flags.has(Flags::SYN)
}

/// Hints in a packet of the time when it was sent.
#[derive(Clone, Copy, Debug)]
struct DepartureHints {
    late: PacketDelay,
    skipped: u16,
}

impl Side {
    /// Takes a packet that this side sent.
    #[inline(always)]
    fn sent(&mut self, segment: &Segment) -> DepartureHints {
        let skipped = self.identifications.saw(segment.identification);
        let late = match segment.options.timestamps {
            Some((value, _)) => {
                if let Some(flow) = &mut self.flow {
                    if let Some(stood) = self.clock.stood(segment.time, value) {
                        flow.counts.clock_stood += stood;
                    }
                    if flow.is_at_rest(segment.time) {
                        self.clock.rested(segment.time, value);
                    }
                }
                self.clock.saw(segment.time, value)
            }
            None => self.clock.untold(),
        };
        DepartureHints { late, skipped }
    }
}
