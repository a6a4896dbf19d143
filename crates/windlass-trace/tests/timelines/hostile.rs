//! Captures made to be slow to analyse: each step must stay cheap.

use std::net::Ipv4Addr;

use windlass_base::{Span, Timestamp};
use windlass_trace::{Analyzer, Keep};
use windlass_wire::{Endpoint, Flags, Host, Options, Segment, SequenceRange};

/// A 2 MB file holds about so many bare segments.
const MANY: u32 = 30_000;

fn segment(number: u32, back: bool, port: u16, sequence: u32, ack: u32, payload: u32) -> Segment {
    let end = |last, port| Endpoint { host: Host::V4(Ipv4Addr::new(10, 0, 0, last)), port };
    let (one, other) = (end(1, port), end(2, 9_100));
    Segment {
        number: u64::from(number),
        time: Timestamp::ZERO + Span::from_micros(i64::from(number) * 900),
        source: if back { other } else { one },
        destination: if back { one } else { other },
        sequence: Some(sequence),
        acknowledgment: ack,
        flags: Flags::ACK,
        window: u16::MAX,
        payload,
        options: Options::default(),
        identification: Some(number as u16),
        hop_limit: 64,
        checksum: windlass_wire::Checksum::Unknown,
        ecn: windlass_wire::EcnField::NotEct,
        accurate_ecn: false,
    }
}

/// Analyses and reports; gives the number of steps that the clock would see.
fn takes(segments: impl Iterator<Item = Segment>) -> usize {
    let mut analyzer = Analyzer::new(Keep::Largest(10));
    let mut count = 0;
    for segment in segments {
        analyzer.segment(&segment, &mut ());
        count += 1;
    }
    let (finished, _) = analyzer.finish();
    for one in finished {
        super::support::is_sound(&one.report(|end| end.to_string(), None));
    }
    count
}

#[test]
fn a_hole_before_each_segment() {
    takes((1..MANY).map(|step| segment(step, false, 1, step * 20, 1, 10)));
}

#[test]
fn each_segment_repeats_a_thousand() {
    let flight = (1..1_025).map(|step| segment(step, false, 1, step * 10, 1, 10));
    let again = (1_025..MANY).map(|step| segment(step, false, 1, 10, 1, 10_240));
    takes(flight.chain(again));
}

#[test]
fn duplicate_acks_between_acks_of_a_byte() {
    // One flight, then ACKs that creep through it, each sent three times.
    let flight = (1..50).map(|step| segment(step, false, 1, (step - 1) * 1_460, 1, 1_460));
    let acks = (50..MANY).map(|step| segment(step, true, 1, 1, step / 3, 0));
    takes(flight.chain(acks));
}

#[test]
fn acks_held_back_at_the_receiver() {
    let open = [
        Segment { flags: Flags::SYN, ..segment(1, false, 1, 0, 0, 0) },
        Segment { flags: Flags::SYN.with(Flags::ACK), ..segment(2, true, 1, 0, 1, 0) },
        Segment { time: Timestamp::from_nanos(60_000_000_000), ..segment(3, false, 1, 1, 1, 0) },
    ];
    let rest = (4..MANY).map(|step| {
        let mut one = segment(step, step % 2 == 0, 1, 1, 1, 0);
        one.time = one.time + Span::from_millis(60_000);
        if step % 2 == 1 {
            one = Segment { sequence: Some(step * 10), payload: 10, acknowledgment: 1, ..one };
        } else {
            one.acknowledgment = step * 10;
            one.options.timestamps = Some((u32::MAX / 2 + step, 0));
        }
        one
    });
    takes(open.into_iter().chain(rest));
}

#[test]
fn ten_thousand_kinds_of_wait() {
    takes((1..MANY).map(|step| match step % 4 {
        0 => segment(step, false, 1, step * 40, 1, 160),
        1 => Segment { window: 0, ..segment(step, true, 1, 1, step * 40 + 120, 0) },
        2 => Segment { window: 9_000, ..segment(step, true, 1, 1, step * 40 + 80, 0) },
        _ => segment(step, true, 1, 1, step * 40 + 40, 9),
    }));
}

#[test]
fn sack_blocks_everywhere() {
    takes((1..MANY).map(|step| {
        let mut one = segment(step, step % 2 == 0, 1, step * 10, step * 9, (step % 2) * 30);
        for block in 0..4 {
            let (left, right) = (step * 10 + block * 7, step * 10 + block * 7 + 5);
            one.options.sack.push(SequenceRange { left, right });
        }
        one
    }));
}

#[test]
fn a_thousand_connections_a_second() {
    // Each is opened and reset; more than are remembered end within the time
    // that late packets may take.
    let all = (1..400_000_u32).flat_map(|step| {
        let open = |flags: Flags| {
            let mut one = segment(step, false, (step % 60_000) as u16, step, 0, 0);
            one.destination.port = (step / 60_000) as u16;
            Segment { flags, ..one }
        };
        [open(Flags::SYN), open(Flags::RST)]
    });
    let all = all.map(|one| Segment {
        time: Timestamp::ZERO + Span::from_micros(i64::try_from(one.number).unwrap_or(0) * 900),
        ..one
    });
    assert_eq!(takes(all), 799_998);
}
