//! Time-sequence graph of a connection: sent, acknowledged and allowed bytes over time.
//!
//! Van Jacobson drew it first, Shawn Ostermann's tcptrace made it usual ("tcptrace
//! manual", section 6). A [`TimeSequence`] takes the segments of one connection as
//! they come and gives a [`Point`] for each: the bytes that it carries, and what it
//! says of the other side's bytes. It remembers the last ACK of each side and no
//! more, so its memory does not grow with the transfer.
//!
//! Places are sequence numbers as on the wire, without their wrap: the first that is
//! seen of a side is as it was sent, and what follows is the nearest to it (RFC 9293
//! section 3.4), beyond 2³² where need be.

mod follow;
mod mark;
mod series;
mod xplot;

pub use follow::ConnectionFollower;
pub use mark::{Mark, Marks};
pub use series::Series;
use windlass_base::{Bytes, Timestamp};
use windlass_wire::{Endpoint, Flags, Segment};
pub use xplot::Xplot;

/// The largest shift of a window (RFC 7323 section 2.3).
const MOST_SHIFT: u8 = 14;

/// Contribution of a packet to the graphs of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The packet's number as Wireshark counts.
    pub number: u64,
    /// The time when it was captured.
    pub time: Timestamp,
    /// Side that sent it: 0 for the sender of the connection's first packet, 1 for the other.
    pub from: usize,
    /// Its control bits.
    pub flags: Flags,
    /// Its data; `None` if the capture does not print its sequence number.
    pub sent: Option<SentBytes>,
    /// Its acknowledgment; `None` without an ACK, and for a reset, whose window means nothing (RFC
    /// 9293 section 3.10.7).
    pub answer: Option<Answer>,
}

/// Data of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentBytes {
    /// The place of its first byte. A SYN takes this place.
    pub start: i64,
    /// The place behind its last byte. A FIN takes this place.
    pub end: i64,
    /// True if it was sent before, or comes out of order.
    pub mark: Mark,
}

/// Acknowledgment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The previous acknowledgment; `None` in the first.
    pub before: Option<AckState>,
    /// This acknowledgment.
    pub now: AckState,
    /// The window that it offers.
    pub window: Bytes,
    /// Number of SACK blocks.
    sacks: usize,
    blocks: [Block; 4],
}

/// Last acknowledgment of a side's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckState {
    /// Time of the acknowledgment.
    pub time: Timestamp,
    /// The place of the next byte that is awaited.
    pub ack: i64,
    /// The right edge of the window: the place of the first byte that may not be sent.
    pub edge: i64,
}

/// Bytes that have come beyond a gap (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The place of the first.
    pub left: i64,
    /// The place behind the last.
    pub right: i64,
}

impl Answer {
    /// The SACK blocks in the order of the option.
    pub fn sacks(&self) -> &[Block] {
        &self.blocks[..self.sacks]
    }

    /// Returns whether it says the same ACK as the one before.
    pub fn repeats_ack(&self) -> bool {
        self.before.is_some_and(|before| before.ack == self.now.ack)
    }

    /// Returns whether it says the same edge as the one before.
    pub fn repeats_edge(&self) -> bool {
        self.before.is_some_and(|before| before.edge == self.now.edge)
    }
}

/// State of one side.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// The number that was seen last, without its wrap.
    last: Option<i64>,
    /// The place before its first byte.
    start: Option<i64>,
    /// The shift that its SYN offers, or that is assumed.
    shift: Option<u8>,
    /// Its last acknowledgment of the other side's bytes.
    told: Option<AckState>,
}

impl Side {
    /// Returns the place of a number on the wire: the one nearest to the number before.
    fn place(&mut self, number: u32) -> i64 {
        let place = match self.last {
            None => i64::from(number),
            Some(last) => last.saturating_add(distance(last, number)),
        };
        self.last = Some(place);
        place
    }
}

/// Returns the distance of a number from a position.
#[expect(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the lower half is the number on the wire, and the distance has a sign on purpose"
)]
fn distance(place: i64, number: u32) -> i64 {
    i64::from(number.wrapping_sub(place as u32) as i32)
}

/// The time-sequence graphs of a connection, one for the bytes of each side.
#[derive(Clone, Debug, Default)]
pub struct TimeSequence {
    ends: Option<[Endpoint; 2]>,
    sides: [Side; 2],
    /// True if windows have the shifts of both SYNs, or one that is assumed.
    assumed: bool,
}

impl TimeSequence {
    /// Returns a graph without points. A window has the shift of its sender's SYN if both SYNs
    /// offer one, and else none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the window shifts of both sides, known from elsewhere. A shift above 14 is taken as 14.
    #[must_use]
    pub fn with_shifts(mut self, shifts: [u8; 2]) -> Self {
        for (side, shift) in self.sides.iter_mut().zip(shifts) {
            side.shift = Some(shift);
        }
        self.assumed = true;
        self
    }

    /// Returns its ends: the sender of the first packet, and the other; `None` before that packet.
    pub fn ends(&self) -> Option<[Endpoint; 2]> {
        self.ends
    }

    /// Returns the place before the first byte of a side (0 or 1), which a SYN takes; `None` while
    /// it is unknown.
    pub fn start(&self, side: usize) -> Option<i64> {
        self.sides.get(side)?.start
    }

    /// Takes the connection's next segment; `mark` is its relation to earlier ones.
    pub fn segment(&mut self, segment: &Segment, mark: Mark) -> Point {
        let ends = *self.ends.get_or_insert([segment.source, segment.destination]);
        let from = usize::from(ends[0] != segment.source);
        let sent = segment.sequence.map(|sequence| self.sent(from, segment, sequence, mark));
        let is_answer = segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST);
        let answer = is_answer.then(|| self.answer(from, segment));
        let (number, time, flags) = (segment.number, segment.time, segment.flags);
        Point { number, time, from, flags, sent, answer }
    }

    fn sent(&mut self, from: usize, segment: &Segment, sequence: u32, mark: Mark) -> SentBytes {
        let side = &mut self.sides[from];
        let start = side.place(sequence);
        if segment.flags.has(Flags::SYN) {
            side.start = Some(start);
            if !self.assumed {
                side.shift = segment.options.window_scale;
            }
        } else {
            side.start = side.start.or(Some(start.saturating_sub(1)));
        }
        SentBytes { start, end: start.saturating_add(i64::from(segment.payload)), mark }
    }

    fn answer(&mut self, from: usize, segment: &Segment) -> Answer {
        let shift = self.shift(from, segment.flags);
        let other = &mut self.sides[1 - from];
        let ack = other.place(segment.acknowledgment);
        other.start = other.start.or(Some(ack.saturating_sub(1)));
        let window = u64::from(segment.window) << shift;
        let edge = ack.saturating_add(i64::try_from(window).unwrap_or(i64::MAX));
        let mut blocks = [Block::default(); 4];
        let told = segment.options.sack.as_slice();
        for (block, range) in blocks.iter_mut().zip(told) {
            let left = ack.saturating_add(distance(ack, range.left));
            let length = i64::from(range.right.wrapping_sub(range.left));
            *block = Block { left, right: left.saturating_add(length) };
        }
        let now = AckState { time: segment.time, ack, edge };
        let before = self.sides[from].told.replace(now);
        Answer { before, now, window: Bytes::new(window), sacks: told.len().min(4), blocks }
    }

    /// Returns the shift of a window (RFC 7323 section 2.2): none in a SYN, and none unless both
    /// sides offer one.
    fn shift(&self, from: usize, flags: Flags) -> u8 {
        match (self.sides[from].shift, self.sides[1 - from].shift) {
            (Some(shift), Some(_)) if !flags.has(Flags::SYN) => shift.min(MOST_SHIFT),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use windlass_base::Span;
    use windlass_wire::{Host, Options, SequenceRange};

    fn end(port: u16) -> Endpoint {
        Endpoint { host: Host::V4([192, 0, 2, 1].into()), port }
    }

    fn segment(from: u16, flags: Flags, sequence: u32, payload: u32, ack: u32) -> Segment {
        Segment {
            number: 1,
            time: Timestamp::ZERO + Span::from_millis(1),
            source: end(from),
            destination: end(3 - from),
            sequence: Some(sequence),
            acknowledgment: ack,
            flags,
            window: 1_000,
            payload,
            options: Options::default(),
            identification: None,
            hop_limit: 64,
            checksum: windlass_wire::Checksum::Unknown,
            ecn: windlass_wire::EcnField::NotEct,
            accurate_ecn: false,
        }
    }

    const ACK: Flags = Flags::ACK;

    #[test]
    fn places_go_on_past_the_wrap() {
        let mut graph = TimeSequence::new();
        let first = u32::MAX - 99;
        let syn = graph.segment(&segment(1, Flags::SYN, first, 0, 0), Mark::First);
        assert_eq!(syn.sent.map(|sent| sent.start), Some(i64::from(first)));
        assert_eq!((graph.start(0), graph.start(1)), (Some(i64::from(first)), None));
        let data = graph.segment(&segment(1, ACK, first.wrapping_add(1), 200, 5), Mark::First);
        let sent = data.sent.unwrap();
        assert_eq!((sent.start, sent.end), (i64::from(first) + 1, i64::from(first) + 201));
        assert_eq!(graph.start(1), Some(4));
        let ack = graph.segment(&segment(2, ACK, 5, 0, first.wrapping_add(201)), Mark::First);
        let answer = ack.answer.unwrap();
        assert_eq!((ack.from, answer.now.ack), (1, i64::from(first) + 201));
        assert_eq!(answer.now.edge, answer.now.ack + 1_000);
        assert!(answer.before.is_none() && !answer.repeats_ack());
    }

    #[test]
    fn a_window_has_a_shift_where_both_sides_offer_one() {
        let scaled = |from, flags, shift| {
            let mut one = segment(from, flags, 0, 0, 1);
            one.options.window_scale = shift;
            one
        };
        for (theirs, window) in [(Some(0), 8_000), (None, 1_000)] {
            let mut graph = TimeSequence::new();
            graph.segment(&scaled(1, Flags::SYN, theirs), Mark::First);
            let syn = graph.segment(&scaled(2, Flags::SYN.with(ACK), Some(3)), Mark::First);
            assert_eq!(syn.answer.unwrap().window, Bytes::new(1_000));
            let ack = graph.segment(&segment(2, ACK, 1, 0, 1), Mark::First);
            assert_eq!(ack.answer.unwrap().window, Bytes::new(window));
        }
        let mut graph = TimeSequence::new().with_shifts([0, 200]);
        let ack = graph.segment(&segment(2, ACK, 1, 0, 1), Mark::First);
        assert_eq!((ack.from, ack.answer.unwrap().window), (0, Bytes::new(1_000)));
        let ack = graph.segment(&segment(1, ACK, 1, 0, 1), Mark::First);
        assert_eq!(ack.answer.unwrap().window, Bytes::new(1_000 << 14));
    }

    #[test]
    fn a_reset_says_nothing_of_the_window_and_a_sack_of_what_came() {
        let mut graph = TimeSequence::new();
        graph.segment(&segment(1, ACK, 100, 50, 7), Mark::First);
        let mut dup = segment(2, ACK, 7, 0, 100);
        dup.options.sack.push(SequenceRange { left: 150, right: 200 });
        let first = graph.segment(&dup, Mark::First).answer.unwrap();
        assert_eq!(first.sacks(), [Block { left: 150, right: 200 }]);
        let again = graph.segment(&dup, Mark::First).answer.unwrap();
        assert!(again.repeats_ack() && again.repeats_edge());
        let reset = graph.segment(&segment(2, ACK.with(Flags::RST), 7, 0, 999), Mark::First);
        assert!(reset.answer.is_none());
    }

    proptest! {
        /// For any numbers at any times, points are drawn, and curves stay bounded.
        #[test]
        fn any_segments_give_graphs(
            segments in prop::collection::vec(
                (any::<bool>(), any::<[u32; 4]>(), any::<u8>(), any::<u16>(), any::<i64>()),
                1..60,
            ),
            shifts in prop::option::of(any::<[u8; 2]>()),
        ) {
            let graph = TimeSequence::new();
            let mut graph = shifts.map_or(graph.clone(), |shifts| graph.with_shifts(shifts));
            let mut series = Series::new(0, 5);
            let mut out = String::new();
            let mut xplot = Xplot::begin(&mut out, 0, "any");
            for (place, (back, numbers, flags, window, nanos)) in segments.iter().enumerate() {
                let [sequence, payload, ack, right] = *numbers;
                let mut one = segment(1 + u16::from(*back), Flags(*flags), sequence, payload, ack);
                one.window = *window;
                one.time = Timestamp::from_nanos(*nanos);
                one.options.sack.push(SequenceRange { left: sequence, right });
                let marks = [Mark::First, Mark::Again, Mark::OutOfOrder, Mark::Copy, Mark::Probe];
                let point = graph.segment(&one, marks[place % marks.len()]);
                xplot.point(&mut out, &point);
                if let Some(start) = graph.start(0) {
                    series.point(&point, start);
                }
            }
            xplot.end(&mut out);
            prop_assert!(out.ends_with("go\n"));
            for curve in [&series.sent, &series.acked, &series.edge, &series.flight] {
                prop_assert!(curve.stretches().len() <= 10);
            }
        }
    }
}
