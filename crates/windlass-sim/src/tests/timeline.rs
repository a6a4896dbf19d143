//! Packet timelines for tests: one text is both the script and what is expected
//! (after packetdrill).
//!
//! ```text
//!        0 > S 0:0 win 32120 <mss 1460>
//!     6540 < S. 0:0 ack 1 win 2920 <mss 1460>
//!     6616 > . 1:1 ack 1 win 32120
//! ```
//!
//! Times are microseconds. `>` goes to the machine under test, `<` comes from
//! it. Numbers are relative to each side's initial one.

use windlass_base::{Span, Timestamp};
use windlass_wire::{Flags, Options, SequenceRange};

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
    let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let time = |line: &str| -> i64 { line.split_whitespace().next().unwrap().parse().unwrap() };
    let end = time(lines.last().unwrap());
    let mut seen: Vec<String> = Vec::new();
    let mut initial = None;
    let mut inputs = lines.iter().filter(|line| line.contains(" > ")).peekable();
    loop {
        let input = inputs.peek().map(|line| time(line));
        let due = next_time(machine).map(|due| due.as_nanos().div_euclid(1_000));
        let Some(now) = input.into_iter().chain(due).min() else { break };
        let now = now.max(seen.last().map_or(0, |line| time(line)));
        if now > end {
            break;
        }
        let moment = Timestamp::ZERO + Span::from_micros(now);
        if input == Some(now) {
            let line = inputs.next().unwrap();
            seen.push((*line).split_whitespace().collect::<Vec<_>>().join(" "));
            handle(machine, moment, &parse(line, initial.unwrap_or(0)));
        }
        // A timer that runs out within the microsecond has run out at its end.
        for moment in [moment, moment + Span::from_nanos(999)] {
            while next_time(machine).is_some_and(|due| due <= moment) {
                let Some(segment) = poll(machine, moment) else { continue };
                let initial = *initial.get_or_insert(segment.sequence);
                seen.push(format!("{now} < {}", show(&segment, initial)));
            }
        }
    }
    let wanted: Vec<String> =
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let (seen, wanted) = (seen.join("\n"), wanted.join("\n"));
    assert!(seen == wanted, "seen:\n{seen}\n\nwanted:\n{wanted}");
}

fn show(segment: &Segment, initial: u32) -> String {
    let start = segment.sequence.wrapping_sub(initial);
    let end = start.wrapping_add(segment.payload.len());
    let mut text = format!("{} {start}:{end}", segment.flags);
    if segment.flags.has(Flags::ACK) {
        text += &format!(" ack {}", segment.acknowledgment.wrapping_sub(INITIAL));
    }
    text += &format!(" win {}", segment.window);
    let options = &segment.options;
    let mut listed = Vec::new();
    listed.extend(options.mss.map(|mss| format!("mss {mss}")));
    listed.extend(options.window_scale.map(|shift| format!("wscale {shift}")));
    if options.sack_permitted {
        listed.push("sackOK".to_owned());
    }
    for range in options.sack.as_slice() {
        let number = |number: u32| number.wrapping_sub(INITIAL);
        listed.push(format!("sack {}:{}", number(range.left), number(range.right)));
    }
    if !listed.is_empty() {
        text += &format!(" <{}>", listed.join(","));
    }
    if let Payload::Bytes(bytes) = &segment.payload {
        text += &format!(" {:?}", String::from_utf8_lossy(bytes.as_slice()));
    }
    text
}

fn parse(line: &str, initial: u32) -> Segment {
    let (line, options) = line.split_once('<').unwrap_or((line, ""));
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |name: &str| -> Option<u32> {
        let at = words.iter().position(|word| *word == name)?;
        Some(words[at + 1].parse().unwrap())
    };
    let flags = words[2].chars().fold(Flags(0), |flags, letter| {
        flags.with(match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'U' => Flags::URG,
            other => panic!("no flag {other}"),
        })
    });
    let (start, end) = words[3].split_once(':').unwrap();
    let (start, end): (u32, u32) = (start.parse().unwrap(), end.parse().unwrap());
    let number = |number: u32| initial.wrapping_add(number);
    let mut parsed = Options::default();
    for option in options.trim_end().trim_end_matches('>').split(',').filter(|o| !o.is_empty()) {
        match option.split_once(' ') {
            None => parsed.sack_permitted = true,
            Some(("mss", mss)) => parsed.mss = Some(mss.parse().unwrap()),
            Some(("wscale", shift)) => parsed.window_scale = Some(shift.parse().unwrap()),
            Some((_, range)) => {
                let (left, right) = range.split_once(':').unwrap();
                parsed.sack.push(SequenceRange {
                    left: number(left.parse().unwrap()),
                    right: number(right.parse().unwrap()),
                });
            }
        }
    }
    Segment {
        source: 3_692,
        destination: 9_100,
        sequence: INITIAL.wrapping_add(start),
        acknowledgment: after("ack").map_or(0, number),
        flags,
        window: u16::try_from(after("win").unwrap_or(0)).unwrap(),
        options: parsed,
        payload: Payload::Zeros(end - start),
    }
}
