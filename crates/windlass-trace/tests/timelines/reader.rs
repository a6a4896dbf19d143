//! A receiver whose program reads at a rate of its own.

use windlass_base::{Cause, Span};
use windlass_trace::report::{Confidence, Side};

use crate::support::script::Timeline;
use crate::support::{has_caveat, is_free_of, is_mostly, is_near, lost_nothing};

/// A printer with eight segments of room that is full, and reads two each 20 ms.
fn printer(rounds: u32) -> Timeline {
    Timeline::opened(1.0, 11_680)
        .t("0.001100 > . 1:1461
            0.001110 > . 1461:2921
            0.001120 > . 2921:4381
            0.001130 > . 4381:5841
            0.001140 > . 5841:7301
            0.001150 > . 7301:8761
            0.001160 > . 8761:10221
            0.001170 > . 10221:11681
            0.002200 < . 1 ack 11681 win 0")
        .rounds(
            rounds,
            0.020,
            2_920,
            "0.022000 < . 1 ack 11681 win 2920
             0.022050 > . 11681:13141
             0.022060 > . 13141:14601
             0.023100 < . 1 ack 14601 win 0",
        )
}

#[test]
fn a_printer_reads_two_segments_at_a_time() {
    let report = printer(60).report();
    is_mostly(&report, Cause::ReceiverLimited, 0.95);
    is_free_of(&report, Cause::WindowOpensLate);
    lost_nothing(&report);
    let verdict = &report.verdict;
    assert_eq!(verdict.confidence, Confidence::High);
    // 2,920 bytes each 20 ms.
    let law = verdict.law.as_ref().unwrap();
    assert_eq!((law.name, law.formula), ("reader", "R"));
    is_near(law.inputs[0].value, 146_000.0, 10.0);
    assert!(verdict.sentence.to_string().contains("146 kB/s and no more"), "{}", verdict.sentence);
    // Nothing is promised, and no second buffer is advised.
    let [remedy] = verdict.remedies.as_slice() else { panic!("{:?}", verdict.remedies) };
    assert_eq!((remedy.side, remedy.expected_bytes_per_second), (Side::Receiver, None));
    assert!(!has_caveat(&report, "silly-window"));
    assert!(
        verdict
            .evidence
            .iter()
            .any(|evidence| evidence.shows.to_string().contains("part of the buffer"))
    );
}

#[test]
fn a_proxy_may_read_as_fast_as_what_lies_beyond_it() {
    // As above, but the SYN was answered when the printer far behind it answered.
    let mut printer = printer(60);
    for segment in printer.segments.iter_mut().skip(1) {
        segment.time = segment.time + Span::from_millis(80);
    }
    let report = printer.report();
    is_mostly(&report, Cause::ReceiverLimited, 0.95);
    assert!(has_caveat(&report, "split-connection"));
    assert_eq!(report.verdict.confidence, Confidence::Medium);
}

#[test]
fn two_windows_are_no_habit() {
    let report = printer(6).report();
    assert_ne!(report.verdict.confidence, Confidence::High, "{}", report.verdict.sentence);
}

#[test]
fn a_slow_reader_is_no_stall() {
    // Each opening comes 150 ms after the last, longer than a moment.
    let report = Timeline::opened(1.0, 5_840)
        .t("0.001100 > . 1:1461
            0.001110 > . 1461:2921
            0.001120 > . 2921:4381
            0.001130 > . 4381:5841
            0.002200 < . 1 ack 5841 win 0")
        .rounds(
            40,
            0.150,
            2_920,
            "0.152000 < . 1 ack 5841 win 2920
             0.152050 > . 5841:7301
             0.152060 > . 7301:8761
             0.153100 < . 1 ack 8761 win 0",
        )
        .report();
    is_mostly(&report, Cause::ReceiverLimited, 0.9);
    is_free_of(&report, Cause::ReceiverNotReading);
}

#[test]
fn a_stall_of_a_steady_reader_stays_a_stall() {
    // 60 rounds of 20 ms, then two seconds without a byte read, and 20 rounds more.
    let report = printer(60)
        .rounds(
            20,
            0.020,
            2_920,
            "3.222000 < . 1 ack 186881 win 2920
             3.222050 > . 186881:188341
             3.222060 > . 188341:189801
             3.223100 < . 1 ack 189801 win 0",
        )
        .report();
    let share = |cause: Cause| report.causes.get(&cause.to_string()).copied().unwrap_or(0.0);
    is_near(share(Cause::ReceiverNotReading), 2.0 / 3.6, 0.02);
    is_near(share(Cause::ReceiverLimited), 1.6 / 3.6, 0.02);
}

#[test]
fn one_buffer_that_opens_whole_is_no_steady_reader() {
    let report = Timeline::opened(1.0, 2_920)
        .rounds(
            60,
            0.022,
            2_920,
            "0.001100 > . 1:1461
             0.001110 > . 1461:2921
             0.002200 < . 1 ack 2921 win 0
             0.022000 < . 1 ack 2921 win 2920",
        )
        .report();
    is_mostly(&report, Cause::WindowOpensLate, 0.85);
    is_free_of(&report, Cause::ReceiverLimited);
    // The program handles a buffer for 20 ms and takes one in 1 ms: a second buffer brings little.
    let remedies = &report.verdict.remedies;
    assert!(
        !remedies.iter().any(|remedy| remedy.action.to_string().contains("second buffer")),
        "{remedies:?}"
    );
}

#[test]
fn a_window_that_is_as_large_in_each_ack_is_no_steady_reader() {
    // The handshake offers more than any ACK after it.
    let report = Timeline::opened(1.0, 65_535)
        .rounds(
            100,
            0.010,
            2_920,
            "0.001100 > . 1:1461
             0.001110 > . 1461:2921
             0.010900 < . 1 ack 2921 win 2920",
        )
        .report();
    is_mostly(&report, Cause::WindowAckLatency, 0.9);
    is_free_of(&report, Cause::ReceiverLimited);
}

#[test]
fn acks_that_go_out_before_the_program_can_read_are_no_steady_reader() {
    // Two buffers of which one is free when both are acknowledged.
    let report = Timeline::opened(1.0, 5_840)
        .t("0.001100 > . 1:1461
            0.001110 > . 1461:2921
            0.004900 < . 1 ack 2921 win 2920")
        .rounds(
            100,
            0.004,
            2_920,
            "0.005000 > . 2921:4381
             0.005010 > . 4381:5841
             0.008900 < . 1 ack 5841 win 2920",
        )
        .report();
    is_free_of(&report, Cause::ReceiverLimited);
}

#[test]
fn windows_offered_byte_by_byte_are_named() {
    let report = Timeline::opened(1.0, 5_840)
        .t("0.001100 > . 1:1461
            0.001110 > . 1461:2921
            0.001120 > . 2921:4381
            0.001130 > . 4381:5841
            0.002200 < . 1 ack 5841 win 0")
        .rounds(
            100,
            0.005,
            200,
            "0.007000 < . 1 ack 5841 win 200
             0.007050 > P. 5841:6041
             0.008100 < . 1 ack 6041 win 0",
        )
        .report();
    is_mostly(&report, Cause::ReceiverLimited, 0.9);
    assert!(has_caveat(&report, "silly-window"));
    let verdict = &report.verdict;
    let advice = &verdict.remedies[1];
    assert_eq!((advice.side, advice.expected_bytes_per_second), (Side::Receiver, None));
    assert!(advice.action.to_string().contains("half the buffer"), "{}", advice.action);
    let shown = &verdict.evidence.last().unwrap();
    assert!(shown.shows.to_string().contains("100 in all, 200 B on average"), "{}", shown.shows);
}

#[test]
fn a_server_waits_for_the_next_request() {
    // The receiver of the data opened the connection, and asks 30 ms after it has all.
    let report = Timeline::new()
        .t("0 < S 0 win 64240 mss 1460
            0.000050 > S. 0 ack 1 win 64240 mss 1460
            0.001 < . 1 ack 1")
        .dialogue(
            40,
            0.032,
            [2_920, 100],
            "0.001100 < P. 1:101 ack 1
             0.001200 > . 1:1461 ack 101
             0.001210 > P. 1461:2921
             0.002300 < . 101 ack 2921",
        )
        .report();
    is_mostly(&report, Cause::AwaitsAnswer, 0.9);
    let verdict = &report.verdict;
    assert!(verdict.sentence.to_string().contains("next request"), "{}", verdict.sentence);
    let ahead = &verdict.remedies[0];
    assert_eq!(ahead.side, Side::Receiver);
    assert!(ahead.action.to_string().contains("pipelining"), "{}", ahead.action);
    let law = verdict.law.as_ref().unwrap();
    let think = law.inputs.iter().find(|input| input.symbol == "Z").unwrap();
    is_near(think.value, 0.0315, 0.000_7);
}

#[test]
fn a_client_waits_for_the_answer() {
    let report = Timeline::opened(1.0, 64_240)
        .dialogue(
            40,
            0.032,
            [2_920, 100],
            "0.001200 > . 1:1461
             0.001210 > P. 1461:2921
             0.002300 < . 1 ack 2921
             0.032100 < P. 1:101 ack 2921
             0.032150 > . 2921 ack 101",
        )
        .report();
    is_mostly(&report, Cause::AwaitsAnswer, 0.9);
    let verdict = &report.verdict;
    assert!(verdict.sentence.to_string().contains("for an answer of"), "{}", verdict.sentence);
    assert_eq!(verdict.remedies[0].side, Side::Sender);
    assert!(verdict.remedies[1].action.to_string().contains("before its message comes"));
}

#[test]
fn a_stack_that_tells_of_what_was_read_with_the_next_ack_is_no_slow_reader_for_sure() {
    // Its program reads each segment at once. The stack acknowledges before that, and says nothing
    // of the room but with the next ACK, or where it is two segments (smoltcp 0.12).
    let round_trips = "0.0206 < . 1 ack 2921 win 1460
                       0.0206 > . 2921:4381 ack 1
                       0.0207 < . 1 ack 2921 win 4380
                       0.0207 > . 4381:5841
                       0.0207 > P. 5841:7301
                       0.0310 < . 1 ack 5841 win 2920
                       0.0310 > . 7301:8761
                       0.0311 < . 1 ack 7301 win 2920
                       0.0311 > . 8761:10221
                       0.0414 < . 1 ack 8761 win 2920
                       0.0414 > . 10221:11681
                       0.0415 < . 1 ack 10221 win 2920
                       0.0415 > . 11681:13141
                       0.0517 < . 1 ack 11681 win 2920
                       0.0517 > . 13141:14601
                       0.0518 < . 1 ack 13141 win 2920
                       0.0518 > . 14601:16061
                       0.0621 < . 1 ack 14601 win 2920
                       0.0621 > . 16061:17521
                       0.0622 < . 1 ack 16061 win 2920
                       0.0622 > . 17521:18981";
    let report = Timeline::opened(10.3, 4_380)
        .t("0.0103 > . 1:1461 ack 1
            0.0103 > . 1461:2921")
        .rounds(30, 0.0518, 16_060, round_trips)
        .report();
    assert_eq!(report.verdict.confidence, Confidence::Medium, "{}", report.verdict.cause);
}
