//! A program that has nothing to send, or sends in small pieces.

use windlass_base::Cause;
use windlass_trace::report::{CaveatId, Confidence, ConnectionReport};

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{
    caveat, has_caveat, is_free_of, is_mostly, is_near, is_sound, lost_nothing, played, share,
};

#[test]
fn a_program_that_writes_now_and_then() {
    for capture_point in [0, 50, 100] {
        for timestamps in [false, true] {
            let plan = Transfer {
                bytes: 400_000,
                writes: Some((10_000, 300_000)),
                capture_point,
                timestamps,
                ..Transfer::default()
            };
            let report = played(&plan);
            is_sound(&report);
            is_mostly(&report, Cause::SenderIdle, 0.8);
            lost_nothing(&report);
        }
    }
}

/// A sender's buffer may not hold more than the sender ever had in flight.
#[test]
fn what_no_flight_has_shown_is_no_promise_of_a_program_that_does_not_pause() {
    for (bytes, pause, is_shown) in [(40_000, 100_000, false), (200_000, 600_000, true)] {
        let writes = Some((bytes, pause));
        let plan = Transfer { bytes: 800_000, rtt: 20_000, writes, ..Transfer::default() };
        let report = played(&plan);
        assert_eq!(report.verdict.cause, Cause::SenderIdle);
        let remedy = &report.verdict.remedies[0];
        assert_eq!(remedy.expected_bytes_per_second.is_some(), is_shown, "{remedy:?}");
        assert_eq!(remedy.at_most_bytes_per_second.is_some(), !is_shown, "{remedy:?}");
    }
}

/// The last segment of what is buffered has PSH: behind a full one without it there is more.
#[test]
fn who_had_more_to_send_is_not_surely_idle() {
    for (last, is_sure) in [("P.", true), (".", false)] {
        let round = format!(
            "0.1000 > P. 1:1461 ack 1
             0.1001 > {last} 1461:2921
             0.1051 < . 1 ack 2921 win 65535"
        );
        let report = Timeline::opened(5.0, 65_535).rounds(20, 0.1, 2_920, &round).report();
        is_mostly(&report, Cause::SenderIdle, 0.8);
        assert_eq!(has_caveat(&report, "other-pace"), !is_sure, "{last}");
        assert_eq!(report.verdict.confidence == Confidence::High, is_sure, "{last}");
    }
}

/// Far from the sender, a pause that ends soon behind a round trip may be a wait for an ACK.
#[test]
fn pauses_of_a_round_trip_are_not_sure_far_from_the_sender() {
    for (every, is_sure) in [(70_000, false), (300_000, true)] {
        let plan = Transfer {
            bytes: 400_000,
            rtt: 40_000,
            writes: Some((10_000, every)),
            capture_point: 100,
            ..Transfer::default()
        };
        let report = played(&plan);
        is_mostly(&report, Cause::SenderIdle, 0.8);
        assert_eq!(has_caveat(&report, "other-pace"), !is_sure, "{every}");
        assert_eq!(report.verdict.confidence == Confidence::High, is_sure, "{every}");
    }
}

#[test]
#[ignore = "known: pauses below an eighth of the round trip read as a send buffer"]
fn a_program_that_trickles_over_a_long_path() {
    // 1,000 bytes every 7 ms, acknowledged 100 ms later: nothing waits.
    let plan = Transfer {
        bytes: 200_000,
        rtt: 100_000,
        ack_every: 1,
        writes: Some((1_000, 7_000)),
        ..Transfer::default()
    };
    for capture_point in [0, 100] {
        let report = played(&Transfer { capture_point, ..plan.clone() });
        is_sound(&report);
        is_mostly(&report, Cause::SenderIdle, 0.8);
    }
}

#[test]
fn keep_alives_do_not_end_the_idle_time() {
    for probe in ["2920", "2920:2921"] {
        let report = Timeline::opened(5.0, 65_535)
            .t("0.006 > . 1:1461 ack 1
                0.0061 > P. 1461:2921
                0.0111 < . 1 ack 2921 win 65535")
            .rounds(
                3,
                10.0,
                0,
                &format!(
                    "10.0 > . {probe}
                     10.005 < . 1 ack 2921"
                ),
            )
            .t("35.0 > P. 2921:4381
                35.005 < . 1 ack 4381")
            .report();
        is_mostly(&report, Cause::SenderIdle, 0.99);
        lost_nothing(&report);
        assert_eq!((report.receive_window.probes, report.receive_window.closures), (0, 0));
        assert_eq!(report.bytes.get(), 4_380);
    }
}

/// A block, and the next one only after the other side's answer.
pub(crate) fn asks_and_waits() -> Timeline {
    Timeline::opened(1.0, 65_535).dialogue(
        20,
        0.031,
        [2_920, 20],
        "0.0020 > . 1:1461 ack 1
         0.0021 > P. 1461:2921
         0.0031 < . 1 ack 2921 win 65535
         0.0321 < P. 1:21 ack 2921
         0.0322 > . 2921 ack 21",
    )
}

#[test]
fn the_sender_waits_for_an_answer() {
    let report = asks_and_waits().report();
    is_mostly(&report, Cause::AwaitsAnswer, 0.85);
    lost_nothing(&report);
    assert_eq!((report.bytes.get(), report.bytes_returned.get()), (58_400, 400));
    let (measured, remedy) = (report.bytes_per_second, &report.verdict.remedies[0]);
    assert!(remedy.expected_bytes_per_second.is_none_or(|rate| rate > measured), "{remedy:?}");
}

#[test]
fn an_answer_that_carries_the_ack() {
    let report = Timeline::opened(1.0, 65_535)
        .dialogue(
            20,
            0.031,
            [2_920, 20],
            "0.0020 > . 1:1461 ack 1
             0.0021 > P. 1461:2921
             0.0329 < P. 1:21 ack 2921 win 65535",
        )
        .report();
    is_mostly(&report, Cause::AwaitsAnswer, 0.85);
    lost_nothing(&report);
}

#[test]
fn small_segments() {
    // Ten pieces of 100 bytes for each round trip.
    let report = Timeline::opened(10.0, 65_535)
        .rounds(
            30,
            0.010_150,
            1_000,
            "0.010100 > P. 1:101 ack 1
             0.010110 > P. 101:201
             0.010120 > P. 201:301
             0.010130 > P. 301:401
             0.010140 > P. 401:501
             0.010150 > P. 501:601
             0.010160 > P. 601:701
             0.010170 > P. 701:801
             0.010180 > P. 801:901
             0.010190 > P. 901:1001
             0.020200 < . 1 ack 1001 win 65535",
        )
        .report();
    is_mostly(&report, Cause::SmallSegments, 0.9);
    lost_nothing(&report);
}

/// A record of 1,000 bytes in two writes: the second waits for the ACK of the
/// first, which the receiver withholds for 40 ms.
pub(crate) fn two_small_writes() -> Timeline {
    Timeline::opened(0.3, 65_535).rounds(
        25,
        0.0406,
        1_000,
        "0.0010 > P. 1:501 ack 1
         0.0410 < . 1 ack 501 win 65535
         0.04102 > P. 501:1001
         0.04135 < . 1 ack 1001",
    )
}

#[test]
fn nagle_against_a_delayed_ack() {
    let report = two_small_writes().report();
    is_mostly(&report, Cause::NagleDelayedAck, 0.9);
    is_free_of(&report, Cause::BufferDelayedAck);
    lost_nothing(&report);
}

#[test]
fn small_writes_without_nagle_are_idle_time() {
    // The second piece leaves at once; the next record comes 40 ms later.
    let report = Timeline::opened(0.3, 65_535)
        .rounds(
            25,
            0.0406,
            1_000,
            "0.0010 > P. 1:501 ack 1
             0.0011 > P. 501:1001
             0.0015 < . 1 ack 1001 win 65535",
        )
        .report();
    is_mostly(&report, Cause::SenderIdle, 0.9);
    assert_eq!(share(&report, Cause::NagleDelayedAck), 0.0);
}

/// Small messages each 200.4 ms, whose ACKs a delayed one of 199.6 ms answers, but for each
/// third, which is acknowledged after so many milliseconds.
fn messages(third_ms: f64, next: f64) -> ConnectionReport {
    Timeline::opened(1.0, 65_535)
        .rounds(
            15,
            0.4 + next,
            120,
            &format!(
                "0.0020 > P. 1:41 ack 1
                 0.2016 < . 1 ack 41
                 0.2020 > P. 41:81
                 0.4016 < . 1 ack 81
                 0.4020 > P. 81:121
                 {} < . 1 ack 121",
                0.4020 + third_ms / 1e3
            ),
        )
        .report()
}

#[test]
fn a_program_that_keeps_time_is_not_held_back_by_acks() {
    // The ACK of each third comes at once, and the next message as late as ever.
    let report = messages(0.1, 0.200_4);
    is_mostly(&report, Cause::SenderIdle, 0.9);
    is_free_of(&report, Cause::NagleDelayedAck);
    // If the next message comes after a pause of its own, the others were held back.
    let report = messages(0.1, 0.350);
    assert!(share(&report, Cause::NagleDelayedAck) > 0.4, "{:?}", report.causes);
}

#[test]
fn a_message_that_came_long_before_the_ack_ended_the_wait_for_it() {
    // The request comes after 5 ms, the delayed ACK of the last answer 45 ms later, and the
    // next answer 30 ms after that.
    let report = Timeline::opened(10.0, 65_535)
        .t("0.0101 > P. 1:201 ack 1
            0.0150 < P. 1:101 ack 1
            0.0600 < . 101 ack 201
            0.0900 > P. 201:1661 ack 101
            0.1000 < . 101 ack 1661")
        .report();
    is_near(share(&report, Cause::AwaitsAnswer), 0.06, 0.02);
    is_near(share(&report, Cause::SenderIdle), 0.9, 0.08);
    // A request that comes with the ACK ends the wait for both.
    let report = Timeline::opened(10.0, 65_535)
        .t("0.0101 > P. 1:201 ack 1
            0.0600 < P. 1:101 ack 201
            0.0900 > P. 201:1661 ack 101
            0.1000 < . 101 ack 1661")
        .report();
    is_near(share(&report, Cause::AwaitsAnswer), 0.5 / 0.9, 0.08);
}

#[test]
fn pauses_of_some_milliseconds_far_from_a_sender_may_be_its_hosts() {
    // A download over a path of 0.5 ms, 20 segments each 3 or 40 ms.
    let bursts = |every: i64| {
        let writes = Some((29_200, every));
        let rate = Some(125_000_000);
        let (bytes, rtt, capture_point) = (2_000_000, 500, 100);
        played(&Transfer { bytes, rtt, capture_point, rate, writes, ..Transfer::default() })
    };
    let may_wait = |report: &ConnectionReport| {
        let doubt = caveat(report, CaveatId::OtherPace);
        doubt.is_some_and(|doubt| doubt.contains("a busy host to respond"))
    };
    let near = bursts(3_000);
    is_mostly(&near, Cause::SenderIdle, 0.7);
    assert_eq!(near.verdict.confidence, Confidence::Medium);
    assert!(may_wait(&near));
    let far = bursts(40_000);
    is_mostly(&far, Cause::SenderIdle, 0.9);
    assert!(!may_wait(&far));
}

/// A program that writes a piece each so often, where a round trip takes longer than that: its
/// writes leave between two ACKs, or some time behind one.
#[test]
fn a_program_that_writes_more_often_than_acks_come_back_sets_the_pace() {
    for (rtt, bytes, every) in [(20_000, 10_000, 7_300), (36_000, 14_000, 11_300)] {
        let plan = Transfer { rtt, writes: Some((bytes, every)), ..Transfer::default() };
        let report = played(&plan);
        is_mostly(&report, Cause::SenderIdle, 0.6);
    }
}

/// Its buffer and its congestion window let data go at ACKs, behind whatever segment.
#[test]
fn a_buffer_or_a_window_is_no_pace_of_a_program() {
    for (send_buffer, cwnd) in [(12_000, 1 << 20), (30_500, 1 << 20), (4 << 20, 12)] {
        let cwnd = (10, cwnd);
        let report = played(&Transfer { rtt: 36_000, send_buffer, cwnd, ..Transfer::default() });
        is_free_of(&report, Cause::SenderIdle);
    }
}

/// Rounds of 10 ms over a path of 20: half of what came before is acknowledged alone, and the
/// packet that acknowledges the rest carries so many bytes. Four segments leave behind that.
fn rounds_behind_messages(message: u32, also: u32) -> ConnectionReport {
    let (first, second) = (1 + also, 1 + also + message);
    let round = format!(
        "0.0700 < {} 1:{first} ack 2921
         0.0720 < P. {first}:{second} ack 5841
         0.0721 > . 11681:13141 ack {second}
         0.0721 > . 13141:14601
         0.0721 > . 14601:16061
         0.0721 > P. 16061:17521",
        if also > 0 { "P." } else { "." },
    );
    let opening = "0.0500 > . 1:1461 ack 1 win 65535
                   0.0500 > . 1461:2921
                   0.0500 > . 2921:4381
                   0.0500 > P. 4381:5841
                   0.0600 > . 5841:7301
                   0.0600 > . 7301:8761
                   0.0600 > . 8761:10221
                   0.0600 > P. 10221:11681";
    let timeline = Timeline::opened(20.0, 65_535).t(opening);
    timeline.dialogue(60, 0.01, [5_840, message + also], &round).report()
}

#[test]
fn a_window_of_the_program_opens_with_messages() {
    let report = rounds_behind_messages(36, 0);
    is_mostly(&report, Cause::AwaitsAnswer, 0.8);
    assert!(has_caveat(&report, "other-pace"));
    // If each packet carries data, the message at the end of a wait is no more than an ACK.
    for (message, also) in [(0, 0), (36, 36)] {
        is_free_of(&rounds_behind_messages(message, also), Cause::AwaitsAnswer);
    }
}
