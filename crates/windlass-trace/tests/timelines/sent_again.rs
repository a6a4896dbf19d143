//! Retransmissions of data that had arrived, and timers that run for long.

use windlass_base::Cause;
use windlass_trace::report::{Confidence, ConnectionReport};

use crate::support::script::Timeline;
use crate::support::{has_caveat, is_mostly, is_sound, share};

fn has(report: &ConnectionReport, id: &str) -> bool {
    is_sound(report);
    has_caveat(report, id)
}

fn shows(report: &ConnectionReport, what: &str) -> Vec<u64> {
    let found = report.verdict.evidence.iter().find(|one| one.shows.to_string().contains(what));
    found.map_or(Vec::new(), |one| one.packets.clone())
}

/// Near the receiver: 18 ms of the 20 lie between the capture and the sender.
fn at_receiver() -> Timeline {
    Timeline::new().t("0 > S 0 win 65535 mss 1460
                       0.001 < S. 0 ack 1 win 65535 mss 1460
                       0.020 > . 1 ack 1 win 65535")
}

#[test]
fn an_ack_that_the_receiver_gave_never_arrived() {
    let flight = "0.0210 > . 1:1461
        0.0211 > P. 1461:2921
        0.0220 < . 1 ack 2921 win 65535
        0.2511 > P. 1461:2921
        0.2521 < . 1 ack 2921
";
    let report = at_receiver().rounds(6, 0.4, 2_920, flight).report();
    assert!(has(&report, "ack-loss"), "{:?}", report.verdict.caveats);
    assert_eq!(report.losses.needless, 6);
    // Its silence is no pause of the program: 229 of each 400 ms.
    is_mostly(&report, Cause::AckLoss, 0.5);
    // One whose ACK is captured a moment before is only on its way.
    let late = flight.replace("0.2511", "0.0300").replace("0.2521", "0.0310");
    let report = at_receiver().rounds(6, 0.4, 2_920, &late).report();
    assert!(!has(&report, "ack-loss"), "{:?}", report.verdict.caveats);
}

#[test]
fn a_d_sack_answers_what_a_timer_sent() {
    let flight = "0.0205 > . 1:1461
        0.0206 > P. 1461:2921
        0.2606 > . 1:1461
        0.2806 < . 1 ack 2921 win 65535 sack 1-1461
";
    let report = Timeline::opened(20.0, 65_535).rounds(6, 0.5, 2_920, flight).report();
    assert!(has(&report, "ack-loss"), "{:?}", report.verdict.caveats);
    is_mostly(&report, Cause::AckLoss, 0.5);
    // Answered too soon for the second copy, the first one was only slow.
    let slow = flight.replace("0.2806", "0.2616");
    let report = Timeline::opened(20.0, 65_535).rounds(6, 0.5, 2_920, &slow).report();
    assert!(!has(&report, "ack-loss"), "{:?}", report.verdict.caveats);
}

#[test]
fn both_copies_of_what_came_late_reach_the_receiver() {
    // The second segment comes 25 ms late, and its repair before it.
    let flight = "0.0210 > . 1:1461 ack 1 ts 21 20
        0.0211 > . 2921:4381 ts 21 20
        0.0212 > . 4381:5841 ts 21 20
        0.0213 > P. 5841:7301 ts 21 20
        0.0214 < . 1 ack 1461 win 65535 ts 21 21
        0.0215 < . 1 ack 1461 ts 21 21 sack 2921-4381
        0.0216 < . 1 ack 1461 ts 21 21 sack 2921-5841
        0.0217 < . 1 ack 1461 ts 21 21 sack 2921-7301
        0.0410 > . 1461:2921 ts 40 21
        0.0411 < . 1 ack 7301 ts 41 40
        0.0461 > . 1461:2921 ts 21 20
        0.0462 < . 1 ack 7301 ts 46 40 sack 1461-2921
";
    let opened = || {
        Timeline::new().t("0 > S 0 win 65535 mss 1460 sackok ts 0 0
            0.001 < S. 0 ack 1 win 65535 mss 1460 sackok ts 1 0
            0.020 > . 1 ack 1 win 65535 ts 20 1")
    };
    let report = opened().rounds(20, 0.06, 7_300, flight).report();
    assert!(has(&report, "reordering"), "{:?}", report.verdict.caveats);
    assert_eq!(report.losses.ratio, 0.0, "{:?}", report.losses);
    // A second retransmission means that the first one was lost.
    let again = flight.replace("1461:2921 ts 21 20", "1461:2921 ts 45 21");
    let report = opened().rounds(20, 0.06, 7_300, &again).report();
    assert!(!has(&report, "reordering"), "{:?}", report.verdict.caveats);
}

#[test]
fn copies_that_a_sender_makes_of_its_own_copies_are_no_order_that_changes() {
    // As smoltcp 0.12 does: what says that a copy came twice is a duplicate ACK to it, and so it
    // sends the next flight twice as well.
    let flight = "0.0205 > . 1:1461
        0.0206 > . 1461:2921
        0.0207 > . 2921:4381
        0.0208 > P. 4381:5841
        0.0209 < . 1 ack 1 win 65535 sack 4294961457-4294962917
        0.0210 < . 1 ack 1 sack 4294962917-4294964377
        0.0211 < . 1 ack 1 sack 4294964377-4294965837
        0.0212 > . 1:1461
        0.0213 > . 1461:2921
        0.0214 > . 2921:4381
        0.0405 < . 1 ack 1461
        0.0406 < . 1 ack 2921
        0.0407 < . 1 ack 4381
        0.0408 < . 1 ack 5841
";
    let report = Timeline::opened(20.0, 65_535).rounds(20, 0.0205, 5_840, flight).report();
    assert!(!has(&report, "reordering"), "{:?}", report.verdict.caveats);
    assert!(has(&report, "copies-of-copies"), "{:?}", report.verdict.caveats);
    assert_eq!(share(&report, Cause::Reordering), 0.0, "{:?}", report.causes);
    assert_eq!((report.losses.retransmissions, report.losses.events), (60, 0));
}

#[test]
fn a_repair_that_is_sent_again_and_again_was_not_in_vain() {
    // As picoTCP does: it sends what is missing once for each duplicate ACK.
    let flight = "0.0205 > . 1:1461
        0.0206 > . 1461:2921
        0.0207 > . 2921:4381
        0.0208 > . 4381:5841
        0.0209 > P. 5841:7301
        0.0406 < . 1 ack 1 win 65535 sack 1461-2921
        0.0407 < . 1 ack 1 sack 1461-4381
        0.0408 < . 1 ack 1 sack 1461-5841
        0.0408 > . 1:1461
        0.0409 < . 1 ack 1 sack 1461-7301
        0.0409 > . 1:1461
        0.0608 < . 1 ack 7301
        0.0609 < . 1 ack 7301 sack 1-1461
";
    let report = Timeline::opened(20.0, 65_535).rounds(6, 0.2, 7_300, flight).report();
    assert!(!has(&report, "reordering"), "{:?}", report.verdict.caveats);
    assert_eq!((report.losses.events, report.losses.needless), (6, 6));
    assert!(share(&report, Cause::FastRecovery) > 0.0, "{:?}", report.causes);
}

#[test]
fn order_that_changes_on_the_way_is_no_loss() {
    // The receiver says of each repair that it had the data already.
    let flight = "0.0205 > . 1:1461
        0.0206 > . 1461:2921
        0.0207 > . 2921:4381
        0.0208 > . 4381:5841
        0.0209 > P. 5841:7301
        0.0405 < . 1 ack 1 win 65535 sack 1461-2921
        0.0406 < . 1 ack 1 sack 1461-4381
        0.0407 < . 1 ack 1 sack 1461-5841
        0.0408 > . 1:1461
        0.0409 < . 1 ack 7301
        0.0608 < . 1 ack 7301 sack 1-1461
";
    let report = Timeline::opened(20.0, 65_535).rounds(6, 0.2, 7_300, flight).report();
    assert!(has(&report, "reordering"), "{:?}", report.verdict.caveats);
    assert!(!has(&report, "ack-loss"), "{:?}", report.verdict.caveats);
    assert_eq!(report.losses.needless, 6);
    assert!(share(&report, Cause::Reordering) > 0.0, "{:?}", report.causes);
}

/// Five repairs of what came 15 ms late, by a receiver that tells of no copies.
fn repaired(first: &str, lines: &str) -> ConnectionReport {
    let flight = format!(
        "0.0205 > . 1:1461 {first}
        0.0206 > . 1461:2921
        0.0207 > . 2921:4381
        0.0208 > . 4381:5841
        0.0209 > P. 5841:7301
        0.0406 < . 1 ack 1 win 65535
        0.0407 < . 1 ack 1
        0.0408 < . 1 ack 1
        {lines}
"
    );
    Timeline::opened(20.0, 65_535).rounds(5, 0.2, 7_300, &flight).report()
}

#[test]
fn an_answer_that_comes_too_soon_is_of_the_first_copy() {
    let soon = repaired("", "0.0409 > . 1:1461\n0.0500 < . 1 ack 7301");
    assert!(has(&soon, "reordering"), "{:?}", soon.verdict.caveats);
    assert_eq!(soon.losses.needless, 5);
    // After a round trip it is of the second one, and the first was lost.
    let lost = repaired("", "0.0409 > . 1:1461\n0.0610 < . 1 ack 7301");
    assert!(!has(&lost, "reordering"), "{:?}", lost.verdict.caveats);
    assert_eq!(lost.losses.needless, 0);
}

#[test]
fn the_echo_of_an_older_timestamp_is_of_the_first_copy() {
    let old = repaired("ts 20 0", "0.0409 > . 1:1461 ts 41 0\n0.0610 < . 1 ack 7301 ts 61 20");
    assert!(has(&old, "reordering"), "{:?}", old.verdict.caveats);
    let new = repaired("ts 20 0", "0.0409 > . 1:1461 ts 41 0\n0.0610 < . 1 ack 7301 ts 61 41");
    assert!(!has(&new, "reordering"), "{:?}", new.verdict.caveats);
    // Sent for the third time, it may be the second copy that arrived.
    let thrice = repaired(
        "ts 20 0",
        "0.0409 > . 1:1461 ts 41 0
        0.0620 < . 1 ack 1 ts 62 0
        0.0630 > . 1:1461 ts 63 0
        0.0840 < . 1 ack 7301 ts 84 41",
    );
    assert!(!has(&thrice, "reordering"), "{:?}", thrice.verdict.caveats);
}

#[test]
fn a_probe_for_the_last_segment_and_a_late_ack_are_no_lost_ack() {
    // Linux asks after two round trips (RFC 8985 section 7), and the ACK is delayed for 40 ms.
    let flight = "0.0205 > . 1:1461
        0.0206 > P. 1461:2921
        0.0606 > P. 1461:2921
        0.0806 < . 1 ack 2921 win 65535 sack 1461-2921
";
    let report = Timeline::opened(20.0, 65_535).rounds(6, 0.5, 2_920, flight).report();
    assert!(!has(&report, "ack-loss"), "{:?}", report.verdict.caveats);
    assert_eq!(share(&report, Cause::AckLoss), 0.0);
}

#[test]
fn without_options_lost_acks_look_like_lost_data() {
    // The second segment arrived, as the ACK covers it: its answer at that time never came.
    let flight = "0.0205 > . 1:1461
        0.0206 > P. 1461:2921
        0.6206 > . 1:1461
        0.6406 < . 1 ack 2921 win 65535
";
    let report = Timeline::opened(20.0, 65_535).rounds(20, 0.8, 2_920, flight).report();
    is_mostly(&report, Cause::Timeout, 0.6);
    assert!(has(&report, "data-or-acks"), "{:?}", report.verdict.caveats);
    assert_ne!(report.verdict.confidence, Confidence::High);
    // A duplicate ACK proves that only the first was lost.
    let lost =
        flight.replace("        0.6206", "        0.0406 < . 1 ack 1 win 65535\n        0.6206");
    let report = Timeline::opened(20.0, 65_535).rounds(20, 0.8, 2_920, &lost).report();
    assert!(!has(&report, "data-or-acks"), "{:?}", report.verdict.caveats);
}

#[test]
fn one_lost_ack_may_be_a_host_that_stood_still() {
    let flight = "0.0205 > . 1:1461
        0.0206 > P. 1461:2921
        0.2606 > . 1:1461
        0.2806 < . 1 ack 2921 win 65535 sack 1-1461
";
    let report = Timeline::opened(20.0, 65_535).rounds(2, 0.5, 2_920, flight).report();
    assert!(has(&report, "ack-loss"), "{:?}", report.verdict.caveats);
    assert_eq!(share(&report, Cause::AckLoss), 0.0);
    assert!(share(&report, Cause::Unknown) > 0.4, "{:?}", report.causes);
}

#[test]
fn a_conversation_that_comes_twice_loses_no_acks() {
    let flight = "0.0210 > . 1:1461
        0.0211 < . 1 ack 1461 win 65535
        0.0610 > . 1461:2921
        0.0611 < . 1 ack 2921
        0.1010 > P. 2921:4381
        0.1011 < . 1 ack 4381
        5.0210 > . 1:1461
        5.0211 < . 1 ack 1461
        5.2610 > . 1461:2921
        5.2611 < . 1 ack 2921
        5.5010 > P. 2921:4381
        5.5011 < . 1 ack 4381
";
    let report = at_receiver().t(flight).report();
    assert_eq!(share(&report, Cause::AckLoss), 0.0, "{:?}", report.causes);
}

#[test]
fn what_fills_a_hole_after_a_silence_is_a_timeout_without_a_handshake_too() {
    let flight = "1.0000 > . 1461:2921
        1.0001 < . 1 ack 1 win 65535
        1.0002 > P. 2921:4381
        1.0003 < . 1 ack 1
        1.4000 > . 1:1461
        1.4001 < . 1 ack 4381
        1.4200 > . 4381:5841
        1.4201 < . 1 ack 5841
";
    let report = Timeline::new().t("0.9 > . 1:1 win 65535\n0.9001 < . 1 ack 1 win 65535");
    let report = report.rounds(6, 0.45, 5_840, flight).report();
    is_mostly(&report, Cause::Timeout, 0.7);
}

#[test]
fn duplicate_acks_that_a_sender_does_not_heed_are_its_own_remedy() {
    let flight = "0.0205 > . 1:1461
        0.0206 > . 1461:2921
        0.0207 > . 2921:4381
        0.0208 > P. 4381:5841
        0.0407 < . 1 ack 1 win 65535
        0.0408 < . 1 ack 1
        0.0409 < . 1 ack 1
        0.4205 > . 1:1461
        0.4405 < . 1 ack 5841
";
    let report = Timeline::opened(20.0, 65_535).rounds(5, 0.5, 5_840, flight).report();
    let fast =
        |remedy: &&windlass_trace::report::Remedy| remedy.action.to_string().contains("RFC 5681");
    assert!(report.verdict.remedies.iter().any(|one| fast(&one)), "{:?}", report.verdict);
}

fn timer(seconds: f64) -> ConnectionReport {
    let (again, answer) = (seconds + 0.0407, seconds + 0.0607);
    let flight = format!(
        "0.0205 > . 1:1461
        0.0206 > P. 1461:2921
        0.0405 < . 1 ack 1461 win 65535
        {again:.4} > P. 1461:2921
        {answer:.4} < . 1 ack 2921
        {:.4} > P. 2921:4381
        {:.4} < . 1 ack 4381
",
        answer + 0.0001,
        answer + 0.0201
    );
    Timeline::opened(20.0, 65_535).rounds(5, seconds + 0.3, 4_380, &flight).report()
}

#[test]
fn a_timer_of_three_seconds_on_a_path_of_20_ms() {
    let report = timer(3.0);
    is_mostly(&report, Cause::SlowTimer, 0.7);
    assert!(has(&report, "slow-timer"), "{:?}", report.verdict.caveats);
    assert_eq!(shows(&report, "a timer that ran for 3 s").len(), 5, "{:?}", report.verdict);
    let shorter =
        |remedy: &&windlass_trace::report::Remedy| remedy.action.to_string().contains("timer");
    let remedy = report.verdict.remedies.iter().find(shorter).unwrap();
    let faster = remedy.expected_bytes_per_second.unwrap().bytes_per_second();
    assert!(faster > 2.0 * report.bytes_per_second.bytes_per_second(), "{remedy:?}");
    // Linux's.
    assert!(!has(&timer(0.22), "slow-timer"));
}

#[test]
fn a_timer_shorter_than_the_path_loses_nothing_and_sends_half_of_it_again() {
    // Over 60 ms each flight of two is sent again after 40, as small stacks with a fixed timer do.
    let flight = "0.0605 > . 1:1461
        0.0606 > P. 1461:2921
        0.1005 > . 1:1461
        0.1006 > P. 1461:2921
        0.1205 < . 1 ack 1461 win 65535
        0.1206 < . 1 ack 2921
        0.1605 < . 1 ack 2921
        0.1606 < . 1 ack 2921
";
    // The next flight leaves before the ACKs of the copies.
    let rounds = |flight: &str| Timeline::opened(60.0, 65_535).rounds(20, 0.0602, 2_920, flight);
    let report = rounds(flight).report();
    assert!(has(&report, "fast-timer"), "{:?}", report.verdict.caveats);
    assert_eq!((report.losses.ratio, report.losses.needless), (0.0, 40), "{:?}", report.losses);
    assert_eq!(share(&report, Cause::Reordering) + share(&report, Cause::FastRecovery), 0.0);
    assert_eq!(share(&report, Cause::FastTimer), 0.0, "the flight is never cut");
    // If the ACKs of the first copies may have come and were lost, the timer is not too short.
    let slow = flight.replace("0.1005", "0.1105").replace("0.1006", "0.1106");
    assert!(!has(&rounds(&slow).report(), "fast-timer"));
}

#[test]
fn a_sender_that_takes_its_early_timer_for_a_loss_keeps_its_window_small() {
    let first = "0.0605 > . 1:1461
        0.0606 > . 1461:2921
        0.0607 > . 2921:4381
        0.0608 > P. 4381:5841
        0.1005 > . 1:1461
        0.1205 < . 1 ack 1461 win 65535
        0.1206 < . 1 ack 2921
        0.1207 < . 1 ack 4381
        0.1208 < . 1 ack 5841
        0.1605 < . 1 ack 5841
";
    let flight = "0.1210 > P. 5841:7301
        0.1610 > P. 5841:7301
        0.1810 < . 1 ack 7301
        0.2210 < . 1 ack 7301
";
    let opened = Timeline::opened(60.0, 65_535).t(first);
    let report = opened.rounds(20, 0.0605, 1_460, flight).report();
    is_mostly(&report, Cause::FastTimer, 0.8);
    assert_eq!(shows(&report, "before an ACK could come").len(), 8);
}
