//! Packet timelines for tests: one text is both the script and what is expected
//! (after packetdrill).
//!
//! ```text
//! 0.000000 > S 0 win 32120 mss 1460
//! 0.006540 < S. 0 ack 1 win 2920 mss 1460
//! 0.006616 > . 1 ack 1 win 32120
//! ```
//!
//! `>` goes to the machine under test, `<` comes from it. The segments of the machine are compared
//! as text: [`line`] tells the format.

#[path = "../../../windlass-wire/tests/support/timeline.rs"]
mod line;

use line::{Line, lines, moved};
use windlass_base::{Span, Timestamp};
use windlass_wire::{Flags, SequenceRange};

use crate::segment::{Payload, Segment};

/// The initial sequence number of the test's side: near the wrap.
const INITIAL: u32 = u32::MAX - 2_000;

/// Plays the `>` lines of `script` to `machine`, up to the time of its last
/// line, and compares everything that passed with it.
pub(crate) fn play<M>(
    machine: &mut M,
    handle: fn(&mut M, Timestamp, &Segment),
    poll: fn(&mut M, Timestamp) -> Option<Segment>,
    next_time: fn(&M) -> Option<Timestamp>,
    script: &str,
) {
    let wanted: Vec<String> =
        lines(script).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let lines: Vec<Line> = wanted.iter().map(|line| Line::parse(line)).collect();
    let end = lines.last().unwrap().time;
    let mut seen: Vec<Line> = Vec::new();
    let mut initial = None;
    let mut inputs = lines.iter().filter(|line| line.from == 0).peekable();
    loop {
        let input = inputs.peek().map(|line| line.time);
        let due = next_time(machine).map(|due| due.as_nanos().div_euclid(1_000) * 1_000);
        let due = due.map(Timestamp::from_nanos);
        let Some(now) = input.into_iter().chain(due).min() else { break };
        let now = now.max(seen.last().map_or(Timestamp::ZERO, |line| line.time));
        if now > end {
            break;
        }
        if input == Some(now) {
            let line = inputs.next().unwrap();
            seen.push(line.clone());
            handle(machine, now, &told(line, initial.unwrap_or(0)));
        }
        // A timer that runs out within the microsecond has run out at its end.
        for moment in [now, now + Span::from_nanos(999)] {
            while next_time(machine).is_some_and(|due| due <= moment) {
                let Some(segment) = poll(machine, moment) else { continue };
                let initial = *initial.get_or_insert(segment.sequence);
                seen.push(shown(now, 1, &segment, [INITIAL, initial]));
            }
        }
    }
    let seen: Vec<String> = seen.iter().map(ToString::to_string).collect();
    let (seen, wanted) = (seen.join("\n"), wanted.join("\n"));
    assert!(seen == wanted, "seen:\n{seen}\n\nwanted:\n{wanted}");
}

/// The line of a segment that this end sends; both have these first sequence numbers.
pub(crate) fn shown(time: Timestamp, from: usize, segment: &Segment, first: [u32; 2]) -> Line {
    let (own, other) = (first[from], first[1 - from]);
    let left = segment.sequence.wrapping_sub(own);
    let ack = segment.acknowledgment.wrapping_sub(other);
    Line {
        time,
        from,
        flags: segment.flags,
        data: SequenceRange { left, right: left.wrapping_add(segment.payload.len()) },
        ack: segment.flags.has(Flags::ACK).then_some(ack),
        window: Some(segment.window),
        options: moved(&segment.options, other.wrapping_neg()),
        id: None,
        ttl: None,
        text: match &segment.payload {
            Payload::Zeros(_) => None,
            Payload::Bytes(bytes) => {
                Some(format!("{:?}", String::from_utf8_lossy(bytes.as_slice())))
            }
        },
    }
}

/// The segment of a line to a machine with this first sequence number.
fn told(line: &Line, initial: u32) -> Segment {
    assert!(line.text.is_none(), "a machine is sent zeros: {line}");
    let SequenceRange { left, right } = line.data;
    Segment {
        source: 3_692,
        destination: 9_100,
        sequence: INITIAL.wrapping_add(left),
        acknowledgment: line.ack.map_or(0, |ack| initial.wrapping_add(ack)),
        flags: line.flags,
        window: line.window.unwrap_or(0),
        options: moved(&line.options, initial),
        payload: Payload::Zeros(right - left),
    }
}

#[test]
fn a_line_is_written_as_it_was_read() {
    for line in [
        "0.000001 > S 0 win 0 mss 1460 ws 7 sackok ts 5000 0 id 65535 ttl 255",
        "3600.000000 < FP. 1:3 ack 1 ts 900 5000 sack 7-8 sack 1-3 id - \"\\0 \\u{2}\"",
        "0.500000 < SRUEW 4294967295:1",
    ] {
        assert_eq!(Line::parse(line).to_string(), line);
    }
}
