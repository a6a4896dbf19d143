//! A window that the receiver closes.

use windlass_base::Cause;

use crate::support::script::Timeline;
use crate::support::{is_free_of, is_mostly, is_near, lost_nothing, share};

/// A device with 8 kB of room that takes a page, then stops.
fn filled() -> Timeline {
    Timeline::opened(1.0, 8_192)
        .rounds(
            5,
            0.001_100,
            2_920,
            "0.001020 > . 1:1461 ack 1
             0.001030 > . 1461:2921
             0.002030 < . 1 ack 2921 win 8192",
        )
        .t("0.006500 > . 14601:16061
            0.006510 > . 16061:17521
            0.006520 > . 17521:18981
            0.006530 > . 18981:20441
            0.006540 > . 20441:21901
            0.006550 > P. 21901:22793
            0.007550 < . 1 ack 22793 win 0")
}

/// Three of Linux's probes: no data, one number back (SND.UNA − 1).
pub(crate) fn probed() -> Timeline {
    filled().t("0.208 > . 22792
                0.209 < . 1 ack 22793 win 0
                0.608 > . 22792
                0.609 < . 1 ack 22793 win 0
                1.408 > . 22792")
}

fn goes_on(timeline: Timeline, at: f64) -> Timeline {
    let (one, two, three) = (at + 0.000_05, at + 0.000_06, at + 0.001_06);
    timeline.t(&format!(
        "{one} > . 22793:24253
         {two} > P. 24253:25713
         {three} < . 1 ack 25713 win 8192"
    ))
}

#[test]
fn linux_probes_until_the_window_opens_by_itself() {
    let timeline = probed().t("1.409 < . 1 ack 22793 win 0
                               2.000 < . 1 ack 22793 win 8192");
    let report = goes_on(timeline, 2.0).report();
    is_mostly(&report, Cause::ReceiverNotReading, 0.95);
    is_free_of(&report, Cause::NoWindowUpdate);
    assert!(share(&report, Cause::SenderIdle) < 0.01);
    lost_nothing(&report);
    assert_eq!(report.losses.duplicate_acks, 0);
    let window = &report.receive_window;
    assert_eq!((window.closures, window.probes), (1, 3));
    assert_eq!(window.probe_packets, [26, 28, 30]);
    is_near(window.closed_seconds.as_seconds(), 1.992_45, 1e-6);
}

#[test]
fn a_probe_finds_the_window_open() {
    let timeline = probed().t("1.409 < . 1 ack 22793 win 8192");
    let report = goes_on(timeline, 1.409).report();
    is_mostly(&report, Cause::NoWindowUpdate, 0.95);
    is_free_of(&report, Cause::ReceiverNotReading);
    assert_eq!(report.receive_window.probes, 3);
    lost_nothing(&report);
}

#[test]
fn the_window_never_opens() {
    let report = probed().t("1.409 < . 1 ack 22793 win 0").report();
    is_mostly(&report, Cause::ReceiverNotReading, 0.95);
    assert_eq!((report.receive_window.closures, report.receive_window.probes), (1, 3));
    is_near(report.seconds.as_seconds(), 1.408, 0.001);
}

#[test]
fn probes_with_a_byte_that_is_refused() {
    // BSD sends the next byte; the receiver refuses it, and once the window is
    // open the sender starts with that byte again.
    let report = filled()
        .t("0.508 > . 22793:22794
            0.509 < . 1 ack 22793 win 0
            1.508 > . 22793:22794
            1.509 < . 1 ack 22793 win 0
            2.000 < . 1 ack 22793 win 8192
            2.000050 > . 22793:24253
            2.000060 > P. 24253:25713
            2.001060 < . 1 ack 25713 win 8192")
        .report();
    is_mostly(&report, Cause::ReceiverNotReading, 0.95);
    lost_nothing(&report);
    assert_eq!(report.losses.duplicate_acks, 0);
    assert_eq!(report.receive_window.probes, 2);
    assert_eq!(report.bytes.get(), 25_712);
}

#[test]
fn data_that_fills_a_closed_window_is_answered_as_late_as_all_data() {
    // A stack that never says that its window has grown, and delays its ACKs.
    let report = Timeline::opened(4.0, 2_560)
        .rounds(
            6,
            0.509,
            2_560,
            "0.004100 > P. 1:1461
             0.108500 < . 1 ack 1461 win 1100
             0.408700 > P. 1461:2561
             0.513000 < . 1 ack 2561 win 2560",
        )
        .report();
    is_mostly(&report, Cause::NoWindowUpdate, 0.75);
    is_free_of(&report, Cause::ReceiverNotReading);
    assert_eq!(report.receive_window.closures, 6);
}

#[test]
fn a_probe_with_a_byte_that_is_taken() {
    let report = filled()
        .t("0.508 > . 22793:22794
            0.509 < . 1 ack 22794 win 0
            1.508 > . 22794:22795
            1.509 < . 1 ack 22795 win 8192
            1.509050 > . 22795:24255
            1.509060 > P. 24255:25715
            1.510060 < . 1 ack 25715 win 8192")
        .report();
    is_mostly(&report, Cause::NoWindowUpdate, 0.95);
    lost_nothing(&report);
    assert_eq!((report.receive_window.probes, report.bytes.get()), (2, 25_714));
}

/// Each ACK closes the window, and 1.7 ms later it is open again.
pub(crate) fn opens_late() -> Timeline {
    Timeline::opened(0.3, 1_024).rounds(
        40,
        0.002_700,
        1_024,
        "0.001000 > P. 1:1025 ack 1
         0.001950 < . 1 ack 1025 win 0
         0.003650 < . 1 ack 1025 win 1024",
    )
}

#[test]
fn each_ack_closes_the_window_for_a_moment() {
    let report = opens_late().report();
    is_mostly(&report, Cause::WindowOpensLate, 0.6);
    is_free_of(&report, Cause::ReceiverNotReading);
    lost_nothing(&report);
    assert_eq!((report.receive_window.closures, report.receive_window.probes), (40, 0));
    let longest = report.receive_window.longest_closure_seconds.unwrap();
    is_near(longest.as_seconds(), 0.001_7, 1e-6);
    // The rest of the time is spent with the window full.
    is_near(share(&report, Cause::WindowOpensLate), 1.7 / 2.7, 0.02);
}

#[test]
fn a_reset_with_window_0_closes_nothing() {
    let report = Timeline::opened(1.0, 8_192)
        .t("0.0011 > . 1:1461 ack 1
            0.0012 > P. 1461:2921
            0.0022 < . 1 ack 2921 win 8192
            0.0042 < R. 1 ack 2921 win 0")
        .report();
    assert_eq!((report.receive_window.closures, report.receive_window.probes), (0, 0));
    assert_eq!(report.receive_window.min_bytes.unwrap().get(), 8_192);
    is_free_of(&report, Cause::ReceiverNotReading);
    is_free_of(&report, Cause::WindowOpensLate);
}

#[test]
fn data_sent_again_while_the_window_is_closed_keeps_the_order_of_time() {
    // The receiver takes back room for what is in flight, and loses it.
    let report = filled()
        .t("0.0076 < . 1 ack 22793 win 1460
            0.0077 > . 22793:24253
            0.0087 < . 1 ack 22793 win 0
            0.2082 > . 22793:24253
            0.2092 < . 1 ack 22793 win 0
            0.6082 > . 22793:24253
            0.6092 < . 1 ack 24253 win 8192
            0.6093 > P. 24253:25713
            0.6103 < . 1 ack 25713 win 8192")
        .report();
    assert_eq!(report.bytes.get(), 25_712);
    assert!(report.shares.contains_key("zero-window"), "{:?}", report.shares);
}

#[test]
fn two_programs_that_write_without_reading_wait_for_each_other() {
    // An echo of 100 kB whose sender reads nothing before it has written all.
    let deadlock = |back: &str| {
        Timeline::opened(10.0, 8_760)
            .dialogue(
                4,
                0.0202,
                [4_380, 4_380],
                "0.0105 > . 1:1461 ack 1
                 0.0106 > . 1461:2921
                 0.0107 > P. 2921:4381
                 0.0206 < . 1:1461 ack 4381 win 8760
                 0.0207 < . 1461:2921
                 0.0208 < P. 2921:4381
                 0.0209 > . 4381 ack 4381",
            )
            .t(&format!(
                "0.1000 > . 17521:18981 ack 17521 win {back}
                 0.1001 > P. 18981:20441
                 0.1102 < . 17521 ack 20441 win 0
                 0.3200 > . 20440 ack 17521 win {back}
                 0.3300 < . 17521 ack 20441 win 0
                 0.7500 > . 20440
                 0.7600 < . 17521 ack 20441
                 1.6000 > . 20440
                 1.6100 < . 17521 ack 20441
                 5.0000 < . 17521 ack 20441 win 8760
                 5.0001 > P. 20441:21901"
            ))
            .report()
    };
    let said = deadlock("0").verdict.sentence.to_string();
    assert!(said.starts_with("Neither program reads"), "{said}");
    let said = deadlock("8760").verdict.sentence.to_string();
    assert!(said.contains("its program does not read"), "{said}");
}
