//! Looks at connections while they run.

use windlass_base::{Limit, LimitReason, Span, Timestamp};
use windlass_trace::{Analyzer, Keep, LiveConnection, Snapshot};
use windlass_wire::{Endpoint, Segment};

use super::window::two_frames_and_a_slow_ack;
use super::zero_window::probed;
use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{is_near, json};

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_nanos((seconds * 1e9).round() as i64)
}

/// The looks at these times.
fn looks(segments: &[Segment], times: &[f64]) -> Vec<Snapshot> {
    let mut analyzer = Analyzer::new(Keep::All);
    let mut segments = segments.iter().peekable();
    let mut found = Vec::new();
    for time in times {
        while let Some(segment) = segments.next_if(|segment| segment.time <= at(*time)) {
            analyzer.segment(segment, &mut ());
        }
        found.push(analyzer.look(10, at(*time)));
    }
    found
}

#[track_caller]
fn only(look: &Snapshot) -> &LiveConnection {
    assert_eq!(look.connections.len(), 1, "{look:?}");
    &look.connections[0]
}

#[track_caller]
fn says(look: &Snapshot, limit: Limit, least: f64) {
    let live = only(look);
    assert_eq!(live.limit, Some(limit), "{live:?}");
    assert!(live.shares[limit.id()] >= least, "{live:?}");
    is_near(live.shares.values().sum(), 1.0, 1e-9);
}

/// Moves the segments to another port of the sender.
fn from_port(segments: &[Segment], port: u16) -> Vec<Segment> {
    let sender = segments[0].source;
    let own = |end: Endpoint| if end == sender { Endpoint { port, ..end } } else { end };
    let moved = segments.iter().map(|one| Segment {
        source: own(one.source),
        destination: own(one.destination),
        ..*one
    });
    moved.collect()
}

fn mixed(captures: &[Vec<Segment>]) -> Vec<Segment> {
    let mut all: Vec<Segment> = captures.iter().flatten().copied().collect();
    all.sort_by_key(|segment| segment.time);
    for (segment, number) in all.iter_mut().zip(1..) {
        segment.number = number;
    }
    all
}

#[test]
fn a_window_limited_transfer_in_the_middle() {
    let looks = looks(&two_frames_and_a_slow_ack().segments, &[1.0, 2.0, 3.05]);
    for look in &looks {
        says(look, Limit::ReceiverWindow, 0.99);
        assert_eq!(only(look).because, Some(LimitReason::AckLatency));
    }
    // 1 s is 8 rounds of 117.7 ms and a half; a flight counts when it is sent.
    let live = only(&looks[1]);
    assert_eq!(live.bytes.get(), 17 * 2_920);
    assert_eq!(live.bytes_since.get(), 8 * 2_920);
    is_near(live.bytes_per_second.bytes_per_second(), 8.0 * 2_920.0, 1e-6);
    is_near(live.charged_seconds.as_seconds(), 1.0, 1e-6);
    assert_eq!((looks[1].open, looks[1].began_since, looks[1].ended_since), (1, 0, 0));
    assert_eq!(looks[0].began_since, 1);
    is_near(looks[2].seconds.as_seconds(), 1.05, 1e-9);
    assert!(!live.ended && live.retransmissions == 0);
}

#[test]
fn a_window_that_closed_and_stays_so() {
    let looks = looks(&probed().segments, &[0.0065, 0.5, 1.0, 10.0]);
    for look in &looks[1..] {
        says(look, Limit::ZeroWindow, 0.95);
        assert_eq!(only(look).because, Some(LimitReason::ReceiverNotReading));
    }
    // Nothing moved, and yet it is shown: it waits.
    assert_eq!((looks[3].bytes_since.get(), only(&looks[3]).bytes_since.get()), (0, 0));
    // By its own last packets, long after the last.
    is_near(only(&looks[3]).charged_seconds.as_seconds(), 9.0, 1e-6);
}

#[test]
fn a_sender_that_has_nothing_to_send() {
    let timeline = two_frames_and_a_slow_ack();
    let looks = looks(&timeline.segments, &[3.0, 10.0, 11.0]);
    says(&looks[0], Limit::ReceiverWindow, 0.99);
    says(&looks[1], Limit::Application, 0.5);
    says(&looks[2], Limit::Application, 1.0);
    assert_eq!(only(&looks[2]).because, Some(LimitReason::SenderIdle));
}

#[test]
fn data_that_waits_too_long_for_its_ack() {
    // Cut behind the data of the last round: no ACK, no timer.
    let mut timeline = two_frames_and_a_slow_ack();
    timeline.segments.pop();
    let looks = looks(&timeline.segments, &[5.0, 5.9, 8.0]);
    // As long as ACKs took so far it is the window.
    says(&looks[1], Limit::ReceiverWindow, 0.99);
    says(&looks[2], Limit::Unknown, 0.9);
}

#[test]
fn a_timer_that_runs_out_again_and_again() {
    let timeline = Timeline::opened(20.0, 65_535).t("0.0205 > . 1:1461 ack 1
        0.0405 < . 1 ack 1461 win 65535
        0.0406 > . 1461:2921
        0.3 > . 1461:2921
        0.8 > . 1461:2921");
    let looks = looks(&timeline.segments, &[0.05, 0.9, 1.5]);
    says(&looks[1], Limit::Loss, 0.95);
    says(&looks[2], Limit::Loss, 1.0);
    assert_eq!(only(&looks[2]).retransmissions, 2);
}

#[test]
fn what_holds_it_back_now_and_not_before() {
    // The window stays the same: ACKs that come at once, then late ones.
    let timeline = Timeline::opened(10.0, 2_920)
        .rounds(
            300,
            0.010_100,
            2_920,
            "0.010100 > . 1:1461 ack 1
             0.010110 > . 1461:2921
             0.020110 < . 1 ack 2921 win 2920",
        )
        .rounds(
            20,
            0.100_100,
            2_920,
            "3.040110 > . 876001:877461 ack 1
             3.040120 > . 877461:878921
             3.140120 < . 1 ack 878921 win 2920",
        );
    let looks = looks(&timeline.segments, &[1.0, 3.0, 4.0]);
    assert_eq!(only(&looks[1]).because, Some(LimitReason::PathRtt));
    says(&looks[2], Limit::ReceiverWindow, 0.95);
    assert_eq!(only(&looks[2]).because, Some(LimitReason::AckLatency));
}

#[test]
fn a_clock_that_is_set_ahead_meanwhile() {
    let transfer = Transfer { window: 16_384, timestamps: true, ..Transfer::default() };
    let mut all = transfer.play();
    let middle = all.len() / 2;
    let ahead = Span::from_millis(30_000);
    for segment in &mut all[middle..] {
        segment.time = segment.time + ahead;
    }
    let (set, end) = (all[middle].time, all[all.len() - 1].time);
    let seconds = |time: Timestamp| time.since(at(0.0)).as_seconds();
    let later = seconds(set) + 0.1;
    assert!(later + 0.1 < seconds(end));
    let looks = looks(&all, &[seconds(set) - 30.0, later, later + 0.1]);
    for look in &looks {
        says(look, Limit::ReceiverWindow, 0.8);
    }
    // Of the 30 seconds nothing is charged.
    assert!(only(&looks[1]).charged_seconds < Span::from_millis(200), "{:?}", looks[1]);
    is_near(only(&looks[2]).charged_seconds.as_seconds(), 0.1, 0.03);
}

#[test]
fn the_busiest_comes_first() {
    let transfer = |bytes, port| {
        let plan = Transfer { bytes, rtt: 5_000, ..Transfer::default() };
        from_port(&plan.play(), port)
    };
    // Most of them are short, one is long, and one of the short is slow.
    let mut captures: Vec<Vec<Segment>> =
        (0..30).map(|step| transfer(10_000 + 1_000 * u64::from(step), 2_000 + step)).collect();
    captures.push(transfer(20_000_000, 1_000));
    captures.push(from_port(&two_frames_and_a_slow_ack().segments, 999));
    let looks = looks(&mixed(&captures), &[0.001, 1.0, 1.5]);
    let ports = |look: &Snapshot| -> Vec<u16> {
        look.connections.iter().map(|live| live.sender.port).collect()
    };
    // The short ones have ended meanwhile, and count with what they moved.
    assert_eq!(ports(&looks[1])[..4], [1_000, 2_029, 2_028, 2_027]);
    assert!(looks[1].connections[1].ended && !looks[1].connections[0].ended);
    assert_eq!(looks[1].connections[1].bytes_since.get(), 39_000);
    assert_eq!((looks[1].open, looks[1].ended_since), (2, 30));
    assert_eq!(looks[1].connections.len(), 10);
    let moved: u64 = (0..30).map(|step| 10_000 + 1_000 * step).sum();
    let running: u64 = looks[2].connections.iter().map(|live| live.bytes.get()).sum();
    let since: u64 = looks[2].connections.iter().map(|live| live.bytes_since.get()).sum();
    let first = looks[0].bytes_since.get();
    assert_eq!(first + looks[1].bytes_since.get(), moved + running - since);
    assert_eq!(ports(&looks[2]), [1_000, 999]);
    assert_eq!((looks[2].open, looks[2].ended_since), (2, 0));
}

#[test]
fn a_few_packets_are_enough() {
    // So few that the connection is not yet followed, only written down.
    let timeline = Timeline::opened(1.0, 2_920).t("0.002 > . 1:1461 ack 1
        0.002 > . 1461:2921
        0.003 < . 1 ack 2921 win 0");
    let looks = looks(&timeline.segments, &[0.0025, 0.5, 1.5]);
    assert_eq!(only(&looks[0]).bytes_since.get(), 2_920);
    says(&looks[1], Limit::ZeroWindow, 0.99);
    says(&looks[2], Limit::ZeroWindow, 1.0);
    assert_eq!(only(&looks[2]).bytes_since.get(), 0);
}

#[test]
fn looks_do_not_change_the_end() {
    let plans = [
        Transfer { window: 8_192, rtt: 30_000, ..Transfer::default() },
        Transfer { lost: vec![20, 21, 70], sack: true, ..Transfer::default() },
        Transfer {
            capture_point: 100,
            timestamps: true,
            send_buffer: 16_384,
            ..Transfer::default()
        },
    ];
    let captures: Vec<Vec<Segment>> =
        plans.iter().zip(1..).map(|(plan, port)| from_port(&plan.play(), port)).collect();
    let all = mixed(&captures);
    let ends = |every: usize| {
        let mut analyzer = Analyzer::new(Keep::All);
        for (place, segment) in all.iter().enumerate() {
            analyzer.segment(segment, &mut ());
            if place % every == 0 {
                // Also long after, and before.
                let after = Span::from_millis([0, 700, -5][place % 3]);
                analyzer.look(place % 5, segment.time + after);
            }
        }
        let (finished, totals) = analyzer.finish();
        let reports = finished.iter().map(|one| json(&one.report(|end| end.to_string(), None)));
        (reports.collect::<Vec<_>>(), totals)
    };
    let undisturbed = ends(usize::MAX);
    assert_eq!(undisturbed.0.len(), 3);
    for every in [1, 7, 50] {
        assert_eq!(ends(every), undisturbed);
    }
}
