//! A congestion window that holds the transfer, and a path that is full.

use windlass_base::{Cause, Limit, Span};
use windlass_trace::report::{Confidence, ConnectionReport, Remedy};
use windlass_wire::Flags;

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{
    has_caveat, is_free_of, is_mostly, is_near, lost_nothing, played, report, share,
};

fn far() -> Transfer {
    Transfer {
        bytes: 1_000_000,
        rtt: 60_000,
        window: 1 << 20,
        scale: Some(7),
        ack_every: 1,
        ..Transfer::default()
    }
}

#[test]
fn a_clamped_congestion_window() {
    for capture_point in [0, 100] {
        for timestamps in [false, true] {
            let plan = Transfer { cwnd: (10, 10), capture_point, timestamps, ..far() };
            let report = played(&plan);
            is_mostly(&report, Cause::Steady, 0.7);
            lost_nothing(&report);
            is_free_of(&report, Cause::BufferPathRtt);
        }
    }
}

/// Returns whether something else may set its pace, and whether a rate is promised.
fn doubts(report: &ConnectionReport) -> (bool, bool) {
    let promised = |it: &Remedy| it.expected_bytes_per_second.or(it.at_most_bytes_per_second);
    let mut promises = report.verdict.remedies.iter().filter_map(promised);
    (has_caveat(report, "other-pace"), promises.next().is_some())
}

#[test]
fn who_sends_some_time_behind_each_ack_is_not_held_by_its_window() {
    // ACKs come 0.7 ms apart.
    let plan = Transfer { cwnd: (10, 10), rate: Some(2_000_000), ..far() };
    let prompt = played(&plan);
    is_mostly(&prompt, Cause::Steady, 0.7);
    assert_eq!(doubts(&prompt), (false, true));
    let mut all = plan.play();
    for segment in all.iter_mut().filter(|segment| segment.payload > 0) {
        segment.time = segment.time + Span::from_micros(400);
    }
    all.sort_by_key(|segment| segment.time);
    let paced = report(&all);
    is_mostly(&paced, Cause::Steady, 0.7);
    assert_eq!(doubts(&paced), (true, false));
}

#[test]
fn a_program_that_asks_in_each_round_trip_may_set_the_pace() {
    let plan = Transfer { cwnd: (10, 10), capture_point: 100, timestamps: true, ..far() };
    assert_eq!(doubts(&played(&plan)), (false, true));
    // With one of ten ACKs, once in a round trip, the receiver sends 20 bytes.
    let mut all = plan.play();
    let (receiver, mut acks, mut sent) = (all[1].source, 0, 0);
    for segment in all.iter_mut().skip(3) {
        if segment.source != receiver {
            segment.acknowledgment = segment.acknowledgment.wrapping_add(sent);
            continue;
        }
        segment.sequence = segment.sequence.map(|first| first.wrapping_add(sent));
        acks += 1;
        if acks % 10 == 5 {
            segment.payload = 20;
            sent += 20;
        }
    }
    let asked = report(&all);
    assert_eq!(doubts(&asked), (true, false), "{:?}", asked.verdict);
}

#[test]
fn data_that_comes_evenly_is_spaced_by_something() {
    // Ten segments take the line a twentieth of a round trip, or all of it but a tenth.
    for (rate, is_even) in [(5_000_000, false), (290_000, true)] {
        let (rate, timestamps) = (Some(rate), true);
        let plan = Transfer { cwnd: (10, 10), capture_point: 100, rate, timestamps, ..far() };
        let report = played(&plan);
        is_mostly(&report, Cause::Steady, 0.7);
        assert_eq!(doubts(&report), (is_even, !is_even), "{rate:?}");
    }
}

#[test]
fn where_acks_come_late_a_loss_is_not_all_that_holds_a_transfer() {
    let lost = (40..44).collect();
    let prompt = Transfer { bytes: 3_000_000, lost, ..far() };
    let report = played(&prompt);
    is_mostly(&report, Cause::AfterLoss, 0.6);
    assert_eq!(doubts(&report), (false, true));
    let late = Transfer { ack_every: 1_000, ack_delay: 60_000, ..prompt };
    let report = played(&late);
    is_mostly(&report, Cause::AfterLoss, 0.6);
    assert_eq!(report.verdict.confidence, Confidence::Medium);
    assert_eq!(doubts(&report), (true, false));
}

/// The program writes 200 kB every 90 ms, for which the line takes 83 ms: while it has nothing to
/// send, data waits in the queue still.
#[test]
fn a_program_that_pauses_while_data_waits_may_set_the_rate() {
    for capture_point in [0, 100] {
        for (writes, is_sure) in [(Some((200_000, 90_000)), false), (None, true)] {
            let plan = Transfer {
                bytes: 6_000_000,
                rtt: 30_000,
                rate: Some(2_413_000),
                ack_every: 2,
                cwnd: (10, 70),
                timestamps: true,
                capture_point,
                writes,
                ..far()
            };
            let report = played(&plan);
            is_mostly(&report, Cause::PathQueue, 0.7);
            let confidence = report.verdict.confidence;
            assert_eq!(confidence == Confidence::High, is_sure, "{capture_point}: {confidence:?}");
        }
    }
}

#[test]
fn a_queue_that_marks() {
    for capture_point in [0, 100] {
        let plan = Transfer { cwnd: (10, 10), capture_point, ..far() };
        // Both SYNs, or one, and after every 60 ACKs those that tell of a mark, until data tells
        // that its sender has heeded it.
        let marked = |agreed: bool| {
            let mut all = plan.play();
            let [asks, grants] = [Flags::ECE.with(Flags::CWR), Flags::ECE];
            all[0].flags = all[0].flags.with(asks);
            all[1].flags = all[1].flags.with(if agreed { grants } else { asks });
            let (mut told, mut acks) = (false, 0);
            for segment in all.iter_mut().skip(3) {
                if segment.payload > 0 {
                    let heeds = std::mem::take(&mut told);
                    segment.flags = segment.flags.with(if heeds { Flags::CWR } else { Flags(0) });
                } else {
                    acks += 1;
                    told |= acks % 60 == 0;
                    segment.flags = segment.flags.with(if told { Flags::ECE } else { Flags(0) });
                }
            }
            report(&all)
        };
        let held = marked(true);
        is_mostly(&held, Cause::PathMarks, 0.6);
        assert_eq!(held.verdict.confidence, Confidence::Medium);
        assert!(held.losses.ecn_cuts > 3, "{:?}", held.losses);
        assert!(held.handshake.unwrap().receiver.unwrap().ecn);
        // An answer of both bits grants nothing to who does not ask for the accurate kind.
        let counted = marked(false);
        is_free_of(&counted, Cause::PathMarks);
        assert_eq!(counted.losses.ecn_cuts, 0);
    }
}

#[test]
fn a_queue_whose_marks_are_counted() {
    for (capture_point, answer) in [(0, 0b010_u8), (0, 0b100), (100, 0b110)] {
        let plan = Transfer { cwnd: (10, 10), capture_point, ..far() };
        // Every 60 ACKs, the counter goes on by this many.
        let counted = |marked: u8, asks: bool| {
            let mut all = plan.play();
            let mut set = |place: usize, ace: u8| {
                let segment = &mut all[place];
                segment.accurate_ecn = ace & 4 != 0;
                let bits = [(2, Flags::CWR), (1, Flags::ECE)];
                let flags = bits.into_iter().filter(|(bit, _)| ace & bit != 0);
                segment.flags = flags.fold(segment.flags, |all, (_, flag)| all.with(flag));
                segment.payload
            };
            set(0, if asks { 7 } else { 3 });
            set(1, answer);
            let (mut ace, mut acks) = (5_u8, 0);
            for place in 3..plan.play().len() {
                // The sender's own counts do not change.
                if set(place, 0) > 0 {
                    set(place, 5);
                    continue;
                }
                acks += 1;
                ace = if acks % 60 == 0 { (ace + marked) % 8 } else { ace };
                set(place, ace);
            }
            report(&all)
        };
        for marked in [1, 6] {
            let held = counted(marked, true);
            is_mostly(&held, Cause::PathMarks, 0.6);
            assert_eq!(held.verdict.confidence, Confidence::Medium);
            let said = held.verdict.sentence.to_string();
            let cuts = held.losses.ecn_cuts;
            assert!(cuts > 3, "{:?}", held.losses);
            assert!(said.contains(&format!("for {} marked packets", cuts * u64::from(marked))));
            assert!(held.handshake.unwrap().receiver.unwrap().ecn);
        }
        for report in [counted(0, true), counted(1, false)] {
            is_free_of(&report, Cause::PathMarks);
            assert_eq!(report.losses.ecn_cuts, 0);
        }
    }
}

#[test]
fn one_early_loss_ends_slow_start_for_long() {
    for capture_point in [0, 100] {
        for ack_every in [1, 2] {
            let plan = Transfer {
                bytes: 3_000_000,
                lost: vec![5],
                capture_point,
                ack_every,
                timestamps: true,
                sack: true,
                ..far()
            };
            let report = played(&plan);
            // The sender soon has as much in flight as then, and grows on by a segment each time.
            is_mostly(&report, Cause::AfterLoss, 0.8);
            is_free_of(&report, Cause::Steady);
        }
    }
}

#[test]
fn slow_start() {
    for capture_point in [0, 100] {
        for timestamps in [false, true] {
            let plan = Transfer { cwnd: (2, 1 << 20), capture_point, timestamps, ..far() };
            let report = played(&plan);
            is_mostly(&report, Cause::SlowStart, 0.8);
            lost_nothing(&report);
            is_free_of(&report, Cause::BufferPathRtt);
        }
    }
}

#[test]
fn slow_start_with_every_second_segment_acknowledged() {
    let plan = Transfer { cwnd: (2, 1 << 20), ack_every: 2, ..far() };
    is_mostly(&played(&plan), Cause::SlowStart, 0.8);
}

/// 1 MB/s and 10 ms want 10 kB; the window of 64 kB stands in the queue and
/// makes the round trip six times as long.
fn a_full_path_seen(capture_point: i64, timestamps: bool) {
    let plan = Transfer {
        bytes: 2_000_000,
        rtt: 10_000,
        rate: Some(1_000_000),
        capture_point,
        timestamps,
        ack_every: 1,
        ..Transfer::default()
    };
    let report = played(&plan);
    is_mostly(&report, Cause::PathQueue, 0.85);
    lost_nothing(&report);
    let predicted = report.verdict.predicted_bytes_per_second.unwrap();
    is_near(predicted.bytes_per_second(), 970_000.0, 50_000.0);
}

#[test]
fn a_full_path_with_a_queue() {
    a_full_path_seen(0, false);
    a_full_path_seen(0, true);
    a_full_path_seen(100, true);
}

#[test]
#[ignore = "known: behind the queue and without timestamps, nothing tells how long it is"]
fn a_full_path_at_the_receiver() {
    a_full_path_seen(100, false);
}

#[test]
fn a_full_path_with_a_congestion_window_above_it() {
    let plan = Transfer {
        bytes: 2_000_000,
        rtt: 10_000,
        rate: Some(1_000_000),
        cwnd: (10, 60),
        window: 1 << 20,
        scale: Some(7),
        ..Transfer::default()
    };
    let report = played(&plan);
    is_mostly(&report, Cause::PathQueue, 0.85);
}

/// A server's answer of 11 segments, far from it: four at first, and the others a round trip
/// of 40 ms later. The client offers what it says at the first ACK.
fn answer_in_two_flights(offered: [u16; 2]) -> ConnectionReport {
    let [first, then] = offered;
    let mut timeline = Timeline::opened(40.0, 65_535).t(&format!(
        "0.0400 > P. 1:201 ack 1 win {first}
         0.0800 < . 1 ack 201"
    ));
    for (start, segments) in [(0.0900_f64, 0..4), (0.1305, 4..11)] {
        for segment in segments {
            let (from, time) = (1 + segment * 1_460, start + f64::from(segment) / 1e4);
            let end = from + 1_460;
            timeline = timeline.t(&format!(
                "{time} < . {from}:{end} ack 201
                 {} > . 201 ack {end} win {then}",
                time + 1e-5
            ));
        }
    }
    timeline.report()
}

#[test]
fn a_window_that_opens_ahead_of_the_first_flight_does_not_hold_it() {
    // Four segments fill the first window of 5,840 bytes, and the congestion window.
    let report = answer_in_two_flights([5_840, 14_600]);
    is_mostly(&report, Cause::SlowStart, 0.8);
    is_free_of(&report, Cause::WindowPathRtt);
    // One that stays as it is does.
    let report = answer_in_two_flights([5_840, 5_840]);
    is_mostly(&report, Cause::WindowPathRtt, 0.8);
}

/// Ten segments, and the rest of the answer so many milliseconds after their ACK.
fn ten_and_a_rest(milliseconds: f64) -> ConnectionReport {
    let mut timeline = Timeline::opened(100.0, 65_535).t("0.1000 > P. 1:201 ack 1
                                                          0.2000 < . 1 ack 201");
    for segment in 0..10 {
        let from = 1 + segment * 1_460;
        timeline = timeline.t(&format!("0.21000{segment} < . {from}:{} ack 201", from + 1_460));
    }
    let time = 0.2101 + milliseconds / 1e3;
    timeline
        .t(&format!(
            "0.2101 > . 201 ack 14601
             {time} < P. 14601:14701 ack 201
             {} > . 201 ack 14701",
            time + 1e-4
        ))
        .report()
}

#[test]
fn an_initial_window_of_ten_segments_waits_for_its_ack() {
    // Half a round trip late: whether the program paused, too, does not matter to that wait.
    let report = ten_and_a_rest(150.0);
    is_mostly(&report, Cause::SlowStart, 0.6);
    let idle = share(&report, Cause::SenderIdle);
    is_near(idle, 0.33, 0.02);
}

#[test]
fn an_answer_that_is_late_on_its_way_is_no_pause() {
    // Rounds of 4 full segments at the receiver, each 126 ms after the last, over 100 ms.
    let four = "0.3260 < . 1:1461 ack 201
                0.3270 < . 1461:2921 ack 201
                0.3271 > . 201 ack 2921
                0.3280 < . 2921:4381 ack 201
                0.3290 < . 4381:5841 ack 201
                0.3291 > . 201 ack 5841";
    let opened = || {
        Timeline::opened(100.0, 65_535).t("0.1000 > P. 1:201 ack 1
                                           0.2000 < . 1 ack 201")
    };
    let rounds = |seconds: f64| opened().dialogue(10, seconds, [0, 5_840], four).report();
    let late = rounds(0.129);
    assert!(share(&late, Cause::SenderIdle) < 0.1, "{:?}", late.causes);
    assert!(share(&late, Cause::Unknown) > 0.1, "{:?}", late.causes);
    // Twice the round trip is a pause. A path that became so slow would look alike, so
    // nobody is sure of it.
    let paused = rounds(0.200);
    is_mostly(&paused, Cause::SenderIdle, 0.8);
    assert_eq!(paused.verdict.confidence, Confidence::Medium);
    // Three round trips are.
    let long = rounds(0.350);
    is_mostly(&long, Cause::SenderIdle, 0.8);
    assert_eq!(long.verdict.confidence, Confidence::High);
}

#[test]
fn a_few_segments_that_grow_by_one_are_no_send_buffer() {
    // Two segments in each round trip, then three: each ACK frees all of them.
    let two = "0.1001 > . 1:1461 ack 1
               0.1002 > . 1461:2921
               0.2002 < . 1 ack 2921";
    let report = Timeline::opened(100.0, 65_535)
        .rounds(8, 0.1003, 2_920, two)
        .t("0.9030 > . 23361:24821
            0.9031 > . 24821:26281
            0.9032 > . 26281:27741
            1.0032 < . 1 ack 27741")
        .report();
    is_free_of(&report, Cause::BufferPathRtt);
    // The flight stays level for longer than a congestion window does.
    let report = Timeline::opened(100.0, 65_535).rounds(40, 0.1003, 2_920, two).report();
    is_mostly(&report, Cause::BufferPathRtt, 0.8);
}

#[test]
fn who_always_sends_soon_after_a_late_ack_may_have_waited_for_it() {
    // The receiver holds each ACK for 13 ms, and data comes 5 ms after it, over 1.5 ms.
    let rounds = |ack: f64, count: u32, seconds: f64| {
        let lines = format!(
            "0.1000 < . 1:1461 ack 201
             0.1012 < . 1461:2921 ack 201
             {ack} > . 201 ack 2921"
        );
        Timeline::opened(1.5, 65_535)
            .t("0.0015 > P. 1:201 ack 1
                0.0500 < . 1 ack 201")
            .dialogue(count, seconds, [0, 2_920], &lines)
            .report()
    };
    let held = rounds(0.1142, 20, 0.0192);
    assert!(held.verdict.confidence < Confidence::High, "{}", held.verdict.sentence);
    // If the ACKs come at once, the same pauses are the program's.
    let paused = rounds(0.1013, 20, 0.0192);
    is_mostly(&paused, Cause::SenderIdle, 0.8);
    assert_eq!(paused.verdict.confidence, Confidence::High);
}

/// A receiver on a line of 10 Mbit/s, by a clock of milliseconds; every 44 segments
/// the sender reads its disk for 5 ms, and twice it stops for 140 ms.
fn line_by_a_coarse_clock() -> ConnectionReport {
    let mut timeline = Timeline::opened(0.0, 17_520);
    let mut millis = 20.0_f64;
    for segment in 0..300_u32 {
        let (from, end) = (1 + segment * 1_460, 1 + (segment + 1) * 1_460);
        millis += 1.23;
        if segment % 44 == 43 {
            millis += 5.0;
        }
        if segment == 100 || segment == 200 {
            millis += 140.0;
        }
        let time = millis.floor() / 1e3;
        timeline = timeline.t(&format!("{time} > . {from}:{end} ack 1"));
        if segment % 2 == 1 {
            timeline = timeline.t(&format!("{time} < . 1 ack {end} win 17520"));
        }
    }
    timeline.report()
}

#[test]
fn a_clock_that_hides_the_round_trip_does_not_hide_the_line() {
    let report = line_by_a_coarse_clock();
    // 300 segments, 1.23 ms each, of 685 ms in all.
    is_near(share(&report, Cause::PathQueue), 0.5, 0.15);
    let predicted = report.verdict.predicted_bytes_per_second.unwrap().bytes_per_second();
    is_near(predicted, 1.187e6, 0.2 * 1.187e6);
}

#[test]
fn who_spaced_a_first_flight_nothing_tells() {
    // At the receiver, two round trips of nothing; then a flight over 2 ms of a path of 6 ms.
    let report = Timeline::opened(6.0, 65_535)
        .t("0.0061 > P. 1:101 ack 1
            0.0120 < . 1 ack 101
            0.0400 < . 1:1461 ack 101
            0.0401 > . 101 ack 1461
            0.0421 < . 1461:5841 ack 101
            0.0422 > . 101 ack 5841")
        .report();
    assert_eq!(report.verdict.confidence, Confidence::Low, "{}", report.verdict.sentence);
}

#[test]
fn on_one_machine_nobody_is_sure_of_a_congestion_window() {
    // Two segments for each ACK, 20 times: after a round trip of 40 µs, and of 4 ms.
    let held = |rtt: f64| {
        let two = format!(
            "{} > . 1:1461 ack 1
             {} > . 1461:2921
             {} < . 1 ack 2921",
            rtt + 1e-6,
            rtt + 2e-6,
            2.0 * rtt + 2e-6
        );
        Timeline::opened(rtt * 1e3, 65_535).rounds(20, rtt + 5e-6, 2_920, &two).report()
    };
    let limits = [Limit::SendBuffer, Limit::CongestionWindow];
    for (rtt, confidence) in [(4e-5, Confidence::Low), (4e-3, Confidence::High)] {
        let verdict = held(rtt).verdict;
        assert!(limits.contains(&verdict.cause.limit()), "{}", verdict.sentence);
        assert_eq!(verdict.confidence, confidence, "{}", verdict.sentence);
    }
}

/// A line that takes 2 ms for two segments, and gives both at once, as network cards join them,
/// seen at the receiver 10 ms behind the sender: full with 40 in flight until one is lost; then
/// with half as many, which come as fast where `fills`, and half as fast else.
fn a_window_that_loss_halved(fills: bool) -> ConnectionReport {
    let begin = |segment: u32| 1 + segment * 1_460;
    let pair = |segment: u32| f64::from(segment / 2 * 2);
    let each = if fills { 1.0 } else { 2.0 };
    // When each comes, and how long it stood in the queue. The 400th is lost, and comes again
    // behind the 40 that were on their way. From then on the queue is empty.
    let mut coming: Vec<(f64, u32, f64)> =
        (0..441).filter(|one| *one != 400).map(|one| (20.5 + pair(one), one, 20.0)).collect();
    coming.push((464.5, 400, 20.0));
    coming.extend((0..1_200).map(|place| (466.5 + each * pair(place), 441 + place, 0.0)));
    let mut timeline = Timeline::new().t("0 > S 0 win 64240 mss 1460 ts 1000 0
         0.00001 < S. 0 ack 1 win 65535 mss 1460 ts 5000 1000
         0.02001 > . 1 ack 1 win 64240 ts 1020 5000");
    for (place, (ms, segment, waited)) in coming.into_iter().enumerate() {
        let sent = ms - 10.0 - waited;
        let (stamp, echo) = ((1_010.0 + sent) as u32, 5_000 + (sent - 10.0).max(0.0) as u32);
        let at = (ms + place as f64 * 1e-6) / 1e3;
        let (from, to) = (begin(segment), begin(segment + 1));
        timeline = timeline.t(&format!("{at:.9} > . {from}:{to} ack 1 ts {stamp} {echo}"));
        let next = match segment {
            400 => 441,
            401..441 => 400,
            _ => segment + 1,
        };
        // Every second one is acknowledged, and each behind the hole at once.
        if segment % 2 == 1 || (400..=440).contains(&segment) {
            let (at, now) = (at + 1e-6, 5_000 + ms as u32);
            timeline = timeline.t(&format!("{at:.9} < . 1 ack {} ts {now} {stamp}", begin(next)));
        }
    }
    timeline.report()
}

#[test]
fn a_window_that_still_fills_the_line_after_a_loss_does_not_hold_it() {
    is_mostly(&a_window_that_loss_halved(true), Cause::PathQueue, 0.9);
    is_mostly(&a_window_that_loss_halved(false), Cause::AfterLoss, 0.7);
}

/// Segments from one number up to another.
fn segments(text: &mut String, at: f64, numbers: std::ops::Range<u32>) {
    for (place, number) in numbers.enumerate() {
        let (at, begin) =
            (at + f64::from(u32::try_from(place).unwrap()) * 1e-5, number * 1_460 + 1);
        *text += &format!("{at:.6} > . {begin}:{} ack 1\n", begin + 1_460);
    }
}

/// Selectively acknowledged data behind a second hole is no longer in flight: this does not regain
/// the window that a loss cut.
#[test]
fn a_second_hole_behind_the_first_regains_no_window() {
    let begin = |number: u32| number * 1_460 + 1;
    let mut text = String::new();
    // One of the first hundred is lost, and so is one that follows them.
    segments(&mut text, 0.0405, 0..100);
    text += &format!("0.0805 < . 1 ack {} win 60000\n", begin(50));
    segments(&mut text, 0.0806, 100..150);
    for number in 51..100 {
        let (at, end) = (0.082 + f64::from(number) * 1e-5, begin(number + 1));
        text += &format!("{at:.6} < . 1 ack {} sack {}-{end}\n", begin(50), begin(51));
    }
    segments(&mut text, 0.0835, 50..51);
    segments(&mut text, 0.0836, 150..200);
    for number in 151..200 {
        let (at, end) = (0.122 + f64::from(number) * 1e-5, begin(number + 1));
        text += &format!(
            "{at:.6} < . 1 ack {} sack {}-{end} sack {}-{}\n",
            begin(50),
            begin(151),
            begin(51),
            begin(150)
        );
    }
    // The second is sent again before the first has arrived.
    segments(&mut text, 0.1241, 150..151);
    segments(&mut text, 0.1242, 200..255);
    text += &format!("0.1250 < . 1 ack {} sack {}-{}\n", begin(150), begin(151), begin(200));
    segments(&mut text, 0.1251, 255..260);
    text += &format!("0.1642 < . 1 ack {}\n", begin(260));
    // From then on, sixty in each round trip.
    let mut at = 0.1643;
    for round in 0..60 {
        let first = 260 + round * 60;
        segments(&mut text, at, first..first + 60);
        for part in 0..6 {
            let ack = begin(first + part * 10 + 10);
            let answered = at + 0.0405 + f64::from(part) * 1e-4;
            text += &format!("{answered:.6} < . 1 ack {ack}\n");
        }
        at += 0.0412;
    }
    let timeline = "0 > S 0 win 64240 mss 1460 ws 7 sackok
                    0.04 < S. 0 ack 1 win 65535 mss 1460 ws 7 sackok
                    0.0401 > . 1 ack 1";
    let report = Timeline::new().t(timeline).t(&text).report();
    is_mostly(&report, Cause::AfterLoss, 0.8);
}
