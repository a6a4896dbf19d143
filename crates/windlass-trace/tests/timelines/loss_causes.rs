//! Losses by a receiver that keeps nothing behind a hole, by a link that is too small, and by a
//! policer.

use windlass_base::Cause;
use windlass_trace::report::{Confidence, ConnectionReport, Side};

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{is_free_of, is_mostly, is_near, is_sound, played, share};

/// A flight of six of which the second is lost; each segment behind it arrives.
const HOLE: &str = "0.0205 > . 1:1461 ack 1
    0.0206 > . 1461:2921
    0.0207 > . 2921:4381
    0.0208 > . 4381:5841
    0.0209 > . 5841:7301
    0.0210 > P. 7301:8761
    0.0405 < . 1 ack 1461 win 65535
    0.0407 < . 1 ack 1461
    0.0408 < . 1 ack 1461
    0.0409 < . 1 ack 1461
    0.04095 > . 1461:2921
    0.0410 < . 1 ack 1461
";

fn losing(repair: &str) -> ConnectionReport {
    let round = format!("{HOLE}{repair}");
    let report = Timeline::opened(20.0, 65_535).rounds(6, 1.0, 8_760, &round).report();
    is_sound(&report);
    report
}

/// Each repaired segment brings an ACK for itself alone.
const DISCARDED: &str = "0.06095 < . 1 ack 2921
    0.2700 > . 2921:4381
    0.2900 < . 1 ack 4381
    0.2901 > . 4381:5841
    0.2902 > . 5841:7301
    0.3102 < . 1 ack 7301
    0.3103 > P. 7301:8761
    0.3303 < . 1 ack 8761
";

#[test]
fn a_receiver_that_keeps_nothing_behind_a_hole() {
    let report = losing(DISCARDED);
    assert!(share(&report, Cause::ReceiverDiscards) > 0.25, "{:?}", report.causes);
    is_free_of(&report, Cause::FastRecovery);
    is_free_of(&report, Cause::Timeout);
}

#[test]
fn a_receiver_whose_ack_jumps_keeps_what_came() {
    let report = losing("0.06095 < . 1 ack 8761\n");
    is_free_of(&report, Cause::ReceiverDiscards);
    assert!(share(&report, Cause::FastRecovery) > 0.0, "{:?}", report.causes);
}

/// At a receiver that acknowledges what is sent again sooner than what came first.
const AT_RECEIVER: &str = "0.0210 > . 1:1461 ack 1
    0.0211 > . 2921:4381
    0.0212 > . 4381:5841
    0.0213 > . 5841:7301
    0.0214 > P. 7301:8761
    0.0220 < . 1 ack 1461 win 65535
    0.0221 < . 1 ack 1461
    0.0222 < . 1 ack 1461
    0.0223 < . 1 ack 1461
    0.0224 < . 1 ack 1461
    0.0413 > . 1461:2921
    0.0414 < . 1 ack 2921
    0.2700 > . 2921:4381
    0.2701 < . 1 ack 4381
    0.2900 > . 4381:5841
    0.2901 < . 1 ack 5841
    0.3102 > . 5841:7301
    0.3103 < . 1 ack 7301
    0.3303 > P. 7301:8761
    0.3304 < . 1 ack 8761
";

#[test]
fn at_a_receiver_that_keeps_nothing_what_is_sent_again_is_acknowledged_at_once() {
    let opened = Timeline::new().t("0 > S 0 win 65535 mss 1460
        0.001 < S. 0 ack 1 win 65535 mss 1460
        0.020 > . 1 ack 1 win 65535");
    let report = opened.clone().rounds(6, 1.0, 8_760, AT_RECEIVER).report();
    is_sound(&report);
    assert!(share(&report, Cause::ReceiverDiscards) > 0.25, "{:?}", report.causes);
    // One that keeps it acknowledges all of it with the first repair.
    let kept = AT_RECEIVER
        .split("0.2700")
        .next()
        .unwrap()
        .replace("0.0414 < . 1 ack 2921", "0.0414 < . 1 ack 8761");
    let report = opened.rounds(6, 1.0, 8_760, &kept).report();
    is_free_of(&report, Cause::ReceiverDiscards);
}

#[test]
fn one_hole_tells_no_habit() {
    let round = format!("{HOLE}{DISCARDED}");
    let report = Timeline::opened(20.0, 65_535).rounds(1, 1.0, 8_760, &round).report();
    is_free_of(&report, Cause::ReceiverDiscards);
}

#[test]
fn a_receiver_that_reports_what_it_keeps_does_not_discard() {
    let round = format!("{HOLE}{DISCARDED}")
        .replace("0.0409 < . 1 ack 1461", "0.0409 < . 1 ack 1461 sack 2921-5841");
    let report = Timeline::opened(20.0, 65_535).rounds(6, 1.0, 8_760, &round).report();
    is_free_of(&report, Cause::ReceiverDiscards);
}

#[test]
fn a_flight_that_the_path_lost_is_not_the_receivers_doing() {
    // No duplicate ACK comes: nothing behind the hole arrived.
    let lost: String = HOLE
        .lines()
        .filter(|line| !line.contains("0.040"))
        .map(|line| format!("{line}\n"))
        .collect();
    let lost = lost.replace("0.0410 < . 1 ack 1461", "0.0405 < . 1 ack 1461 win 65535");
    let round = format!(
        "{lost}0.2500 > . 1461:2921
        0.2700 < . 1 ack 2921
        0.2701 > . 2921:4381
        0.2702 > . 4381:5841
        0.2900 < . 1 ack 4381
        0.2902 < . 1 ack 5841
        0.2903 > . 5841:7301
        0.2904 > P. 7301:8761
        0.3102 < . 1 ack 7301
        0.3104 < . 1 ack 8761
"
    );
    let report = Timeline::opened(20.0, 65_535).rounds(6, 1.0, 8_760, &round).report();
    is_free_of(&report, Cause::ReceiverDiscards);
    assert!(share(&report, Cause::Timeout) > 0.2, "{:?}", report.causes);
}

#[test]
fn a_sender_that_sends_all_again_does_not_make_the_receiver_one_that_discards() {
    // Go-back-N, all at once: the ACK that jumps to the end comes a round trip after the
    // repair of the hole, and with it copies that were not needed.
    let report = losing(
        "0.2500 > . 1461:2921
         0.2501 > . 2921:4381
         0.2502 > . 4381:5841
         0.2503 > . 5841:7301
         0.2504 > P. 7301:8761
         0.2700 < . 1 ack 8761
         0.2701 < . 1 ack 8761
         0.2702 < . 1 ack 8761
",
    );
    is_free_of(&report, Cause::ReceiverDiscards);
}

#[test]
fn discarding_costs_most_and_its_remedy_is_the_receivers() {
    for (capture_point, every) in [(0, 1), (0, 2), (50, 1), (100, 2)] {
        let plan = Transfer {
            bytes: 1_500_000,
            rtt: 20_000,
            capture_point,
            ack_every: every,
            keeps: false,
            lost: (0..4_000).filter(|place| place % 60 == 30).collect(),
            ..Transfer::default()
        };
        let report = played(&plan);
        is_mostly(&report, Cause::ReceiverDiscards, 0.6);
        let remedy = &report.verdict.remedies[0];
        assert_eq!(remedy.side, Side::Receiver);
        assert!(
            remedy.action.to_string().contains("keep segments that arrive after a lost one"),
            "{remedy:?}"
        );
        let kept = played(&Transfer { keeps: true, ..plan });
        is_free_of(&kept, Cause::ReceiverDiscards);
        if let Some(expected) = remedy.expected_bytes_per_second {
            let ratio = expected.bytes_per_second() / kept.bytes_per_second.bytes_per_second();
            assert!((0.3..2.0).contains(&ratio), "{ratio}: {}", report.verdict.sentence);
        }
    }
}

/// A request that passes, and then only full segments.
fn stuck() -> Timeline {
    Timeline::opened(20.0, 65_535).t("0.0205 > P. 1:301 ack 1
        0.0405 < . 1 ack 301 win 65535
        0.0410 > . 301:1761
        0.0411 > . 1761:3221")
}

#[test]
fn a_sender_that_lowers_its_size_proves_a_black_hole() {
    let report = stuck()
        .t("0.2500 > . 301:1761
            0.6500 > . 301:1761
            1.4500 > . 301:1761
            3.0500 > . 301:1301
            3.0700 < . 1 ack 1301
            3.0701 > . 1301:1761
            3.0702 > . 1761:2761
            3.0703 > P. 2761:3221
            3.0901 < . 1 ack 1761
            3.0902 < . 1 ack 2761
            3.0903 < . 1 ack 3221")
        .report();
    is_sound(&report);
    is_mostly(&report, Cause::BlackHole, 0.9);
    let sentence = &report.verdict.sentence;
    assert!(
        sentence.to_string().contains("1,460 B") && sentence.to_string().contains("1,000 B"),
        "{sentence}"
    );
    let remedy = &report.verdict.remedies[0];
    assert_eq!((remedy.side, remedy.value), (Side::Path, Some(1_208.0)));
}

#[test]
fn a_small_segment_that_arrives_behind_the_stuck_one_proves_a_black_hole() {
    let report = Timeline::opened(20.0, 65_535)
        .t("0.0205 > . 1:1461 ack 1
            0.0206 > P. 1461:1761
            0.0406 < . 1 ack 1 win 65535 sack 1461-1761
            0.2500 > . 1:1461
            0.6500 > . 1:1461
            1.4500 > . 1:1461
            3.0500 > . 1:1461")
        .report();
    is_mostly(&report, Cause::BlackHole, 0.9);
    let sentence = &report.verdict.sentence;
    assert!(
        sentence.to_string().contains("1,460 B") && sentence.to_string().contains("300 B"),
        "{sentence}"
    );
}

#[test]
fn a_peer_that_vanished_is_no_black_hole() {
    let report = stuck()
        .t("0.2500 > . 301:1761
            0.6500 > . 301:1761
            1.4500 > . 301:1761
            3.0500 > . 301:1761
            6.2500 > . 301:1761")
        .report();
    is_mostly(&report, Cause::Timeout, 0.9);
    is_free_of(&report, Cause::BlackHole);
    // A black hole makes the same packets where no full segment ever arrived.
    assert_eq!(report.verdict.confidence, Confidence::Medium);
    let sides: Vec<_> = report.verdict.remedies.iter().map(|remedy| remedy.side).collect();
    assert_eq!(sides, [Side::Receiver, Side::Sender]);
    assert!(report.verdict.remedies[1].action.to_string().contains("MTU"));
}

#[test]
fn full_segments_that_passed_before_rule_a_black_hole_out() {
    let report = Timeline::opened(20.0, 65_535)
        .t("0.0205 > . 1:1461 ack 1
            0.0405 < . 1 ack 1461 win 65535
            0.0410 > . 1461:2921
            0.0411 > P. 2921:3221
            0.0611 < . 1 ack 1461 sack 2921-3221
            0.2500 > . 1461:2921
            0.6500 > . 1461:2921
            1.4500 > . 1461:2921
            3.0500 > . 1461:2921")
        .report();
    is_free_of(&report, Cause::BlackHole);
    is_mostly(&report, Cause::Timeout, 0.9);
}

#[test]
fn other_full_segments_that_arrive_rule_a_black_hole_out() {
    // Two segments came behind the first, and only one of them is small.
    let report = Timeline::opened(20.0, 65_535)
        .t("0.0205 > . 1:1461 ack 1
            0.0206 > . 1461:2921
            0.0207 > P. 2921:3221
            0.0406 < . 1 ack 1 win 65535 sack 1461-2921
            0.0407 < . 1 ack 1 sack 1461-3221
            0.2500 > . 1:1461
            0.6500 > . 1:1461
            1.4500 > . 1:1461
            3.0500 > . 1:1461")
        .report();
    is_free_of(&report, Cause::BlackHole);
    let said = format!("{:?}", report.verdict.remedies);
    assert!(!said.contains("MTU"), "{said}");
}

#[test]
fn a_policer_is_named_with_its_rate_and_burst() {
    for (capture_point, rate, burst) in [
        (0, 1_000_000, 100_000),
        (0, 500_000, 60_000),
        (40, 400_000, 80_000),
        (100, 600_000, 90_000),
    ] {
        let plan = Transfer {
            bytes: 5_000_000,
            rtt: 20_000,
            capture_point,
            window: 1_000_000,
            scale: Some(5),
            sack: true,
            ack_every: 1,
            policed: Some((rate, burst)),
            ..Transfer::default()
        };
        let report = played(&plan);
        is_mostly(&report, Cause::PathPolicer, 0.7);
        let law = report.verdict.law.as_ref().unwrap();
        let value =
            |symbol: &str| law.inputs.iter().find(|one| one.symbol == symbol).unwrap().value;
        is_near(value("R"), rate as f64, rate as f64 * 0.05);
        is_near(value("b"), burst as f64, burst as f64 * 0.35);
        let measured = report.bytes_per_second.bytes_per_second();
        let predicted = report.verdict.predicted_bytes_per_second.unwrap().bytes_per_second();
        assert!(measured <= predicted * 1.03, "{measured} beats {predicted}");
    }
}

#[test]
fn a_queue_that_overflows_is_no_policer() {
    for (rate, queue) in [(1_000_000, 70), (500_000, 40), (2_000_000, 20)] {
        for capture_point in [0, 50, 100] {
            let plan = Transfer {
                bytes: 5_000_000,
                rtt: 20_000,
                capture_point,
                window: 1_000_000,
                scale: Some(5),
                sack: true,
                ack_every: 1,
                rate: Some(rate),
                queue,
                ..Transfer::default()
            };
            is_free_of(&played(&plan), Cause::PathPolicer);
        }
    }
}

#[test]
fn loss_at_random_or_at_regular_places_is_no_policer() {
    for every in [37, 61, 149, 400] {
        for seed in [0_u64, 1, 2] {
            let lost = (0..4_000_u64).filter(|place| match seed {
                0 => place % every == every / 2,
                _ => (place * 2_654_435_761 + seed * 97_003) / 1_024 % every == 7,
            });
            let plan = Transfer {
                bytes: 4_000_000,
                rtt: 20_000,
                window: 200_000,
                scale: Some(3),
                sack: true,
                ack_every: 1,
                lost: lost.collect(),
                ..Transfer::default()
            };
            is_free_of(&played(&plan), Cause::PathPolicer);
        }
    }
}
