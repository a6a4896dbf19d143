//! Openings, endings, numbers that wrap and clocks that step.

use windlass_base::{Cause, Limit};
use windlass_wire::Segment;

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{
    analyze, has_caveat, is_free_of, is_mostly, is_near, is_sound, json, lost_nothing, report,
    reports,
};

#[test]
fn sequence_numbers_wrap_in_the_middle() {
    for lost in [vec![], vec![40, 160, 161]] {
        let plan = Transfer { window: 16_384, lost, sack: true, ..Transfer::default() };
        let plain = report(&plan.play());
        let first = [u32::MAX - 250_000, u32::MAX - 3];
        let wrapped = report(&Transfer { first, ..plan }.play());
        assert_eq!(json(&plain), json(&wrapped));
    }
}

#[test]
fn the_syn_is_sent_again() {
    let report = Timeline::new()
        .t("0.00 > S 0 win 64240 mss 1460
            1.00 > S 0 win 64240 mss 1460
            1.02 < S. 0 ack 1 win 65535 mss 1460
            1.02 > . 1 ack 1
            1.0201 > P. 1:1461
            1.0401 < . 1 ack 1461")
        .report();
    let handshake = report.handshake.as_ref().unwrap();
    assert_eq!(handshake.sender.unwrap().sent, 2);
    is_near(handshake.rtt_seconds.unwrap().as_seconds(), 0.02, 1e-9);
    lost_nothing(&report);
    // The opening is no part of the transfer.
    is_near(report.seconds.as_seconds(), 0.02, 1e-9);
}

#[test]
fn the_answer_is_sent_again() {
    let report = Timeline::new()
        .t("0.00 > S 0 win 64240 mss 1460
            0.02 < S. 0 ack 1 win 65535 mss 1460
            1.02 < S. 0 ack 1 win 65535 mss 1460
            1.0201 > . 1 ack 1
            1.0202 > P. 1:1461
            1.0402 < . 1 ack 1461")
        .report();
    // The second answer is the one that was heard: nothing tells when its SYN
    // arrived, and a round trip of 1 s would be wrong.
    let rtt = report.rtt_seconds.unwrap().min;
    is_near(rtt.as_seconds(), 0.02, 1e-3);
    assert_eq!(report.rtt_seconds.unwrap().capture_to_sender.as_seconds(), 0.0);
}

fn closed_transfer() -> Timeline {
    Timeline::opened(1.0, 65_535).t("0.0011 > . 1:1461 ack 1
                                     0.0012 > P. 1461:2921
                                     0.0022 < . 1 ack 2921
                                     0.0030 > F. 2921 ack 1
                                     0.0040 < F. 1 ack 2922
                                     0.0041 > . 2922 ack 2")
}

#[test]
fn a_fin_takes_a_number_but_is_no_data() {
    let report = closed_transfer().report();
    assert_eq!((report.bytes.get(), report.bytes_returned.get()), (2_920, 0));
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
    lost_nothing(&report);
    assert_eq!(report.losses.duplicate_acks, 0);
}

#[test]
fn a_fin_with_the_last_data() {
    let report = Timeline::opened(1.0, 65_535)
        .t("0.0011 > . 1:1461 ack 1
            0.0012 > FP. 1461:2921
            0.0022 < . 1 ack 2922
            0.0023 < F. 1 ack 2922
            0.0024 > . 2922 ack 2")
        .report();
    assert_eq!(report.bytes.get(), 2_920);
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
    lost_nothing(&report);
}

#[test]
fn a_fin_that_was_not_captured() {
    let report = Timeline::opened(1.0, 65_535)
        .t("0.0011 > . 1:1461 ack 1
            0.0012 > P. 1461:2921
            0.0022 < . 1 ack 2921
            0.0040 < F. 1 ack 2922
            0.0041 > . 2922 ack 2")
        .report();
    assert_eq!(report.bytes.get(), 2_920);
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
}

#[test]
fn a_fin_sent_again_is_no_lost_data() {
    let report = Timeline::opened(1.0, 65_535)
        .t("0.0011 > . 1:1461 ack 1
            0.0012 > P. 1461:2921
            0.0022 < . 1 ack 2921
            0.0030 > F. 2921 ack 1
            0.2030 > F. 2921 ack 1
            0.2040 < . 1 ack 2922
            0.2041 < F. 1 ack 2922
            0.2042 > . 2922 ack 2")
        .report();
    assert_eq!(report.bytes.get(), 2_920);
    assert_eq!(report.losses.retransmissions, 0);
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
}

/// Plays the timeline again with the same ports and other sequence numbers.
fn again(after: &Timeline, seconds: f64) -> Vec<Segment> {
    let mut second = Timeline::from([77_000_000, 88_000_000]);
    second.segments.clone_from(&after.segments);
    let at = |offset: f64| format!("{:.6}", seconds + offset);
    let (zero, one, two, three) = (at(0.0), at(0.001), at(0.0012), at(0.0022));
    second
        .t(&format!(
            "{zero} > S 0 ack 0 win 64240 mss 1460
             {one} < S. 0 ack 1 win 65535 mss 1460
             {one} > . 1 ack 1
             {two} > P. 1:1001
             {three} < . 1 ack 1001"
        ))
        .segments
}

#[test]
fn the_ports_are_used_again() {
    let all = again(&closed_transfer(), 0.5);
    let (_, totals, _) = analyze(&all);
    assert_eq!((totals.connections, totals.connections_with_data), (2, 2));
    let reports = reports(&all);
    assert_eq!(reports.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(reports.iter().map(|one| one.bytes.get()).collect::<Vec<_>>(), [2_920, 1_000]);
    for one in &reports {
        lost_nothing(one);
        assert_eq!(one.losses.missing_from_capture_bytes.get(), 0);
    }
}

#[test]
fn the_ports_are_used_again_after_a_reset_or_nothing() {
    let open = Timeline::opened(1.0, 65_535).t("0.0012 > P. 1:2921 ack 1
                                                0.0022 < . 1 ack 2921");
    for first in [open.clone(), open.t("0.0030 > R. 2921 ack 1 win 0")] {
        let reports = reports(&again(&first, 9.0));
        assert_eq!(reports.iter().map(|one| one.bytes.get()).collect::<Vec<_>>(), [2_920, 1_000]);
    }
}

#[test]
fn a_late_packet_opens_no_connection() {
    let all = closed_transfer().t("0.0051 < F. 1 ack 2922
                                   0.0052 > . 2922 ack 2");
    let (_, totals, _) = analyze(&all.segments);
    assert_eq!(totals.connections, 1);
}

#[test]
fn both_directions_carry_data() {
    // 100 kB one way, 10 kB the other: the larger one is reported.
    let report = Timeline::opened(10.0, 65_535)
        .dialogue(
            35,
            0.011,
            [2_920, 292],
            "0.0120 > . 1:1461 ack 1
             0.0121 > P. 1461:2921
             0.0221 < P. 1:293 ack 2921 win 65535
             0.0222 > . 2921 ack 293",
        )
        .report();
    assert_eq!((report.bytes.get(), report.bytes_returned.get()), (102_200, 10_220));
    lost_nothing(&report);
    assert_eq!(report.losses.duplicate_acks, 0);
}

#[test]
fn a_clock_that_steps_back() {
    let mut all = Transfer { window: 16_384, rtt: 20_000, ..Transfer::default() }.play();
    let whole = report(&all);
    // A second back in the middle, by a time server.
    let middle = all.len() / 2;
    for segment in &mut all[middle..] {
        segment.time = segment.time - windlass_base::Span::from_millis(1_000);
    }
    let stepped = report(&all);
    is_sound(&stepped);
    lost_nothing(&stepped);
    assert_eq!(stepped.bytes, whole.bytes);
    assert!(has_caveat(&stepped, "clock"));
    // Only the moment of the step is lost: else the rate would read twice as
    // high.
    is_near(stepped.seconds.share_of(whole.seconds), 1.0, 0.1);
    is_mostly(&stepped, Cause::WindowPathRtt, 0.8);
}

#[test]
fn a_little_disorder_between_two_interfaces() {
    // ACKs are written 30 µs too early against the data.
    let mut all = Transfer { window: 16_384, rtt: 20_000, ..Transfer::default() }.play();
    for segment in all.iter_mut().filter(|one| one.source == crate::support::ends()[1]) {
        segment.time = segment.time - windlass_base::Span::from_micros(30);
    }
    let report = report(&all);
    is_sound(&report);
    is_mostly(&report, Cause::WindowPathRtt, 0.8);
    is_free_of(&report, Cause::Unknown);
    assert!(!has_caveat(&report, "clock"));
}

#[test]
fn times_that_are_alike_to_the_last_digit_tell_nothing() {
    let told = |last: f64| {
        Timeline::new()
            .t(&format!(
                "0.00 > S 0 win 64240 mss 1460
                 0.05 < S. 0 ack 1 win 65535 mss 1460
                 0.10 > . 1 ack 1
                 0.15 > P. 1:45 ack 1
                 0.20 < . 1 ack 45
                 0.25 > . 45:1505 ack 1
                 0.30 < . 1 ack 1505
                 {last} > P. 1505:2965 ack 1
                 0.40 < . 1 ack 2965
                 0.45 > P. 2965:3000 ack 1"
            ))
            .report()
    };
    let made_up = told(0.35);
    assert!(has_caveat(&made_up, "made-up-times"));
    assert_eq!(made_up.verdict.cause.limit(), Limit::Unknown);
    assert!(!has_caveat(&told(0.3503), "made-up-times"));
}
