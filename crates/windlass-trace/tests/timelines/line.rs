//! Slow lines, seen at the receiver: what pauses on one connection may be another's turn, or
//! a round trip that no handshake tells.

use windlass_base::Cause;

use crate::support::script::{Timeline, beside};
use crate::support::{is_mostly, share};

/// When a line that takes 281 ms for a segment has delivered so many, by a clock that does not
/// step.
fn arrival(segment: u32) -> f64 {
    // No two are as far apart to the microsecond.
    f64::from(segment) * 0.281 + f64::from(segment % 7) * 0.000_13
}

/// Returns the capture of a receiver 400 ms away whose segments come at these times and are
/// acknowledged at once. The handshake is optional, and `hops` routers are between.
fn received(times: impl Iterator<Item = f64>, handshake: bool, hops: u8) -> Timeline {
    let mut timeline = Timeline::new();
    if handshake {
        timeline = timeline.t("-0.8 < S 0 win 8760 mss 1460
             -0.4 > S. 0 ack 1 win 64240 mss 1460
             -0.4 < . 1 ack 1 win 8760");
    }
    let ttl = 64 - hops;
    for (number, time) in (0..).zip(times) {
        let begin = number * 1_460 + 1;
        let push = if number % 3 == 2 { "P." } else { "." };
        timeline = timeline.t(&format!(
            "{time} > {push} {begin}:{} ack 1 ttl {ttl}
             {time} < . 1 ack {} win 8760",
            begin + 1_460,
            begin + 1_460
        ));
    }
    timeline
}

/// Of so many segments that a line delivers, those of one of two connections, which take
/// turns of four.
fn turns(segments: u32, first: bool) -> impl Iterator<Item = f64> {
    (0..segments).filter(move |place| (place / 4 % 2 == 0) == first).map(arrival)
}

#[test]
fn a_full_line_that_connections_take_by_turns_holds_each_of_them() {
    let first = received(turns(120, true), true, 9);
    // A segment half an hour later leaves no bin of the whole capture for a single turn.
    let other = received(turns(120, false).chain([2_000.0]), true, 12);
    let all = beside(first, other);
    assert_eq!(all.len(), 2);
    for report in all.iter().filter(|report| report.bytes.get() == 60 * 1_460) {
        is_mostly(report, Cause::PathQueue, 0.9);
        assert!(
            report.verdict.sentence.to_string().contains("to 2 connections together"),
            "{report:#?}"
        );
    }
}

#[test]
fn pauses_that_nobody_fills_are_no_full_line() {
    // The other connection ends early, and the line stands still between the bursts.
    let first = received(turns(400, true), true, 9);
    let other = received(turns(40, false), true, 12);
    let all = beside(first, other);
    let longer = all.iter().find(|report| report.bytes.get() == 200 * 1_460).unwrap();
    assert!(share(longer, Cause::PathQueue) < 0.6, "{longer:#?}");
}

#[test]
fn without_a_handshake_a_pause_may_be_a_round_trip() {
    // Four segments at once, each 400 ms.
    let bursts =
        || (0..200).map(|number| f64::from(number / 4) * 0.4 + f64::from(number % 4) / 1e3);
    let far = received(bursts(), false, 9).report();
    is_mostly(&far, Cause::Unknown, 0.9);
    // No router lies between: then there is no such round trip.
    let near = received(bursts(), false, 0).report();
    is_mostly(&near, Cause::SenderIdle, 0.9);
}
