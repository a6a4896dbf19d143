//! A sender whose buffer holds less than the wait for an ACK asks for.

use windlass_base::Cause;
use windlass_trace::report::{Confidence, ConnectionReport, Remedy};

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{has_caveat, is_free_of, is_mostly, is_near, lost_nothing, played, share};

/// 2,048 bytes against an ACK that is withheld for half a second.
pub(crate) fn buffer_against_delayed_ack() -> Timeline {
    Timeline::opened(0.4, 8_192).rounds(
        12,
        0.500_550,
        2_048,
        "0.001000 > . 1:1461 ack 1
         0.001020 > P. 1461:2049
         0.501500 < . 1 ack 2049 win 8192",
    )
}

#[test]
fn a_buffer_of_2048_against_a_withheld_ack() {
    let report = buffer_against_delayed_ack().report();
    is_mostly(&report, Cause::BufferDelayedAck, 0.9);
    lost_nothing(&report);
    let predicted = report.verdict.predicted_bytes_per_second.unwrap();
    is_near(predicted.bytes_per_second(), 4_093.0, 50.0);
}

/// Reports a transfer whose program writes this many seconds after each ACK.
fn woken_after(seconds: f64) -> ConnectionReport {
    let round = "0.001000 > . 1:1461 ack 1
                 0.001020 > P. 1461:2049
                 0.501500 < . 1 ack 2049 win 8192";
    Timeline::opened(0.4, 8_192).rounds(12, 0.500_500 + seconds, 2_048, round).report()
}

#[test]
fn a_program_that_waits_for_its_turn_on_a_busy_machine_still_waited_for_the_ack() {
    for seconds in [0.000_2, 0.003, 0.009] {
        is_mostly(&woken_after(seconds), Cause::BufferDelayedAck, 0.9);
    }
}

#[test]
fn who_is_slow_behind_each_ack_may_write_at_a_pace_of_his_own() {
    for (seconds, is_slow) in [(0.000_1, false), (0.003, true)] {
        let report = woken_after(seconds);
        let verdict = &report.verdict;
        assert_eq!(has_caveat(&report, "other-pace"), is_slow, "{seconds}");
        assert_eq!(verdict.confidence == Confidence::High, !is_slow, "{:?}", verdict.confidence);
        let promised = |it: &Remedy| it.expected_bytes_per_second.or(it.at_most_bytes_per_second);
        let promised = verdict.remedies.iter().any(|it| promised(it).is_some());
        assert_eq!(promised, !is_slow, "{:?}", verdict.remedies);
    }
}

#[test]
fn a_program_that_writes_long_after_the_ack_did_not_wait_for_it() {
    is_mostly(&woken_after(0.060), Cause::SenderIdle, 0.9);
}

#[test]
fn a_sender_that_was_slow_to_open_still_answers_acks_at_once() {
    // Its host was busy: the third segment took 300 µs, which look like the way
    // to the sender. Data follows each ACK after 50 µs, and the first timers ran
    // out.
    let report = Timeline::new()
        .t("0 > S 0 win 64240 mss 1460
            0.000240 < S. 0 ack 1 win 8192 mss 1460
            0.000540 > . 1 ack 1
            0.001000 > . 1:1461 ack 1
            0.001020 > P. 1461:2049
            0.208000 > . 1:1461
            0.209000 < . 1 ack 2049 win 8192
            0.209050 > . 2049:3509 ack 1
            0.209070 > P. 3509:4097
            0.627000 > . 2049:3509
            0.628000 < . 1 ack 4097 win 8192")
        .rounds(
            12,
            0.500_550,
            2_048,
            "0.628050 > . 4097:5557 ack 1
             0.628070 > P. 5557:6145
             1.128550 < . 1 ack 6145 win 8192",
        )
        .report();
    is_mostly(&report, Cause::BufferDelayedAck, 0.9);
    assert_eq!((report.losses.needless, report.losses.events), (2, 0));
}

#[test]
fn the_timer_fires_before_the_withheld_ack() {
    // Linux: the timer's 200 ms are over first. The first segment, sent again,
    // makes the receiver acknowledge at once. Nothing was lost.
    let report = Timeline::opened(0.4, 8_192)
        .rounds(
            20,
            0.201_550,
            2_048,
            "0.001000 > . 1:1461 ack 1
             0.001020 > P. 1461:2049
             0.202020 > . 1:1461
             0.202500 < . 1 ack 2049 win 8192",
        )
        .report();
    is_mostly(&report, Cause::BufferDelayedAck, 0.9);
    is_free_of(&report, Cause::FastRecovery);
    assert!(share(&report, Cause::Timeout) < 0.1, "{:?}", report.causes);
    assert_eq!(report.losses.retransmissions, 20);
    assert_eq!(report.losses.by_timer, 20);
}

#[test]
fn the_timer_fires_before_the_withheld_ack_and_timestamps_prove_it() {
    // The ACK echoes the first copy (RFC 7323 section 4.3): the second was
    // needless.
    let report = Timeline::new()
        .t("0 > S 0 win 64240 mss 1460 ts 5000 0
            0.0004 < S. 0 ack 1 win 8192 mss 1460 ts 900 5000
            0.0004 > . 1 ack 1 ts 5000 900")
        .rounds(
            20,
            0.201_550,
            2_048,
            "0.001000 > . 1:1449 ack 1 ts 5001 901
             0.001020 > P. 1449:2049 ts 5001 901
             0.202020 > . 1:1449 ts 5202 901
             0.202500 < . 1 ack 2049 win 8192 ts 1102 5001",
        )
        .report();
    is_mostly(&report, Cause::BufferDelayedAck, 0.9);
    assert_eq!((report.losses.retransmissions, report.losses.needless), (20, 20));
    assert_eq!(report.losses.events, 0);
}

#[test]
fn a_single_timeout_is_no_habit() {
    let report = Timeline::opened(0.4, 8_192)
        .t("0.001000 > P. 1:1461 ack 1
            0.202020 > P. 1:1461
            0.202500 < . 1 ack 1461 win 8192")
        .report();
    is_mostly(&report, Cause::Timeout, 0.9);
}

fn a_buffer_over_a_long_path_seen(capture_point: i64, timestamps: bool) {
    let plan = Transfer {
        bytes: 1_000_000,
        send_buffer: 16_384,
        rtt: 80_000,
        ack_every: 1,
        scale: Some(7),
        window: 1 << 20,
        capture_point,
        timestamps,
        ..Transfer::default()
    };
    let report = played(&plan);
    is_mostly(&report, Cause::BufferPathRtt, 0.85);
    lost_nothing(&report);
}

#[test]
fn a_buffer_over_a_long_path() {
    a_buffer_over_a_long_path_seen(0, false);
    a_buffer_over_a_long_path_seen(0, true);
    a_buffer_over_a_long_path_seen(100, true);
    a_buffer_over_a_long_path_seen(100, false);
}

/// Four segments in flight; each ACK lets out the next at once, with these flags.
fn refilled_at_once(flags: &str) -> ConnectionReport {
    let first = format!(
        "0.0201 > {flags} 1:1461 ack 1
         0.0202 > {flags} 1461:2921
         0.0203 > {flags} 2921:4381
         0.0204 > {flags} 4381:5841"
    );
    let round = format!(
        "0.0401 < . 1 ack 1461 win 65535
         0.0401 > {flags} 5841:7301 ack 1
         0.0402 < . 1 ack 2921
         0.0402 > {flags} 7301:8761
         0.0403 < . 1 ack 4381
         0.0403 > {flags} 8761:10221
         0.0404 < . 1 ack 5841
         0.0404 > {flags} 10221:11681"
    );
    Timeline::opened(20.0, 65_535).t(&first).rounds(40, 0.020, 5_840, &round).report()
}

#[test]
fn where_nothing_waits_behind_a_segment_no_congestion_window_holds_it() {
    // Small stacks push what empties their buffer, and refill it with each ACK.
    let report = refilled_at_once("P.");
    is_mostly(&report, Cause::BufferPathRtt, 0.9);
    // So does Linux with each write of a program that writes little at a time.
    assert_eq!(report.verdict.confidence, Confidence::Medium);
    is_mostly(&refilled_at_once("."), Cause::Steady, 0.9);
}

#[test]
fn what_nagle_holds_back_of_each_write_may_be_the_pace_of_the_writes() {
    // 2,000 bytes each 3 ms, over 2 ms: the first segment of a write goes at once, and the rest
    // when an ACK has come for all that is in flight.
    let write = "0.0061 > . 2001:3461 ack 1
                 0.0071 < . 1 ack 2001 win 65535
                 0.0081 < . 1 ack 3461
                 0.0081 > P. 3461:4001";
    let report = Timeline::opened(2.0, 65_535)
        .t("0.0031 > . 1:1461 ack 1
            0.0051 < . 1 ack 1461
            0.0051 > P. 1461:2001")
        .rounds(100, 0.003, 2_000, write)
        .report();
    assert_eq!(report.verdict.cause, Cause::BufferPathRtt);
    // The program's pace is as likely.
    assert_eq!(report.verdict.confidence, Confidence::Low);
    assert!(report.verdict.between.contains(&Cause::SenderIdle), "{:?}", report.verdict.between);
    assert!(has_caveat(&report, "other-pace"), "{:?}", report.verdict.caveats);
    let remedies = &report.verdict.remedies;
    assert!(remedies.iter().all(|it| it.expected_bytes_per_second.is_none()), "{remedies:?}");
}

#[test]
fn data_that_comes_sooner_than_a_round_trip_allows_waits_for_no_ack() {
    // Captured near the receiver, 40 ms from the sender, whose program writes a segment each 30 ms.
    let opened = "0 > S 0 win 64240 mss 1460
                  0.001 < S. 0 ack 1 win 65535 mss 1460
                  0.041 > . 1 ack 1";
    let promises = |seconds: f64| {
        let write = "0.042 > P. 1:1461 ack 1
                     0.043 < . 1 ack 1461 win 65535";
        let report = Timeline::new().t(opened).rounds(60, seconds, 1_460, write).report();
        let remedies = &report.verdict.remedies;
        let promised = |it: &Remedy| it.expected_bytes_per_second.or(it.at_most_bytes_per_second);
        remedies.iter().any(|it| promised(it).is_some())
    };
    assert!(!promises(0.030));
    // A segment for each ACK is what a send buffer of one lets go.
    assert!(promises(0.041));
}

/// Ten segments over a path of 20 ms, of which each second is acknowledged; the next ten leave
/// right behind the second ACK, which makes room for a third of them, or behind the last.
fn let_out_by(ack: u32) -> ConnectionReport {
    let piece = |since: f64, first: u32| {
        (0..10).fold(String::new(), |all, at| {
            let (time, begin) = (since + f64::from(at) * 1e-6, first + at * 1_460);
            let flags = if at == 9 { "P." } else { "." };
            format!("{all}{time:.6} > {flags} {begin}:{} ack 1\n", begin + 1_460)
        })
    };
    let round = (1..=5).fold(String::new(), |all, pair| {
        let time = 0.040_1 + f64::from(pair) * 100e-6;
        let next = if pair == ack { piece(time + 10e-6, 14_601) } else { String::new() };
        format!("{all}{time:.6} < . 1 ack {} win 65535\n{next}", pair * 2_920 + 1)
    });
    let first = piece(0.020_1, 1);
    Timeline::opened(20.0, 65_535).t(&first).rounds(40, 0.020, 14_600, &round).report()
}

#[test]
fn who_waits_for_the_last_of_several_acks_may_write_piece_after_piece() {
    for (ack, is_last) in [(2, false), (5, true)] {
        let report = let_out_by(ack);
        is_mostly(&report, Cause::BufferPathRtt, 0.8);
        assert_eq!(has_caveat(&report, "other-pace"), is_last, "{ack}");
        assert_ne!(report.verdict.confidence, Confidence::High, "{ack}");
    }
}
