//! The capture's clock: set ahead, or another one for each direction.

use windlass_base::{Cause, Span};
use windlass_trace::report::{CaveatId, Confidence};
use windlass_wire::Segment;

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{
    caveat, ends, has_caveat, is_free_of, is_mostly, is_near, is_sound, lost_nothing, report,
};

/// A clock that is set ahead by so much before packets from this place on.
fn set_ahead(all: &mut [Segment], from: usize, by: Span) {
    for segment in &mut all[from..] {
        segment.time = segment.time + by;
    }
}

/// A window of 16 kB over a path of 20 ms, by hosts with timestamps or without.
fn windows(timestamps: bool) -> Vec<Segment> {
    Transfer { window: 16_384, timestamps, ..Transfer::default() }.play()
}

/// The places of packets at which such a clock is tried.
fn places(all: &[Segment]) -> impl Iterator<Item = usize> {
    (all.len() / 3..all.len() * 9 / 10).step_by(7)
}

#[test]
fn time_that_neither_host_counts_did_not_pass() {
    let whole = report(&windows(true));
    for place in places(&windows(true)) {
        let mut all = windows(true);
        set_ahead(&mut all, place, Span::from_millis(30_000));
        let report = report(&all);
        is_sound(&report);
        lost_nothing(&report);
        is_mostly(&report, Cause::WindowPathRtt, 0.9);
        assert_eq!(report.verdict.confidence, Confidence::Medium);
        assert!(
            caveat(&report, CaveatId::Clock).unwrap().contains("set ahead once, by 30 s"),
            "{place}"
        );
        assert!(report.ack_latency_seconds.as_ref().unwrap().max < Span::from_millis(100));
        // But for a step of the hosts' clocks.
        is_near(report.seconds.share_of(whole.seconds), 1.0, 0.01);
    }
}

/// Plays a transfer of hosts with such slow clocks, whose SYN came late to the capture.
fn slow_clocks(tick: u32, late: Span) -> Vec<Segment> {
    let plan = Transfer { window: 16_384, timestamps: true, rtt: 300_000, ..Transfer::default() };
    let mut all = plan.play();
    for segment in &mut all {
        let stamps = segment.options.timestamps;
        segment.options.timestamps = stamps.map(|(value, echo)| (value / tick, echo / tick));
    }
    all[0].time = all[0].time + late;
    all
}

#[test]
fn a_syn_that_was_captured_late_sets_no_clock_ahead() {
    // By the late SYN, a clock of 10 ms seems to be one of 4 ms, and each round trip a leap.
    let on_time = report(&slow_clocks(1, Span::ZERO)).seconds;
    for (tick, late) in [(10, 0), (10, 70), (10, 210), (4, 60), (4, 250), (1, 250), (100, 280)] {
        let report = report(&slow_clocks(tick, Span::from_millis(late)));
        is_sound(&report);
        assert!(!has_caveat(&report, "clock"), "{tick} {late}: {:?}", report.verdict.caveats);
        is_near(report.seconds.share_of(on_time), 1.0, 1e-3);
    }
}

#[test]
fn behind_a_late_syn_a_clock_may_be_set_ahead() {
    for (tick, late) in [(10, 0), (10, 70), (4, 250), (1, 250)] {
        let mut all = slow_clocks(tick, Span::from_millis(late));
        let place = all.len() * 2 / 3;
        set_ahead(&mut all, place, Span::from_millis(20_000));
        let report = report(&all);
        let told = caveat(&report, CaveatId::Clock).unwrap_or_default();
        assert!(told.contains("set ahead once, by 20 s") || told.contains("by 19.9"), "{told}");
    }
}

#[test]
fn a_window_was_closed_for_what_passed_of_it() {
    // A reader that takes its time, by 150 ms every 200.
    let closing = "0.0110 > . 1:1461 ack 1 ts 1000 900
                   0.0121 > P. 1461:2921 ack 1 ts 1001 900
                   0.0211 < . 1 ack 2921 win 0 ts 1010 1000
                   0.1711 < . 1 ack 2921 win 2920 ts 1160 1000";
    let mut all = Timeline::opened(10.0, 2_920).rounds(20, 0.161, 2_920, closing).segments;
    let last = all.iter().rposition(|one| one.window == 0).unwrap() + 1;
    set_ahead(&mut all, last - 40, Span::from_millis(7_000));
    let report = report(&all);
    assert!(
        caveat(&report, CaveatId::Clock).unwrap().contains("set ahead once, by 6.9"),
        "{report:?}"
    );
    is_mostly(&report, Cause::ReceiverNotReading, 0.8);
    let longest = report.receive_window.longest_closure_seconds.unwrap();
    // But for a step of their clocks.
    is_near(longest.as_seconds(), 0.15, 0.015);
}

#[test]
fn without_timestamps_a_clock_that_was_set_is_nobodys_pause() {
    for place in places(&windows(false)) {
        let mut all = windows(false);
        set_ahead(&mut all, place, Span::from_millis(30_000));
        let report = report(&all);
        is_sound(&report);
        is_free_of(&report, Cause::SenderIdle);
        assert_ne!(report.verdict.confidence, Confidence::High, "{place}");
    }
}

#[test]
fn a_host_that_slept_is_no_clock_that_was_set() {
    // Two seconds in which its program sleeps, and its machine with it.
    let mut all = windows(true);
    let place = all.iter().rposition(|one| one.source == ends()[0]).unwrap() - 20;
    let place = place + all[place..].iter().position(|one| one.payload > 0).unwrap();
    set_ahead(&mut all, place, Span::from_millis(2_000));
    for segment in &mut all[place..] {
        let (value, echo) = segment.options.timestamps.unwrap();
        let of_receiver = segment.source == ends()[1];
        segment.options.timestamps =
            Some(if of_receiver { (value + 2_000, echo) } else { (value, echo + 2_000) });
    }
    let report = report(&all);
    assert!(!has_caveat(&report, "clock"));
    assert!(report.seconds > Span::from_millis(2_000));
    assert_ne!(report.verdict.confidence, Confidence::High);
}

#[test]
fn what_was_held_on_its_way_comes_later_than_its_clock_says() {
    // The path holds what is under way both ways for half a second. What comes behind is on time.
    let mut all = windows(true);
    let late = Span::from_millis(500);
    let gone = all[all.len() / 2].time;
    for segment in all.iter_mut().filter(|one| one.time >= gone) {
        let since = segment.time.since(gone);
        if since < Span::from_millis(30) {
            segment.time = gone + late + since.scaled(0.01);
        } else {
            segment.time = segment.time + late;
            segment.options.timestamps =
                segment.options.timestamps.map(|(value, echo)| (value + 500, echo + 500));
        }
    }
    let report = report(&all);
    assert!(!has_caveat(&report, "clock"));
}

#[test]
fn an_answer_before_what_it_answers_has_another_clock() {
    // ACKs come by a card whose clock is 2 ms behind, at the sender.
    for timestamps in [true, false] {
        let mut all = windows(timestamps);
        for segment in all.iter_mut().filter(|one| one.source == ends()[1]) {
            segment.time = segment.time + Span::from_millis(2);
        }
        all.sort_by_key(|one| one.time);
        let report = report(&all);
        assert!(caveat(&report, CaveatId::Clock).unwrap().contains("have different clocks"));
        assert_ne!(report.verdict.confidence, Confidence::High);
    }
}

#[test]
fn who_never_asks_for_a_closed_window_is_told() {
    let closed = |asks: &str| {
        Timeline::opened(10.0, 2_920)
            .t(&format!(
                "0.0110 > . 1:1461 ack 1
                 0.0111 > . 1461:2921 ack 1
                 0.0211 < . 1 ack 2921 win 0
                 {asks}
                 4.5211 < . 1 ack 2921 win 2920
                 4.5212 > . 2921:4381 ack 1
                 4.5213 > P. 4381:5841 ack 1
                 4.5313 < . 1 ack 5841 win 2920"
            ))
            .report()
    };
    let unasked = closed("");
    is_mostly(&unasked, Cause::ReceiverNotReading, 0.9);
    assert!(caveat(&unasked, CaveatId::OtherPace).unwrap().contains("sent no window probe"));
    let probes = [(0.2211, 0.2311), (0.6211, 0.6311), (1.4211, 1.4311), (3.0211, 3.0311)];
    let probes = probes
        .map(|(probe, answer)| format!("{probe} > . 2920 ack 1\n{answer} < . 1 ack 2921 win 0\n"));
    let asked = closed(&probes.concat());
    is_mostly(&asked, Cause::ReceiverNotReading, 0.9);
    assert!(!has_caveat(&asked, "other-pace"));
}
