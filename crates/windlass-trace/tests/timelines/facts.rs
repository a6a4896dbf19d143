//! Facts beside the verdict: who ended a connection, what its set-up took, when its
//! programs paused, and figures that agree with each other.

use windlass_base::Cause;
use windlass_trace::report::{CaveatId, Confidence, ConnectionReport, EndingKind, Side};

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{caveat, has_caveat, is_mostly, is_near, played, report, reports};

/// Returns the ending of a connection: its kind, its side and its packet.
fn ended(report: &ConnectionReport) -> (EndingKind, Option<Side>, Option<u64>) {
    (report.ending.how, report.ending.by, report.ending.packet)
}

fn sent() -> Timeline {
    Timeline::opened(1.0, 65_535).t("0.0011 > . 1:1461 ack 1
                                     0.0012 > P. 1461:2921
                                     0.0022 < . 1 ack 2921")
}

#[test]
fn a_fin_says_who_closed_first() {
    let report = sent()
        .t("0.0030 < F. 1 ack 2921
            0.0040 > F. 2921 ack 2
            0.0050 < . 2 ack 2922")
        .report();
    assert_eq!(ended(&report), (EndingKind::Fin, Some(Side::Receiver), Some(7)));
    assert_eq!(report.ending.both_closed, Some(true));
    assert_eq!(report.ending.silent_seconds, None);
}

#[test]
fn one_fin_closes_one_half() {
    let report = sent().t("0.0030 > F. 2921 ack 1").report();
    assert_eq!(ended(&report), (EndingKind::Fin, Some(Side::Sender), Some(7)));
    assert_eq!(report.ending.both_closed, Some(false));
}

#[test]
fn a_reset_says_who_broke_it_off() {
    let report = sent()
        .t("0.0030 > F. 2921 ack 1
            0.0040 < R. 1 ack 2921")
        .report();
    assert_eq!(ended(&report), (EndingKind::Reset, Some(Side::Receiver), Some(8)));
}

#[test]
fn a_capture_that_ends_first_leaves_it_open() {
    assert_eq!(ended(&sent().report()), (EndingKind::Open, None, None));
    // Data that nobody sends again may have its ACK where the capture does not show it.
    let report = sent().t("0.0030 > P. 2921:4381\n9.0 > P. 4381:5841").report();
    assert_eq!(ended(&report), (EndingKind::Open, None, None));
    // Data that has waited for a moment only is none that nobody answers.
    let report = sent().t("0.0030 > P. 2921:4381").report();
    assert_eq!(ended(&report), (EndingKind::Open, None, None));
}

#[test]
fn who_leaves_data_unanswered_fell_silent() {
    let report = sent()
        .t("0.0030 > P. 2921:4381
            0.2100 > P. 2921:4381
            0.6200 > P. 2921:4381
            1.4400 > P. 2921:4381")
        .report();
    assert_eq!(ended(&report), (EndingKind::Silence, Some(Side::Receiver), None));
    assert_eq!(report.ending.unanswered_bytes.unwrap().get(), 1_460);
    is_near(report.ending.unanswered_seconds.unwrap().as_seconds(), 1.437, 1e-6);
    let verdict = &report.verdict;
    assert!(
        verdict.sentence.to_string().contains("the same data 3 times more"),
        "{}",
        verdict.sentence
    );
    // A peer that is gone is no matter of cables.
    let [remedy] = &verdict.remedies[..] else { panic!("{:?}", verdict.remedies) };
    assert_eq!((remedy.side, remedy.expected_bytes_per_second), (Side::Receiver, None));
    assert!(!remedy.action.to_string().contains("cable"), "{}", remedy.action);
}

#[test]
fn nothing_more_for_long_is_silence() {
    // Another connection shows that the capture went on.
    let mut timeline = sent();
    let mut later = sent().segments;
    for segment in &mut later {
        segment.number += 6;
        segment.time = segment.time + windlass_base::Span::from_millis(90_000);
        for end in [&mut segment.source, &mut segment.destination] {
            end.port = end.port.wrapping_add(1_000);
        }
    }
    timeline.segments.extend(later);
    let all = reports(&timeline.segments);
    let first = all.iter().find(|report| report.number == 1).unwrap();
    assert_eq!(ended(first), (EndingKind::Silence, None, None));
    is_near(first.ending.silent_seconds.unwrap().as_seconds(), 90.0, 1e-6);
    let second = all.iter().find(|report| report.number == 2).unwrap();
    assert_eq!(ended(second), (EndingKind::Open, None, None));
}

#[test]
fn the_set_up_counts_from_the_first_syn() {
    let report = Timeline::new()
        .t("0.00 > S 0 win 64240 mss 1460
            1.00 > S 0 win 64240 mss 1460
            3.00 > S 0 win 64240 mss 1460
            3.02 < S. 0 ack 1 win 65535 mss 1460
            3.02 > . 1 ack 1
            3.0201 > P. 1:1461
            3.0401 < . 1 ack 1461")
        .report();
    let opening = report.handshake.as_ref().unwrap();
    is_near(opening.seconds.unwrap().as_seconds(), 3.02, 1e-9);
    is_near(opening.rtt_seconds.unwrap().as_seconds(), 0.02, 1e-9);
    assert_eq!((opening.syns, opening.syn_acks), (3, 1));
    assert_eq!(opening.opened_by, Some(Side::Sender));
}

#[test]
fn think_time_and_transfer_time_are_the_whole() {
    let report = Timeline::opened(1.0, 65_535)
        .rounds(
            10,
            0.5,
            2_920,
            "0.0011 > . 1:1461 ack 1
                                 0.0012 > P. 1461:2921
                                 0.0022 < . 1 ack 2921",
        )
        .report();
    let (think, transfer) = (report.think_seconds, report.transfer_seconds);
    assert_eq!(think + transfer + report.untold_seconds, report.seconds);
    is_near(think.as_seconds(), 4.5, 0.05);
}

#[test]
fn a_transfer_without_pauses_has_no_think_time() {
    let report = played(&Transfer { window: 16_384, ..Transfer::default() });
    assert_eq!(report.think_seconds.as_seconds(), 0.0);
    assert_eq!(report.transfer_seconds, report.seconds);
}

#[test]
fn the_ratio_is_of_the_segments_beside_it() {
    let lost = (0..40).map(|place| place * 8 + 5).collect();
    let report = played(&Transfer { lost, sack: true, ..Transfer::default() });
    let losses = &report.losses;
    let lost = losses.retransmissions - losses.needless;
    assert!(lost > 20, "{losses:?}");
    is_near(losses.ratio, lost as f64 / losses.segments as f64, 1e-12);
    let words = format!("{lost} of {} segments", losses.segments);
    let verdict = &report.verdict;
    assert!(verdict.sentence.to_string().contains(&words), "{} lacks {words}", verdict.sentence);
}

#[test]
fn the_receiver_says_how_large_a_segment_may_be() {
    // The sender takes little, and may send more.
    let report = Timeline::new()
        .t("0 > S 0 win 64240 mss 536
            0.001 < S. 0 ack 1 win 65535 mss 1460
            0.001 > . 1 ack 1")
        .rounds(
            12,
            0.002,
            2_920,
            "0.0011 > . 1:1461 ack 1
                                   0.0012 > P. 1461:2921
                                   0.0022 < . 1 ack 2921",
        )
        .report();
    assert_eq!(report.losses.super_packets, 0);
    assert_eq!(report.receive_window.segment_bytes.get(), 1_460);
    assert!(!has_caveat(&report, "super-packets"));
}

#[test]
fn a_probe_that_the_full_segment_follows_is_not_sent_again() {
    // A window probe of one byte, and of a piece; then all of it, when the window opens.
    for piece in [1, 500] {
        let last = 1_461 + piece;
        let report = Timeline::opened(1.0, 1_460)
            .t(&format!(
                "0.0011 > P. 1:1461 ack 1
                 0.0021 < . 1 ack 1461 win {}
                 0.3000 > . 1461:{last} ack 1
                 0.300961 < . 1 ack 1461 win 8000
                 0.3010 > . 1461:2921 ack 1
                 0.3011 > P. 2921:4381 ack 1
                 0.3021 < . 1 ack 4381",
                if piece == 1 { 0 } else { piece }
            ))
            .report();
        assert_eq!(report.losses.retransmissions, 0, "{piece}: {:?}", report.losses);
        assert_eq!(report.bytes.get(), 4_380, "{piece}");
        assert!(!report.causes.contains_key(&Cause::Timeout.to_string()), "{:?}", report.causes);
    }
}

#[test]
fn nothing_tells_the_path_at_a_receiver_without_a_handshake() {
    let timeline = Timeline::new().rounds(
        30,
        0.02,
        2_920,
        "0.0011 > . 1:1461 ack 1
                                                            0.0012 > P. 1461:2921
                                                            0.001214 < . 1 ack 2921",
    );
    assert!(timeline.report().rtt_seconds.is_none());
    // A time longer than a host's is the path's.
    let timeline = Timeline::new().rounds(
        30,
        0.02,
        2_920,
        "0.0011 > . 1:1461 ack 1
                                                            0.0012 > P. 1461:2921
                                                            0.0112 < . 1 ack 2921",
    );
    is_near(timeline.report().rtt_seconds.unwrap().min.as_seconds(), 0.01, 1e-6);
}

#[test]
fn no_timer_is_as_quick_as_a_copy() {
    let report = sent()
        .t("0.0030 > P. 2921:4381 id 900
            0.003039 > P. 2921:4381 id 901
            0.0040 < . 1 ack 4381")
        .report();
    assert_eq!((report.losses.by_timer, report.losses.ratio), (0, 0.0), "{:?}", report.losses);
}

#[test]
fn a_remedy_brings_a_tenth_more() {
    let plans = [
        Transfer { window: 16_384, ..Transfer::default() },
        Transfer { window: 4_096, rtt: 2_000, capture_point: 100, ..Transfer::default() },
        Transfer { send_buffer: 8_192, ..Transfer::default() },
        Transfer { rate: Some(500_000), queue: 40, ..Transfer::default() },
        Transfer { bytes: 60_000, ..Transfer::default() },
        Transfer { cwnd: (10, 20), ..Transfer::default() },
        Transfer { lost: vec![20, 90, 200], ..Transfer::default() },
    ];
    for plan in plans {
        let report = report(&plan.play());
        let measured = report.bytes_per_second.bytes_per_second();
        for remedy in &report.verdict.remedies {
            let Some(expected) = remedy.expected_bytes_per_second else { continue };
            assert!(expected.bytes_per_second() >= measured * 1.1, "{plan:?}: {remedy:?}");
            if remedy.side != Side::Path {
                // The link of all of these.
                let most = plan.rate.unwrap() as f64 * 1.01;
                assert!(expected.bytes_per_second() <= most, "{plan:?}: {remedy:?}");
            }
        }
    }
}

/// A client that sends twice, each acknowledged after 0.2 ms, and then takes data, of
/// which there is a segment each 1.5 s.
fn served(opening_ms: f64) -> ConnectionReport {
    let at = |ms: f64| (opening_ms + ms) / 1e3;
    let (asked, told) = (at(0.0), at(0.2));
    Timeline::opened(opening_ms, 65_535)
        .t(&format!(
            "{asked} > P. 1:201 ack 1
             {told} < . 1 ack 201
             {} > P. 201:401 ack 1
             {} < . 1 ack 401",
            at(0.3),
            at(0.5)
        ))
        .dialogue(
            20,
            1.5,
            [0, 1_460],
            "0.5000 < P. 1:1461 ack 401
             0.5001 > . 401 ack 1461",
        )
        .report()
}

/// A client that sends twice, each acknowledged after so many milliseconds, over a path of
/// 80 ms; then it takes 2, 4, 8, 16 and 32 segments, each flight a round trip after the ACKs
/// of the one before.
fn fetched(acked_ms: f64) -> ConnectionReport {
    let at = |ms: f64| (80.0 + ms) / 1e3;
    let mut timeline = Timeline::opened(80.0, 65_535).t(&format!(
        "{} > P. 1:201 ack 1
         {} < . 1 ack 201
         {} > P. 201:401 ack 1
         {} < . 1 ack 401",
        at(0.0),
        at(acked_ms),
        at(acked_ms + 0.1),
        at(2.0 * acked_ms + 0.1),
    ));
    let mut from = 1;
    for (round, segments) in [2, 4, 8, 16, 32].into_iter().enumerate() {
        let begins = at(200.0 + 80.3 * round as f64) * 1e3;
        for segment in 0..segments {
            let (time, end) = ((begins + 0.01 * f64::from(segment)) / 1e3, from + 1_460);
            timeline = timeline.t(&format!("{time} < . {from}:{end} ack 401"));
            from = end;
        }
        timeline = timeline.t(&format!("{} > . 401 ack {from}", (begins + 0.4) / 1e3));
    }
    timeline.report()
}

#[test]
fn what_a_sender_beyond_a_proxy_waits_for_does_not_show() {
    is_mostly(&fetched(80.0), Cause::SlowStart, 0.9);
    let proxied = fetched(0.2);
    assert!(has_caveat(&proxied, "split-connection"));
    is_mostly(&proxied, Cause::Unknown, 0.9);
    assert!(proxied.verdict.remedies.is_empty(), "{:?}", proxied.verdict.remedies);
}

#[test]
fn what_acknowledges_far_sooner_than_it_opened_may_be_a_proxy() {
    let (direct, proxied) = (served(0.3), served(80.0));
    let split = caveat(&proxied, CaveatId::SplitConnection).unwrap();
    assert!(split.contains("answered the SYN after 80 ms"), "{split}");
    assert!(split.contains("acknowledges data after 200 µs"), "{split}");
    assert!(!has_caveat(&direct, "split-connection"));
    // The sender pauses, or what lies beyond the proxy.
    for report in [&direct, &proxied] {
        is_mostly(report, Cause::SenderIdle, 0.9);
    }
    assert_eq!(direct.verdict.confidence, Confidence::High);
    assert_eq!(proxied.verdict.confidence, Confidence::Medium);
    // A host that wakes for the SYN is as near as it says later.
    assert!(!has_caveat(&served(4.0), "split-connection"));
}

#[test]
fn hosts_that_woke_for_the_handshake_may_be_one() {
    let has_local = |latency_us: u32| {
        let time = 300 + 10 + latency_us;
        let report = Timeline::opened(0.3, 65_535)
            .rounds(20, 0.001, 1_460, &format!("0.000310 > P. 1:1461\n0.{time:06} < . 1 ack 1461"))
            .report();
        has_caveat(&report, "local")
    };
    assert!(has_local(50));
    assert!(!has_local(150));
}
