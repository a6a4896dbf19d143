//! Timelines: captures written as text, a line for each packet.
//!
//! ```text
//! 0.000 > S  0 win 64240 mss 1460
//! 0.001 < S. 0 ack 1 win 2920 mss 1460
//! 0.001 > .  1 ack 1
//! 0.002 > .  1:1461
//! ```
//!
//! [`timeline`] says what may stand in a line. Window and ACK stay as they were when
//! left out; identifications count up by themselves.

use windlass_base::Span;
use windlass_trace::report::ConnectionReport;
use windlass_wire::{Flags, Segment};

use super::timeline::{self, Line, moved};
use super::{ends, reports};

/// A capture in the making.
#[derive(Clone)]
pub(crate) struct Timeline {
    pub(crate) segments: Vec<Segment>,
    /// The first sequence numbers of both ends.
    first: [u32; 2],
    ack: [u32; 2],
    window: [u16; 2],
    identification: [u16; 2],
}

/// Time and bytes that a repetition adds.
#[derive(Clone, Copy, Default)]
struct Shift {
    nanos: i64,
    /// Bytes, by direction.
    bytes: [u32; 2],
}

impl Timeline {
    pub(crate) fn new() -> Self {
        Self::from([1_000_000, 2_000_000])
    }

    /// With these first sequence numbers.
    pub(crate) fn from(first: [u32; 2]) -> Self {
        Self {
            segments: Vec::new(),
            first,
            ack: [0, 0],
            window: [64_240, 64_240],
            identification: [100, 7_000],
        }
    }

    /// Starts with a handshake whose round trip is so many milliseconds, seen
    /// at the opener, which ends at that time.
    pub(crate) fn opened(rtt_ms: f64, window: u16) -> Self {
        let rtt = rtt_ms / 1e3;
        Self::new().t(&format!(
            "0 > S 0 win 64240 mss 1460
             {rtt} < S. 0 ack 1 win {window} mss 1460
             {rtt} > . 1 ack 1 win 64240"
        ))
    }

    /// Adds packets.
    pub(crate) fn t(mut self, lines: &str) -> Self {
        self.lines(lines, Shift::default());
        self
    }

    /// Adds packets again and again: each time so many seconds later, with as
    /// many bytes more sent and acknowledged from the first end to the second.
    pub(crate) fn rounds(self, count: u32, seconds: f64, bytes: u32, lines: &str) -> Self {
        self.dialogue(count, seconds, [bytes, 0], lines)
    }

    /// Repeats these lines with bytes in both directions.
    pub(crate) fn dialogue(
        mut self,
        count: u32,
        seconds: f64,
        bytes: [u32; 2],
        lines: &str,
    ) -> Self {
        for round in 0..count {
            let nanos = (seconds * 1e9).round() as i64 * i64::from(round);
            let bytes = bytes.map(|bytes| bytes.wrapping_mul(round));
            self.lines(lines, Shift { nanos, bytes });
        }
        self
    }

    pub(crate) fn report(&self) -> ConnectionReport {
        let report = super::report(&self.segments);
        super::is_sound(&report);
        report
    }

    fn lines(&mut self, lines: &str, shift: Shift) {
        for line in timeline::lines(lines) {
            self.line(&Line::parse(line), shift);
        }
    }

    fn line(&mut self, line: &Line, shift: Shift) {
        assert!(line.text.is_none(), "the analyser sees no data: {line}");
        let (own, other) = (line.from, 1 - line.from);
        let base = |relative: u32, end: usize| {
            self.first[end].wrapping_add(relative).wrapping_add(shift.bytes[end])
        };
        let ticks = (shift.nanos / 1_000_000) as u32;
        let mut options = moved(&line.options, base(0, other));
        options.timestamps = options.timestamps.map(|(value, echo)| (value + ticks, echo + ticks));
        let mut segment = Segment {
            number: self.segments.len() as u64 + 1,
            time: line.time + Span::from_nanos(shift.nanos),
            source: ends()[own],
            destination: ends()[other],
            sequence: Some(base(line.data.left, own)),
            acknowledgment: line.ack.map_or(self.ack[own], |ack| base(ack, other)),
            flags: line.flags,
            window: line.window.unwrap_or(self.window[own]),
            payload: line.data.right - line.data.left,
            options,
            identification: line.id.unwrap_or(Some(self.identification[own])),
            hop_limit: line.ttl.unwrap_or(64),
            checksum: windlass_wire::Checksum::Unknown,
            ecn: windlass_wire::EcnField::NotEct,
            accurate_ecn: false,
        };
        self.ack[own] = segment.acknowledgment;
        self.window[own] = segment.window;
        let counted = u16::from(line.id.is_none());
        self.identification[own] = self.identification[own].wrapping_add(counted);
        if !line.flags.has(Flags::ACK) {
            segment.acknowledgment = 0;
        }
        self.segments.push(segment);
    }
}

/// Both timelines as one capture, the second on another port.
pub(crate) fn beside(one: Timeline, other: Timeline) -> Vec<ConnectionReport> {
    let moved = other.segments.into_iter().map(|segment| {
        let mut segment = segment;
        for end in [&mut segment.source, &mut segment.destination] {
            end.port = if end.port == 40_000 { 40_001 } else { end.port };
        }
        segment
    });
    let mut all: Vec<Segment> = one.segments.into_iter().chain(moved).collect();
    all.sort_by_key(|segment| segment.time);
    for (number, segment) in (1..).zip(&mut all) {
        segment.number = number;
    }
    reports(&all)
}
