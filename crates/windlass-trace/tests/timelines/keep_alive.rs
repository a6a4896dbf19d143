//! Keep-alives: they are no data, no message and no answer.

use windlass_base::Cause;
use windlass_trace::report::ConnectionReport;

use crate::support::script::Timeline;
use crate::support::{is_free_of, is_mostly, is_near, lost_nothing, report, share};

/// A request of 100 B, and two segments that answer it, over 20 ms.
fn answered(window: u16) -> Timeline {
    Timeline::opened(20.0, window).t("0.021 < P. 1:101 ack 1
                                      0.022 > . 1:1461 ack 101
                                      0.023 > P. 1461:2921 ack 101
                                      0.043 < . 101 ack 2921")
}

/// Asks each ten seconds whether the sender is still there, with no byte or the last one.
fn asks(byte: &str) -> String {
    let ask = |place: u32| {
        let time = 10.0 * f64::from(place);
        format!("{time:.4} < . {byte} ack 2921\n{:.4} > . 2921 ack 101\n", time + 0.0001)
    };
    (1..=3).map(ask).collect()
}

#[test]
fn a_keep_alive_is_no_message_that_a_sender_waited_for() {
    // The sender's program goes on by itself.
    for byte in ["100", "100:101"] {
        let report = answered(64_240)
            .t(&asks(byte))
            .t("35.0 > P. 2921:4381 ack 101
                35.02 < . 101 ack 4381")
            .report();
        lost_nothing(&report);
        is_mostly(&report, Cause::SenderIdle, 0.99);
        is_free_of(&report, Cause::AwaitsAnswer);
        assert_eq!(report.bytes_returned.get(), 100);
    }
}

#[test]
fn a_keep_alive_ends_no_wait_for_a_message() {
    // The next request comes after 35 s.
    for byte in ["100", "100:101"] {
        let report = answered(64_240)
            .t(&asks(byte))
            .t("35.0 < P. 101:201 ack 2921
                35.0001 > P. 2921:4381 ack 201
                35.02 < . 201 ack 4381")
            .report();
        is_mostly(&report, Cause::AwaitsAnswer, 0.99);
        assert_eq!(report.bytes_returned.get(), 200);
        assert!(
            report.verdict.sentence.to_string().contains("35 s, once"),
            "{}",
            report.verdict.sentence
        );
    }
}

#[test]
fn who_sent_nothing_but_keep_alives_sent_no_data() {
    let report = Timeline::opened(20.0, 64_240)
        .t("0.021 > P. 1:1461 ack 1
            0.041 < . 1 ack 1461
            9.000 < . 0:1 ack 1461
            9.001 > . 1461 ack 1
            12.00 > P. 1461:2921 ack 1
            12.02 < . 1 ack 2921")
        .report();
    assert_eq!(report.bytes_returned.get(), 0);
    is_mostly(&report, Cause::SenderIdle, 0.99);
    is_free_of(&report, Cause::AwaitsAnswer);
}

/// At the receiver, 20 ms from the sender: a request, and what comes of it after 30 s, with these
/// packets in between.
fn far(between: &str) -> ConnectionReport {
    let lines = format!(
        "0 < S 0 win 64240 mss 1460
         0.020 > S. 0 ack 1 win 64240 mss 1460
         0.0201 < . 1 ack 1
         0.0202 < P. 1:101 ack 1
         0.0402 > . 1:1461 ack 101
         0.0403 > P. 1461:2921 ack 101
         0.0404 < . 101 ack 2921
         1.0 < P. 101:201 ack 2921
         1.02 > . 2921 ack 201
         {between}
         30.0 > P. 2921:4381 ack 201
         30.0001 < . 201 ack 4381"
    );
    report(&Timeline::new().t(&lines).segments)
}

#[test]
fn a_senders_keep_alive_does_not_prolong_the_wait_for_what_it_has() {
    let plain = far("");
    is_mostly(&plain, Cause::SenderIdle, 0.9);
    for byte in ["2920", "2920:2921"] {
        let kept = far(&format!(
            "15.0 > . {byte} ack 201
             15.0001 < . 201 ack 2921
             25.0 > . {byte} ack 201
             25.0001 < . 201 ack 2921"
        ));
        lost_nothing(&kept);
        is_near(share(&kept, Cause::SenderIdle), share(&plain, Cause::SenderIdle), 1e-3);
        assert!(kept.receive_window.keep_alives >= 1);
    }
}
