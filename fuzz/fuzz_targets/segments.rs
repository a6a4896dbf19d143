//! Small scripts of segments straight into the analyser: what a file reader
//! would need many more bytes to say.
#![no_main]

use std::net::Ipv4Addr;

use arbitrary::Arbitrary;
use windlass_base::{Span, Timestamp};
use windlass_trace::{Analyzer, Keep, Note};
use windlass_wire::{Endpoint, Flags, Host, Options, Segment, SequenceRange};

/// A number near one that the connection already uses, or any.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Number {
    /// So far from the end of what this side sent.
    Near(i8),
    /// So many segments from it.
    Segments(i8),
    Far(i32),
    Any(u32),
}

impl Number {
    fn from(self, next: u32) -> u32 {
        match self {
            Self::Near(step) => next.wrapping_add_signed(i32::from(step)),
            Self::Segments(step) => next.wrapping_add_signed(i32::from(step) * 1_460),
            Self::Far(step) => next.wrapping_add_signed(step),
            Self::Any(number) => number,
        }
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Payload {
    None,
    Full,
    Few(u8),
    Any(u32),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum After {
    Micros(u16),
    Millis(u16),
    Any(i64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Step {
    back: bool,
    port: bool,
    after: After,
    sequence: Option<Number>,
    acknowledgment: Number,
    flags: u8,
    window: u16,
    payload: Payload,
    sack: Option<(Number, Number)>,
    timestamps: Option<(u32, u32)>,
    identification: Option<u16>,
    hop_limit: u8,
    handshake: Option<(u16, u8)>,
    repeat: u8,
}

libfuzzer_sys::fuzz_target!(|steps: Vec<Step>| {
    let mut analyzer = Analyzer::new(Keep::All);
    let mut notes: Vec<(u64, Note)> = Vec::new();
    let mut next = [0_u32; 2];
    let mut time = Timestamp::ZERO;
    let mut number = 0;
    for step in steps {
        for _ in 0..=step.repeat % 16 {
            number += 1;
            time = match step.after {
                After::Micros(span) => time + Span::from_micros(i64::from(span)),
                After::Millis(span) => time + Span::from_millis(i64::from(span)),
                // Within a century, so that no span runs over.
                After::Any(nanos) => Timestamp::from_nanos(nanos / 3),
            };
            let (own, other) = (usize::from(step.back), usize::from(!step.back));
            let end = |last: usize| Endpoint {
                host: Host::V4(Ipv4Addr::new(10, 0, 0, last as u8)),
                port: u16::from(step.port),
            };
            let sequence = step.sequence.map(|sequence| sequence.from(next[own]));
            let payload = match step.payload {
                Payload::None => 0,
                Payload::Full => 1_460,
                Payload::Few(few) => u32::from(few),
                Payload::Any(any) => any,
            };
            if let Some(sequence) = sequence {
                next[own] = sequence.wrapping_add(payload);
            }
            let mut options = Options { timestamps: step.timestamps, ..Options::default() };
            if let Some((left, right)) = step.sack {
                let (left, right) = (left.from(next[other]), right.from(next[other]));
                options.sack.push(SequenceRange { left, right });
            }
            if let Some((mss, scale)) = step.handshake {
                options.mss = Some(mss);
                options.window_scale = Some(scale);
            }
            let segment = Segment {
                number,
                time,
                source: end(own),
                destination: end(other),
                sequence,
                acknowledgment: step.acknowledgment.from(next[other]),
                flags: Flags(step.flags),
                window: step.window,
                payload,
                options,
                identification: step.identification,
                hop_limit: step.hop_limit,
                checksum: windlass_wire::Checksum::Unknown,
                ecn: windlass_wire::EcnField::NotEct,
                accurate_ecn: false,
            };
            analyzer.segment(&segment, &mut notes);
        }
    }
    let (connections, totals) = analyzer.finish();
    assert_eq!(totals.segments, number);
    for connection in connections {
        let report = connection.report(|end| end.to_string(), None);
        let sum: f64 = report.shares.values().sum();
        assert!((sum - 1.0).abs() < 1e-6, "shares sum to {sum}");
        let mut before = Span::ZERO;
        for interval in &report.timeline {
            assert_eq!(interval.start, before, "{:?}", report.timeline);
            assert!(interval.end >= interval.start, "{:?}", report.timeline);
            before = interval.end;
        }
        assert_eq!(before, report.seconds);
        assert!(report.bytes_per_second.bytes_per_second().is_finite());
    }
});
