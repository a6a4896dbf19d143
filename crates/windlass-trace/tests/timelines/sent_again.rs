//! What is sent again though its data had arrived, and timers that run for long.

use windlass_base::Cause;
use windlass_trace::report::Report;

use crate::support::script::Timeline;
use crate::support::{is_mostly, is_sound, share};

fn has(report: &Report, id: &str) -> bool {
    is_sound(report);
    report.verdict.caveats.iter().any(|caveat| caveat.id == id)
}

fn shows(report: &Report, what: &str) -> Vec<u64> {
    let found = report.verdict.evidence.iter().find(|one| one.shows.contains(what));
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
}

fn timer(seconds: f64) -> Report {
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
    let shorter = |remedy: &&windlass_trace::report::Remedy| remedy.action.contains("timer");
    let remedy = report.verdict.remedies.iter().find(shorter).unwrap();
    let faster = remedy.expected_bytes_per_second.unwrap().bytes_per_second();
    assert!(faster > 2.0 * report.bytes_per_second.bytes_per_second(), "{remedy:?}");
    // Linux's.
    assert!(!has(&timer(0.22), "slow-timer"));
}
