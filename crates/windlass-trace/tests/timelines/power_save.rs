//! A Wi-Fi station that dozes between beacons.

use windlass_trace::report::ConnectionReport;

use crate::support::is_sound;
use crate::support::script::Timeline;

/// Writes of two segments, each acknowledged at a multiple of `beat` after it, in microseconds.
fn acknowledged_at(beat: i64) -> ConnectionReport {
    let at = |micros: i64| micros as f64 / 1e6;
    let mut timeline = Timeline::opened(4.0, 65_535);
    let mut time = 5_000_i64;
    for round in 0..60_i64 {
        let (left, right) = (round * 2_920 + 1, (round + 1) * 2_920 + 1);
        let middle = left + 1_460;
        // Each fifth time the station is awake.
        let awake = round % 5 == 0;
        let next = (time + 5_000).div_euclid(beat) * beat + beat + round % 3 * 700;
        let ack = if awake { time + 4_200 } else { next };
        timeline = timeline.t(&format!(
            "{} > . {left}:{middle} ack 1
             {} > P. {middle}:{right}
             {} < . 1 ack {right} win 65535",
            at(time),
            at(time + 10),
            at(ack)
        ));
        time = ack + 30;
    }
    let report = timeline.report();
    is_sound(&report);
    report
}

#[test]
fn late_acks_at_beacons_are_of_power_save() {
    let verdict = acknowledged_at(102_400).verdict;
    let said = verdict.sentence.to_string();
    assert!(said.contains("multiples of 102.4 ms"), "{said}");
    assert!(verdict.remedies[0].action.to_string().contains("power save"));
    assert!(verdict.evidence.iter().any(|one| one.shows.to_string().contains("beacon")));
}

#[test]
fn late_acks_of_another_beat_are_not() {
    for beat in [100_000, 40_000, 200_000, 110_000] {
        let said = acknowledged_at(beat).verdict.sentence.to_string();
        assert!(!said.contains("102.4"), "{beat}: {said}");
    }
}
