//! A receiver's window too small for what it waits for.

use windlass_base::verdict::Confidence;
use windlass_base::{Cause, Span};
use windlass_trace::report::ConnectionReport;

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{
    has_caveat, is_free_of, is_mostly, is_near, is_sound, lost_nothing, played, report, share,
};

/// Two frames and an ACK 117 ms later: the first device of the print-server
/// comparison.
pub(crate) fn two_frames_and_a_slow_ack() -> Timeline {
    Timeline::opened(0.2, 2_920).rounds(
        50,
        0.117_745,
        2_920,
        "0.001000 > . 1:1461 ack 1
         0.001007 > . 1461:2921
         0.118695 < . 1 ack 2921 win 2920",
    )
}

#[test]
fn two_frames_wait_for_a_slow_ack() {
    let report = two_frames_and_a_slow_ack().report();
    is_mostly(&report, Cause::WindowAckLatency, 0.99);
    lost_nothing(&report);
    assert_eq!(report.receive_window.full_frames, Some(2));
    let latency = report.ack_latency_seconds.unwrap();
    is_near(latency.p50.as_seconds(), 0.117_688, 1e-6);
    let predicted = report.verdict.predicted_bytes_per_second.unwrap();
    is_near(predicted.bytes_per_second(), 24_801.0, 248.0);
    let measured = report.verdict.measured_bytes_per_second;
    is_near(measured.bytes_per_second(), predicted.bytes_per_second(), 100.0);
}

#[test]
fn a_window_of_2_frames_and_a_bit_sends_the_frames_only() {
    // 4,000 bytes hold two full segments and a rest that no sender uses.
    let report = Timeline::opened(0.2, 4_000)
        .rounds(
            30,
            0.100_050,
            2_920,
            "0.001000 > . 1:1461 ack 1
             0.001007 > . 1461:2921
             0.101000 < . 1 ack 2921 win 4000",
        )
        .report();
    is_mostly(&report, Cause::WindowAckLatency, 0.98);
    lost_nothing(&report);
    let predicted = report.verdict.predicted_bytes_per_second.unwrap();
    is_near(predicted.bytes_per_second(), 29_200.0, 300.0);
}

#[test]
fn a_window_below_the_mss() {
    let report = Timeline::opened(10.0, 1_024)
        .rounds(
            40,
            0.010_050,
            1_024,
            "0.010050 > P. 1:1025 ack 1
             0.020050 < . 1 ack 1025 win 1024",
        )
        .report();
    is_mostly(&report, Cause::WindowBelowMss, 0.98);
    lost_nothing(&report);
    assert_eq!(report.receive_window.full_frames, Some(0));
    assert_eq!(report.receive_window.closures, 0);
}

#[test]
fn a_window_that_its_sender_does_not_use_is_not_closed() {
    // Less than half of the largest: a sender that avoids silly windows waits for its timer
    // (RFC 9293 section 3.8.6.2.1). But all that came was read, or the window would shrink.
    let report = Timeline::opened(10.0, 1_200)
        .t("0.010 > P. 1:1201 ack 1
            0.020 < . 1 ack 1201 win 512")
        .rounds(
            30,
            0.210,
            512,
            "0.220 > P. 1201:1713 ack 1
             0.230 < . 1 ack 1713 win 512",
        )
        .report();
    is_mostly(&report, Cause::WindowBelowMss, 0.95);
    // But for the one time at which it got smaller.
    assert_eq!(report.receive_window.closures, 1);
    // A reader that leaves more and more unread closes it.
    let report = Timeline::opened(10.0, 1_200)
        .t("0.010 > P. 1:601 ack 1
            0.020 < . 1 ack 601 win 600
            0.021 > P. 601:1101 ack 1
            0.031 < . 1 ack 1101 win 100
            0.331 > P. 1101:1201 ack 1
            0.341 < . 1 ack 1201 win 0
            0.641 < . 1 ack 1201 win 1200
            0.642 > P. 1201:1801 ack 1
            0.652 < . 1 ack 1801 win 1200")
        .report();
    is_mostly(&report, Cause::ReceiverNotReading, 0.8);
}

#[test]
fn a_window_over_a_long_path() {
    for capture_point in [0, 50, 100] {
        for timestamps in [false, true] {
            let plan =
                Transfer { window: 16_384, rtt: 50_000, capture_point, timestamps, ..plain() };
            let report = played(&plan);
            is_sound(&report);
            is_mostly(&report, Cause::WindowPathRtt, 0.8);
            lost_nothing(&report);
            let measured = report.verdict.measured_bytes_per_second.bytes_per_second();
            let predicted = report.verdict.predicted_bytes_per_second.unwrap();
            is_near(predicted.bytes_per_second() / measured, 1.0, 0.2);
        }
    }
}

#[test]
fn a_window_over_a_long_path_is_no_slow_ack() {
    let plan = Transfer { window: 16_384, rtt: 50_000, ..plain() };
    is_free_of(&played(&plan), Cause::WindowAckLatency);
}

#[test]
fn a_window_that_the_path_does_not_need() {
    // 64 kB over 1 ms would carry 65 MB/s: the link's 1 MB/s is the limit.
    let plan = Transfer { rtt: 1_000, rate: Some(1_000_000), ..plain() };
    let report = played(&plan);
    is_sound(&report);
    is_mostly(&report, Cause::PathQueue, 0.9);
    assert!(share(&report, Cause::WindowAckLatency) < 0.05);
}

fn plain() -> Transfer {
    Transfer { bytes: 500_000, ack_every: 1, ..Transfer::default() }
}

/// Six segments at once, of which each three are acknowledged, at two times, and three more
/// for each ACK, each of which is acknowledged so many seconds after the ACK that let it go.
fn halves([first, second]: [f64; 2], later: f64) -> Timeline {
    let mut timeline = Timeline::opened(0.2, 8_760).t(&format!(
        "0.001000 > . 1:1461 ack 1
         0.001010 > . 1461:2921
         0.001020 > . 2921:4381
         0.001030 > . 4381:5841
         0.001040 > . 5841:7301
         0.001050 > . 7301:8761
         {first} < . 1 ack 4381 win 8760"
    ));
    let (mut at, mut next) = (first, second);
    for acked in (4_381..500_000).step_by(4_380) {
        let sent = acked + 4_380;
        timeline = timeline.t(&format!(
            "{:.6} > . {sent}:{}
             {:.6} > . {}:{}
             {:.6} > . {}:{}",
            at + 0.000_010,
            sent + 1_460,
            at + 0.000_020,
            sent + 1_460,
            sent + 2_920,
            at + 0.000_030,
            sent + 2_920,
            sent + 4_380
        ));
        (at, next) = (next, at + later);
        timeline = timeline.t(&format!("{at:.6} < . 1 ack {} win 8760", acked + 4_380));
    }
    timeline
}

#[test]
fn a_window_in_halves_that_a_line_keeps_busy_is_the_lines() {
    // 10 Mbit/s take three full segments 3.69 ms.
    let report = halves([0.004_900, 0.008_590], 0.007_380).report();
    is_mostly(&report, Cause::PathQueue, 0.95);
}

#[test]
fn a_window_in_halves_that_wait_for_slow_acks_is_the_windows() {
    // Both ACKs of the first six wait for 50 ms, and a line of 100 Mbit/s parts them.
    let report = halves([0.051_000, 0.051_369], 0.050_000).report();
    is_mostly(&report, Cause::WindowAckLatency, 0.9);
}

#[test]
fn a_late_ack_for_a_window_that_a_line_might_delay_makes_nobody_sure() {
    let rounds = |seconds: f64, ack: f64| {
        Timeline::opened(0.2, 5_840)
            .rounds(
                60,
                seconds,
                5_840,
                &format!(
                    "0.001000 > . 1:1461 ack 1
                     0.001010 > . 1461:2921
                     0.001020 > . 2921:4381
                     0.001030 > . 4381:5841
                     {ack} < . 1 ack 5841 win 5840"
                ),
            )
            .report()
    };
    // 4.9 ms are what 10 Mbit/s take for them.
    let either = rounds(0.005, 0.0059);
    assert_eq!(either.verdict.cause, Cause::WindowAckLatency);
    assert_eq!(either.verdict.confidence, Confidence::Medium);
    // 60 ms are no line's.
    let slow = rounds(0.06, 0.061);
    assert_eq!(slow.verdict.cause, Cause::WindowAckLatency);
    assert_eq!(slow.verdict.confidence, Confidence::High);
}

#[test]
fn no_rate_is_promised_beyond_what_round_trips_leave_a_line() {
    // Two segments take 6.2 ms over 4.2: a line of 11.7 Mbit/s, or a faster one and hosts
    // that take their time.
    let report = Timeline::opened(4.2, 2_920)
        .rounds(
            60,
            0.0063,
            2_920,
            "0.010000 > . 1:1461 ack 1
             0.010010 > . 1461:2921
             0.016210 < . 1 ack 2921 win 2920",
        )
        .report();
    is_mostly(&report, Cause::WindowPathRtt, 0.95);
    let remedy = &report.verdict.remedies[0];
    assert_eq!(remedy.expected_bytes_per_second, None, "{remedy:?}");
    assert!(
        remedy.action.to_string().ends_with("does not show the rate of the link"),
        "{remedy:?}"
    );
}

#[test]
fn a_piece_that_is_lost_of_a_small_window_is_no_late_ack() {
    // Each fifth window its first piece is lost: the second brings a duplicate ACK, and then a
    // timer runs out. No SACK, no timestamps, and all that was sent is acknowledged at once.
    let lossy = "0.0100 > . 1:513 ack 1
         0.0101 > P. 513:1025
         0.0205 < . 1 ack 1 win 1024
         0.2140 > . 1:513
         0.2245 < . 1 ack 1025 win 1024
         0.2246 > . 1025:1537
         0.2247 > P. 1537:2049
         0.2351 < . 1 ack 2049 win 1024
         0.2352 > . 2049:2561
         0.2353 > P. 2561:3073
         0.2457 < . 1 ack 3073 win 1024
         0.2458 > . 3073:3585
         0.2459 > P. 3585:4097
         0.2563 < . 1 ack 4097 win 1024
         0.2564 > . 4097:4609
         0.2565 > P. 4609:5121
         0.2669 < . 1 ack 5121 win 1024";
    let report = Timeline::opened(0.2, 1_024).rounds(8, 0.258, 5_120, lossy).report();
    assert_eq!((report.losses.by_timer, report.losses.needless), (8, 0), "{:?}", report.losses);
    assert!(share(&report, Cause::Timeout) > 0.7, "{:?}", report.causes);
}

/// Eight segments a round trip, of whose window `early` are offered with the ACK and the rest 2 ms
/// later.
fn offered_in_two(early: u32) -> ConnectionReport {
    let segments = |from: u32, to: u32, micros: u32| -> String {
        let line = |place: u32| {
            let begin = 11_681 + place * 1_460;
            format!("0.{:06} > . {begin}:{}\n", micros + place, begin + 1_460)
        };
        (from..to).map(line).collect()
    };
    let first = (0..8).map(|place| {
        format!(
            "0.{:06} > . {}:{} ack 1\n",
            41_100 + place,
            place * 1_460 + 1,
            place * 1_460 + 1_461
        )
    });
    let mut round = format!("0.081000 < . 1 ack 11681 win {}\n", early * 1_460);
    round += &segments(0, early, 81_050);
    if early < 8 {
        round += "0.083000 < . 1 ack 11681 win 11680\n";
        round += &segments(early, 8, 83_050);
    }
    let opened = Timeline::opened(40.0, 11_680).t(&first.collect::<String>());
    opened.rounds(20, 0.044, 11_680, &round).report()
}

#[test]
fn a_window_that_moves_as_a_program_reads_is_not_surely_too_small() {
    for (early, is_sure) in [(8, true), (6, false)] {
        let report = offered_in_two(early);
        let either = [Cause::ReceiverLimited, Cause::WindowPathRtt];
        if is_sure {
            is_mostly(&report, Cause::WindowPathRtt, 0.8);
        } else {
            assert!(
                either.iter().all(|cause| report.verdict.between.contains(cause)),
                "{report:#?}"
            );
        }
        assert_eq!(has_caveat(&report, "other-pace"), !is_sure, "{early}");
        let confidence = report.verdict.confidence;
        assert_eq!(
            confidence == Confidence::High,
            is_sure,
            "{early}: {:?}",
            report.verdict.caveats
        );
        let promises = report.verdict.remedies.iter().filter_map(|it| it.expected_bytes_per_second);
        assert!(is_sure || promises.count() == 0, "{:?}", report.verdict.remedies);
    }
}

#[test]
fn a_window_of_several_paths_is_no_limit_of_one_for_sure() {
    let plan = Transfer { bytes: 1_000_000, window: 32_768, rtt: 40_000, ..Transfer::default() };
    let with = |ends: &[usize]| {
        let mut all = plan.play();
        ends.iter().for_each(|end| all[*end].options.multipath = true);
        report(&all)
    };
    let path = with(&[0, 1]);
    is_mostly(&path, Cause::WindowPathRtt, 0.8);
    assert_eq!(path.verdict.confidence, Confidence::Medium);
    assert!(has_caveat(&path, "multipath"));
    // One end that asks for it gets a connection of TCP.
    let alone = with(&[0]);
    assert_eq!(alone.verdict.confidence, Confidence::High);
    assert!(!has_caveat(&alone, "multipath"));
}

#[test]
fn where_a_syn_was_answered_nearby_late_acks_may_be_the_path() {
    let nearer = |plan: &Transfer| {
        let mut all = plan.play();
        // The answer comes from a firewall 1 ms away: the SYN went out later.
        all[0].time = all[1].time - Span::from_millis(1);
        report(&all)
    };
    let plan = Transfer { window: 32_768, rtt: 40_000, ..Transfer::default() };
    let path = nearer(&plan);
    is_mostly(&path, Cause::WindowAckLatency, 0.8);
    assert_eq!(path.verdict.confidence, Confidence::Medium);
    assert!(has_caveat(&path, "split-connection"));
    // One ACK for all that is in flight comes from a receiver that takes its time.
    let one = nearer(&Transfer { window: 2_920, ..plan });
    is_mostly(&one, Cause::WindowAckLatency, 0.8);
    assert!(!has_caveat(&one, "split-connection"));
}

#[test]
fn an_ack_of_two_flights_hides_how_fast_a_window_goes_round() {
    // The window takes four segments, and each second one is acknowledged: of each flight one
    // waits for the next to come, so that its ACK comes a round trip later. As a small stack does
    // that acknowledges each second segment and offers what its program has read (smoltcp).
    let flights = "0.0053 < . 1 ack 2921 win 4380
                   0.0053 > . 5841:7301 ack 1
                   0.0055 < . 1 ack 4381 win 5840
                   0.0055 > . 7301:8761
                   0.0055 > P. 8761:10221";
    let report = Timeline::opened(5.2, 5_840)
        .t("0.0000 > . 1:1461 ack 1
            0.0000 > P. 1461:2921
            0.0000 > . 2921:4381
            0.0000 > P. 4381:5841")
        .rounds(60, 0.0053, 4_380, flights)
        .report();
    is_mostly(&report, Cause::WindowPathRtt, 0.9);
    let verdict = &report.verdict;
    let (predicted, measured) =
        (verdict.predicted_bytes_per_second.unwrap(), verdict.measured_bytes_per_second);
    let ratio = predicted.bytes_per_second() / measured.bytes_per_second();
    assert!((0.95..1.1).contains(&ratio), "{predicted} {measured}");
}

#[test]
fn a_receiver_that_is_slow_to_open_does_not_bring_the_sender_nearer() {
    // Captured at the receiver, whose program took 55 ms to take the connection: the 5 ms to the
    // sender are no small part of the round trips since.
    let flight = "0.0604 > . 1:1461 ack 1
                  0.0604 > . 1461:2921
                  0.0605 < . 1 ack 2921 win 5840
                  0.0606 > . 2921:4381
                  0.0606 > P. 4381:5841
                  0.0607 < . 1 ack 5841";
    let report = Timeline::new()
        .t("0 > S 0 win 64240 mss 1460
            0.0550 < S. 0 ack 1 win 5840 mss 1460
            0.0600 > . 1 ack 1")
        .rounds(60, 0.0053, 5_840, flight)
        .report();
    is_mostly(&report, Cause::WindowPathRtt, 0.8);
    assert!(has_caveat(&report, "taken-at-receiver"), "{:?}", report.verdict.caveats);
}
