//! A way back that is full, beside a way of the data that is.

use windlass_base::Cause;
use windlass_trace::report::{Confidence, ConnectionReport};

use crate::support::is_sound;
use crate::support::script::Timeline;

/// Times that the lines take for a packet, in microseconds.
struct Lines {
    data: i64,
    ack: i64,
}

/// 300 segments by a window of 24, over a path of 20 ms, as the sender sees them. A receiver
/// acknowledges each at once, with timestamps.
fn transfer(lines: &Lines) -> ConnectionReport {
    const HALF: i64 = 10_000;
    let stamp = |micros: i64| 500_000 + micros / 1_000;
    let at = |micros: i64| micros as f64 / 1e6;
    let mut packets: Vec<(i64, String)> = Vec::new();
    let (mut sent, mut data_free, mut ack_free) = (Vec::new(), 0, 0);
    for index in 0..300_i64 {
        let position = usize::try_from(index).unwrap();
        // The first flights double, and then each ACK lets one segment go.
        let in_flight = if position < 24 { 10 } else { 24 };
        let since: i64 = if position < in_flight { 20_100 } else { sent[position - in_flight] };
        let time = since + 20 + index % 3;
        let arrives = time.max(data_free) + lines.data + HALF;
        data_free = time.max(data_free) + lines.data;
        let leaves = arrives.max(ack_free) + lines.ack;
        ack_free = leaves;
        let comes = leaves + HALF;
        sent.push(comes);
        let (left, right) = (index * 1_448 + 1, (index + 1) * 1_448 + 1);
        packets.push((
            time,
            format!("{} > . {left}:{right} ack 1 ts {} {}", at(time), stamp(time), stamp(since)),
        ));
        packets.push((
            comes,
            format!(
                "{} < . 1 ack {right} win 65000 ts {} {}",
                at(comes),
                stamp(arrives),
                stamp(time)
            ),
        ));
    }
    packets.sort_by_key(|(time, _)| *time);
    let lines: Vec<String> = packets.into_iter().map(|(_, line)| line).collect();
    let report = Timeline::new()
        .t("0 > S 0 win 64240 mss 1460 ts 500000 0
            0.02 < S. 0 ack 1 win 65000 mss 1460 ts 500010 500000
            0.02 > . 1 ack 1 win 64240 ts 500020 500010")
        .t(&lines.join("\n"))
        .report();
    is_sound(&report);
    report
}

#[test]
fn acks_that_queue_are_of_a_full_way_back() {
    for ack in [2_500, 4_000, 9_000] {
        let verdict = transfer(&Lines { data: 100, ack }).verdict;
        assert_eq!(verdict.cause, Cause::AckPath, "{ack}: {}", verdict.sentence);
        assert!(verdict.confidence <= Confidence::Medium, "{ack}");
        assert!(!verdict.remedies.iter().any(|one| one.action.to_string().contains("faster path")));
    }
}

#[test]
fn data_that_queues_is_of_a_full_path() {
    for data in [2_500, 4_000, 9_000] {
        let verdict = transfer(&Lines { data, ack: 100 }).verdict;
        assert_eq!(verdict.cause, Cause::PathQueue, "{data}: {}", verdict.sentence);
    }
}
