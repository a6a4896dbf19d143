//! Captures that hold only a part: no handshake, one side, packets missing.

use windlass_base::Cause;
use windlass_trace::report::{Confidence, ConnectionReport};
use windlass_wire::{Options, Segment};

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{ends, has_caveat, is_mostly, is_near, is_sound, lost_nothing, report, share};

fn way(segments: &[Segment], from: usize) -> Vec<Segment> {
    segments.iter().filter(|segment| segment.source == ends()[from]).copied().collect()
}

#[test]
fn the_capture_starts_in_the_middle() {
    let all = Transfer { window: 16_384, rtt: 50_000, ..Transfer::default() }.play();
    let report = report(&all[100..]);
    is_sound(&report);
    is_mostly(&report, Cause::WindowPathRtt, 0.8);
    lost_nothing(&report);
    assert!(report.handshake.is_none() && has_caveat(&report, "no-handshake"));
    assert_eq!(report.receive_window.scale, 0);
    assert!(report.verdict.confidence < Confidence::High);
}

#[test]
fn the_capture_starts_with_an_ack() {
    let all = Transfer { window: 16_384, rtt: 50_000, ..Transfer::default() }.play();
    let first_ack = (20..).find(|&place| all[place].source == ends()[1]).unwrap();
    let report = report(&all[first_ack..]);
    is_sound(&report);
    is_mostly(&report, Cause::WindowPathRtt, 0.8);
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
    lost_nothing(&report);
}

#[test]
fn the_scale_is_inferred_from_what_was_sent() {
    // 502 << 7 = 64,256: 20 kB in flight prove a shift of 6 at least.
    let report = Timeline::new()
        .rounds(
            20,
            0.020_1,
            20_440,
            &(0..14)
                .fold(String::from("0.0010 > . 1:1461 ack 1\n"), |lines, place| {
                    let start = 1 + 1_460 * place;
                    let end = start + 1_460;
                    let time = 0.001 + 0.000_01 * f64::from(place);
                    if place == 0 {
                        lines
                    } else {
                        lines + &format!("{time:.6} > . {start}:{end} ack 1\n")
                    }
                })
                .add_line("0.0210 < . 1 ack 20441 win 502"),
        )
        .report();
    let window = &report.receive_window;
    assert!(!window.scale_known && has_caveat(&report, "scale-unknown"));
    assert_eq!(window.scale, 6);
    assert_eq!(window.closures, 0);
    lost_nothing(&report);
}

/// 30 round trips of 50 ms, captured from the middle: each with so many segments of these sizes,
/// under that raw window.
fn middle(segments: &[u32], window: u32) -> ConnectionReport {
    let mut lines = String::new();
    let mut end = 1;
    for (place, length) in (0_u8..).zip(segments) {
        let time = 0.001 + 1e-5 * f64::from(place);
        let flags = if usize::from(place) + 1 == segments.len() { "P." } else { "." };
        lines += &format!("{time:.5} > {flags} {end}:{} ack 1\n", end + length);
        end += length;
    }
    lines += &format!("0.051 < . 1 ack {end} win {window}");
    let begin = format!("0 < . 1 ack 1 win {window}");
    Timeline::new().t(&begin).rounds(30, 0.050_05, end - 1, &lines).report()
}

fn is_of_window(report: &ConnectionReport) -> bool {
    report.causes.keys().any(|cause| cause.starts_with("receiver-window"))
}

#[test]
fn a_window_that_may_be_scaled_is_not_called_small() {
    // Raw windows of Linux hosts that scale by 7, and flights that end somewhere below: of a small
    // program, of one segment, of a fixed send buffer.
    for (segments, window) in [
        (&[400][..], 501),
        (&[229], 229 + 40),
        (&[1_460], 1_500),
        (&[1_460, 1_460], 4_000),
        (&[1_460, 1_460, 700], 4_096),
        (&[1_460, 1_460, 1_460, 900], 5_600),
    ] {
        let report = middle(segments, window);
        assert!(has_caveat(&report, "scale-unknown"));
        assert!(!is_of_window(&report), "{segments:?} {window}: {:?}", report.causes);
        assert_eq!(report.receive_window.closures, 0, "{segments:?} {window}");
    }
}

#[test]
fn a_sender_that_stops_at_the_edge_tells_that_the_window_is_no_larger() {
    // At the last byte, of a window below the MSS, too; and within a segment of a large window.
    for (segments, window, cause) in [
        (&[512][..], 512, Cause::WindowBelowMss),
        (&[1_460, 588], 2_048, Cause::WindowPathRtt),
        (&[1_460, 1_460], 2_920, Cause::WindowPathRtt),
        (&[1_460; 11], 16_384, Cause::WindowPathRtt),
    ] {
        let report = middle(segments, window);
        is_mostly(&report, cause, 0.8);
        assert!(report.verdict.confidence < Confidence::High, "{segments:?} {window}");
    }
}

#[test]
fn a_window_that_falls_with_its_acks_is_not_scaled() {
    // A program that reads nothing for half a second: each ACK offers as much less as it
    // acknowledges, until less than a segment is left.
    let lines = "0.001 > . 1:1461 ack 1
                 0.002 > . 1461:2921 ack 1
                 0.003 > . 2921:4381 ack 1
                 0.011 < . 1 ack 1461 win 3540
                 0.012 < . 1 ack 2921 win 2080
                 0.013 < . 1 ack 4381 win 620
                 0.500 < . 1 ack 4381 win 5000";
    let begin = "0 < . 1 ack 1 win 5000";
    let report = Timeline::new().t(begin).rounds(30, 0.5, 4_380, lines).report();
    assert!(has_caveat(&report, "scale-unknown"));
    is_mostly(&report, Cause::ReceiverNotReading, 0.8);
}

#[test]
fn two_windows_that_fall_to_nothing_show_a_window_below_the_mss() {
    // Each piece fills the window, which opens again 2 ms later.
    let report = Timeline::new()
        .t("0.0000 > P. 1:1025 ack 1
            0.0104 < . 1 ack 1025 win 0
            0.0121 < . 1 ack 1025 win 1024
            0.0122 > P. 1025:2033 ack 1
            0.0226 < . 1 ack 2033 win 16
            0.0243 < . 1 ack 2033 win 1024
            0.0244 > P. 2033:3057 ack 1
            0.0348 < . 1 ack 3057 win 0
            0.0365 < . 1 ack 3057 win 1024")
        .report();
    is_mostly(&report, Cause::WindowBelowMss, 0.5);
}

#[test]
fn a_byte_that_makes_a_scaled_window_fall_by_one_shows_no_scale() {
    let lines: String = (0..20_u32)
        .map(|place| {
            let (time, start) = (0.05 * f64::from(place), 1 + place);
            let (end, window) = (start + 1, 520 - place);
            format!(
                "{:.3} > P. {start}:{end} ack 1\n{:.3} < . 1 ack {end} win {window}\n",
                time + 0.001,
                time + 0.021
            )
        })
        .collect();
    let report = Timeline::new().t("0 < . 1 ack 1 win 521").t(&lines).report();
    assert!(!is_of_window(&report), "{:?}", report.causes);
}

#[test]
fn options_that_the_snap_length_cut_may_have_been_offered() {
    let plan = Transfer {
        window: 16_384,
        scale: Some(3),
        sack: true,
        timestamps: true,
        lost: vec![40, 41, 120],
        ..Transfer::default()
    };
    let all = plan.play();
    let whole = report(&all);
    assert!(whole.receive_window.scale_known && whole.receive_window.scale == 3);
    // A snap length leaves this of the options of the SYN and of the SYN-ACK: nothing, the MSS, or
    // everything up to the scale.
    let nothing = Options { truncated: true, ..Options::default() };
    let (mss, scale) = (all[0].options.mss, all[0].options.window_scale);
    let size = Options { mss, ..nothing };
    let most = Options { mss, window_scale: scale, ..nothing };
    let uncut = all[0].options;
    for (syn, answer, scale) in [
        (nothing, nothing, None),
        (size, size, None),
        (uncut, size, None),
        (uncut, most, Some(3)),
        // An answer scales only where the SYN asked for it.
        (size, most, Some(3)),
    ] {
        let mut cut = all.clone();
        (cut[0].options, cut[1].options) = (syn, answer);
        let report = report(&cut);
        is_sound(&report);
        let window = &report.receive_window;
        assert_eq!(window.scale_known.then_some(window.scale), scale, "{syn:?} {answer:?}");
        assert_eq!(has_caveat(&report, "scale-unknown"), scale.is_none());
        assert!(has_caveat(&report, "no-handshake"));
        let remedies = report.verdict.remedies.iter().map(|remedy| remedy.action.to_string());
        assert!(remedies.clone().all(|remedy| !remedy.contains("SACK")), "{:?}", report.verdict);
    }
    // Without the option, and not cut, windows are as they read.
    let mut plain = all.clone();
    plain[1].options.window_scale = None;
    let window = report(&plain).receive_window;
    assert!(window.scale_known && window.scale == 0);
}

trait AddLine {
    fn add_line(self, line: &str) -> String;
}

impl AddLine for String {
    fn add_line(self, line: &str) -> String {
        self + line + "\n"
    }
}

#[test]
fn packets_missing_from_the_capture_are_not_lost() {
    let all = Transfer { window: 16_384, rtt: 20_000, ..Transfer::default() }.play();
    let whole = report(&all);
    let data = |segment: &Segment| segment.payload > 0;
    let some: Vec<Segment> =
        all.iter().filter(|segment| !data(segment) || segment.number % 20 != 7).copied().collect();
    let gone = all.iter().filter(|one| data(one) && one.number % 20 == 7);
    let missing: u64 = gone.map(|one| u64::from(one.payload)).sum();
    let report = report(&some);
    is_sound(&report);
    assert!(missing > 10_000);
    assert_eq!(report.losses.missing_from_capture_bytes.get(), missing);
    assert_eq!(report.bytes, whole.bytes);
    lost_nothing(&report);
    is_mostly(&report, Cause::WindowPathRtt, 0.7);
    assert!(has_caveat(&report, "packets-missing"));
}

#[test]
fn acks_missing_from_the_capture() {
    let all = Transfer { window: 16_384, rtt: 20_000, ..Transfer::default() }.play();
    let some: Vec<Segment> = all
        .iter()
        .filter(|one| one.payload > 0 || one.source == ends()[0] || one.number % 5 != 0)
        .copied()
        .collect();
    let report = report(&some);
    is_sound(&report);
    lost_nothing(&report);
    is_mostly(&report, Cause::WindowPathRtt, 0.7);
}

#[test]
fn data_only() {
    let all = Transfer { window: 16_384, rtt: 50_000, ..Transfer::default() }.play();
    let report = report(&way(&all, 0));
    is_sound(&report);
    assert!(has_caveat(&report, "one-sided"));
    assert_eq!(report.bytes.get(), 500_000);
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
    assert_eq!(report.verdict.confidence, Confidence::Low);
    lost_nothing(&report);
}

#[test]
fn one_side_alone_does_not_tell_of_a_queue() {
    // Messages of a dialogue by a clock of 200 ticks a second, which reads as one of 250.
    let mut lines = String::from("0 > S 0 win 8320 mss 1456 ts 1000 0\n");
    let mut start = 1;
    for place in 1..60_u32 {
        let time = 0.4 * f64::from(place);
        let stamp = 1_000 + 80 * place;
        for _ in 0..2 {
            lines += &format!("{time:.6} > P. {start}:{} ack 1 ts {stamp} 5\n", start + 45);
            start += 45;
        }
    }
    let timeline = Timeline::new().t(&lines);
    let report = report(&timeline.segments);
    is_mostly(&report, Cause::Unknown, 0.99);
    assert_eq!(report.verdict.confidence, Confidence::Low);
}

#[test]
fn acks_only() {
    let all = Transfer { window: 16_384, rtt: 50_000, ..Transfer::default() }.play();
    let report = report(&way(&all, 1));
    is_sound(&report);
    assert!(has_caveat(&report, "one-sided"));
    assert_eq!(
        (report.sender.as_str(), report.receiver.as_str()),
        (ends()[0].to_string().as_str(), ends()[1].to_string().as_str(),)
    );
    assert_eq!(report.bytes.get(), 500_000);
    assert_eq!(report.verdict.confidence, Confidence::Low);
    lost_nothing(&report);
}

#[test]
fn at_the_receiver_an_ack_leaves_at_once() {
    // The flight looks near 0 there; the other half of the path holds the wait.
    for timestamps in [false, true] {
        let plan = Transfer {
            window: 16_384,
            rtt: 50_000,
            capture_point: 100,
            ack_every: 1,
            timestamps,
            ..Transfer::default()
        };
        let report = report(&plan.play());
        is_sound(&report);
        is_mostly(&report, Cause::WindowPathRtt, 0.8);
        assert!(has_caveat(&report, "taken-at-receiver"));
        let rtt = report.rtt_seconds.unwrap();
        is_near(rtt.capture_to_sender.as_seconds(), 0.05, 0.001);
        is_near(rtt.min.as_seconds(), 0.05, 0.001);
        assert!(share(&report, Cause::SenderIdle) < 0.1, "{:?}", report.causes);
    }
}

#[test]
fn what_met_an_unseen_window_filled_none() {
    // The first ACK tells the window, and what it answers was a tenth of that.
    let report = Timeline::new()
        .t("0.0000 > P. 1:81 ack 1
            0.0001 > P. 81:521 ack 1
            0.0168 < . 1 ack 521 win 7752")
        .report();
    is_sound(&report);
    assert_eq!(share(&report, Cause::WindowPathRtt), 0.0);
    // A keep-alive's byte, and a window field that has to be scaled.
    let report = Timeline::new()
        .t("0.000 > . 1:2 ack 1
            0.185 < . 1 ack 2 win 262")
        .report();
    assert_eq!(share(&report, Cause::WindowBelowMss), 0.0);
}

#[test]
fn data_behind_its_own_ack_was_captured_late() {
    let mut timeline = Timeline::opened(1.0, 65_535);
    for round in 0..20 {
        let (start, time) = (1 + 1_460 * round, 0.01 + 0.002_5 * f64::from(round));
        let end = start + 1_460;
        let (data, ack) = if round % 5 == 3 { (6e-6, 0.0) } else { (0.0, 2e-5) };
        let lines = [
            (time + data, format!("{:.6} > P. {start}:{end} ack 1", time + data)),
            (time + ack, format!("{:.6} < . 1 ack {end} win 65535", time + ack)),
        ];
        let place = usize::from(data > ack);
        timeline = timeline.t(&format!("{}\n{}", lines[place].1, lines[1 - place].1));
    }
    let report = timeline.report();
    is_sound(&report);
    let losses = &report.losses;
    assert_eq!((losses.retransmissions, losses.events, losses.out_of_order), (0, 0, 4));
    assert_eq!(report.losses.missing_from_capture_bytes.get(), 0);
    assert_eq!(report.bytes.get(), 29_200);
}

#[test]
fn numbers_of_something_else_are_no_bytes() {
    // Both sides of a firewall that gives the sender's bytes other numbers, and no
    // identification that tells.
    let shift = 1_731_000_000_u32;
    let mut lines = String::new();
    for round in 0..10_u32 {
        let (start, time) = (1 + 1_000 * round, 0.01 * f64::from(round + 1));
        let end = start + 1_000;
        let (far_start, far_end) = (start + shift, end + shift);
        lines += &format!(
            "{time:.6} > P. {start}:{end} ack 1
             {:.6} > P. {far_start}:{far_end} ack 1
             {:.6} < . 1 ack {far_end} win 65535
             {:.6} < . 1 ack {end} win 65535\n",
            time + 1e-5,
            time + 1e-3,
            time + 1.01e-3
        );
    }
    let report = Timeline::opened(1.0, 65_535).t(&lines).report();
    is_sound(&report);
    assert!(report.bytes.get() <= 20_000, "{}", report.bytes);
}

#[test]
fn bytes_that_no_time_of_the_capture_holds_are_in_no_rate() {
    // As in a text from which a part was cut out together with its time: 100,000 bytes
    // would have to be sent between two packets.
    let timeline = |pause: f64| {
        Timeline::opened(5.0, 2_920)
            .rounds(
                4,
                0.1,
                2_920,
                "0.010000 > . 1:1461 ack 1
                 0.010010 > . 1461:2921
                 0.100000 < . 1 ack 2921 win 2920",
            )
            .t(&format!(
                "{} > . 111681:113141
                 {} > . 113141:114601
                 {} < . 1 ack 114601 win 2920",
                0.400_020 + pause,
                0.400_030 + pause,
                0.490_000 + pause
            ))
            .report()
    };
    let cut = timeline(0.0);
    assert_eq!(cut.bytes.get(), 4 * 2_920 + 2_920);
    // In a pause of a second that many round trips have room.
    let paused = timeline(1.0);
    assert_eq!(paused.bytes.get(), 114_600);
}
