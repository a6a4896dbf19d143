//! Timelines: captures written as text, a line for each packet.
//!
//! ```text
//! 0.000 > S  0 win 64240 mss 1460
//! 0.001 < S. 0 ack 1 win 2920 mss 1460
//! 0.001 > .  1 ack 1
//! 0.002 > .  1:1461
//! ```
//!
//! Time in seconds; `>` from the first end, `<` from the second; flags as
//! tcpdump prints them; the sequence number from the SYN on, with the end of the
//! data behind a colon; then `ack`, `win`, `mss`, `ws`, `sackok`, `ts VALUE
//! ECHO`, `sack LEFT-RIGHT`, `id`, `ttl`. Window and ACK stay as they were when
//! left out; identifications count up by themselves.

use windlass_base::Timestamp;
use windlass_trace::report::ConnectionReport;
use windlass_wire::{Flags, Segment, SequenceRange};

use super::ends;

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

/// What a repetition adds.
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

    /// The same with bytes in both directions.
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
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.line(line, shift);
        }
    }

    fn line(&mut self, line: &str, shift: Shift) {
        let mut words = line.split_whitespace();
        let mut next = || words.next().unwrap_or_else(|| panic!("short line: {line}"));
        let seconds: f64 = number(next(), line);
        let way = match next() {
            ">" => 0,
            "<" => 1,
            other => panic!("`{other}` is no direction: {line}"),
        };
        let flags = next().chars().fold(Flags::default(), |flags, letter| {
            flags.with(match letter {
                'S' => Flags::SYN,
                'F' => Flags::FIN,
                'R' => Flags::RST,
                'P' => Flags::PSH,
                '.' => Flags::ACK,
                other => panic!("`{other}` is no flag: {line}"),
            })
        });
        let (own, other) = (way, 1 - way);
        let base = |relative: u32, end: usize| {
            self.first[end].wrapping_add(relative).wrapping_add(shift.bytes[end])
        };
        let sequence = next();
        let (start, end) = sequence.split_once(':').unwrap_or((sequence, sequence));
        let (start, end): (u32, u32) = (number(start, line), number(end, line));
        let mut segment = Segment {
            number: self.segments.len() as u64 + 1,
            time: Timestamp::from_nanos((seconds * 1e9).round() as i64 + shift.nanos),
            source: ends()[own],
            destination: ends()[other],
            sequence: Some(base(start, own)),
            acknowledgment: self.ack[own],
            flags,
            window: self.window[own],
            payload: end - start,
            options: Default::default(),
            identification: Some(self.identification[own]),
            hop_limit: 64,
        };
        let mut counted = true;
        let ticks = (shift.nanos / 1_000_000) as u32;
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("no value: {line}"));
            match word {
                "ack" => segment.acknowledgment = base(number(value(), line), other),
                "win" => segment.window = number(value(), line),
                "mss" => segment.options.mss = Some(number(value(), line)),
                "ws" => segment.options.window_scale = Some(number(value(), line)),
                "sackok" => segment.options.sack_permitted = true,
                "ts" => {
                    let stamps: (u32, u32) = (number(value(), line), number(value(), line));
                    segment.options.timestamps = Some((stamps.0 + ticks, stamps.1 + ticks));
                }
                "sack" => {
                    let (left, right) = value().split_once('-').expect("a block");
                    let block = |edge| base(number(edge, line), other);
                    let (left, right) = (block(left), block(right));
                    segment.options.sack.push(SequenceRange { left, right });
                }
                "id" => {
                    segment.identification = value().parse().ok();
                    counted = false;
                }
                "ttl" => segment.hop_limit = number(value(), line),
                other => panic!("`{other}` means nothing: {line}"),
            }
        }
        self.ack[own] = segment.acknowledgment;
        self.window[own] = segment.window;
        self.identification[own] = self.identification[own].wrapping_add(u16::from(counted));
        if !flags.has(Flags::ACK) {
            segment.acknowledgment = 0;
        }
        self.segments.push(segment);
    }
}

#[track_caller]
fn number<T: std::str::FromStr>(word: &str, line: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("`{word}` is no number: {line}"))
}
