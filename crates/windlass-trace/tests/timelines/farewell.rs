//! Ends of a connection long after its transfer.

use windlass_base::Cause;
use windlass_trace::report::ConnectionReport;

use crate::support::script::Timeline;
use crate::support::{is_mostly, is_near, lost_nothing, share};

/// 20 flights of 14,600 B over 50 ms each, one second in all.
fn flights() -> Timeline {
    let lines: String = (0..10)
        .map(|place| {
            let (start, time) = (1 + 1_460 * place, 0.051 + 1e-5 * f64::from(place));
            format!("{time:.6} > . {start}:{} ack 1\n", start + 1_460)
        })
        .collect();
    let ack = "0.101000 < . 1 ack 14601 win 64240";
    Timeline::opened(50.0, 64_240).rounds(20, 0.050_2, 14_600, &(lines + ack))
}

/// Asserts a transfer that takes about a second, and has no pause.
#[track_caller]
fn is_the_transfer_alone(report: &ConnectionReport) {
    lost_nothing(report);
    is_near(report.seconds.as_seconds(), 1.004, 0.01);
    is_near(report.bytes_per_second.bytes_per_second(), 291_000.0, 3_000.0);
    assert_eq!(share(report, Cause::SenderIdle), 0.0, "{:?}", report.causes);
}

#[test]
fn a_pause_before_the_farewell_is_no_time_of_the_transfer() {
    is_the_transfer_alone(&flights().report());
    for pause in [0.4, 5.0, 70.0] {
        let time = |after: f64| 1.06 + pause + after;
        // An alert of TLS with the FIN, and `GOAWAY` with an alert before the receiver's.
        let alert = format!(
            "{:.6} > P. 292001:292032 ack 1
             {:.6} > F. 292032 ack 1
             {:.6} < . 1 ack 292033 win 64240
             {:.6} < F. 1 ack 292033",
            time(0.0),
            time(0.00001),
            time(0.05),
            time(0.051)
        );
        is_the_transfer_alone(&flights().t(&alert).report());
        let both = format!(
            "{:.6} > P. 292001:292054 ack 1
             {:.6} > P. 292054:292085 ack 1
             {:.6} < . 1 ack 292085 win 64240
             {:.6} < F. 1 ack 292085
             {:.6} > R. 292085 ack 2",
            time(0.0),
            time(0.00001),
            time(0.05),
            time(0.051),
            time(0.052)
        );
        is_the_transfer_alone(&flights().t(&both).report());
    }
}

#[test]
fn what_is_no_farewell_counts_with_the_pause_before_it() {
    // Nothing ends the connection; it goes on for long; the data is none that says good-bye.
    let open = flights().t("6.06 > P. 292001:292032 ack 1
                            6.11 < . 1 ack 292032 win 64240");
    let later = open.clone().t("16.06 > F. 292032 ack 1
                                16.11 < . 1 ack 292033 win 64240");
    let data = flights().t("6.06 > P. 292001:293001 ack 1
                            6.06 > F. 293001 ack 1
                            6.11 < . 1 ack 293002 win 64240");
    for timeline in [open, later, data] {
        let report = timeline.report();
        is_near(report.seconds.as_seconds(), 6.01, 0.01);
        is_mostly(&report, Cause::SenderIdle, 0.8);
    }
    // Of a dialogue in small messages the last is one of many.
    let report = Timeline::opened(20.0, 64_240)
        .rounds(
            12,
            1.0,
            40,
            "0.021 > P. 1:41 ack 1
             0.041 < . 1 ack 41 win 64240",
        )
        .t("12.021 > F. 481 ack 1
            12.041 < . 1 ack 482 win 64240")
        .report();
    is_near(report.seconds.as_seconds(), 11.02, 0.05);
}

#[test]
fn keep_alives_behind_the_last_data_are_no_transfer() {
    for probe in ["292000", "292000:292001"] {
        let mut lines = String::new();
        for place in 1..=3 {
            let time = 1.1 + 10.0 * f64::from(place);
            lines += &format!(
                "{time:.6} > . {probe} ack 1
                 {:.6} < . 1 ack 292001 win 64240\n",
                time + 0.05
            );
        }
        let kept = flights().t(&lines).report();
        is_the_transfer_alone(&kept);
        assert_eq!(kept.receive_window.keep_alives, 3);
        let closed = lines
            + "41.000 > F. 292001 ack 1
               41.050 < F. 1 ack 292002";
        is_the_transfer_alone(&flights().t(&closed).report());
    }
}
