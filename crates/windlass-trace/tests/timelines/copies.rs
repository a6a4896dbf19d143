//! Packets that the capture holds twice.

use windlass_base::Span;
use windlass_trace::report::ConnectionReport;
use windlass_wire::Segment;

use crate::support::transfer::Transfer;
use crate::support::{is_near, is_sound, report};

/// Each packet again, so many microseconds later and changed.
fn twice(once: &[Segment], micros: i64, change: impl Fn(&mut Segment)) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::new();
    for segment in once {
        let mut copy = Segment { time: segment.time + Span::from_micros(micros), ..*segment };
        change(&mut copy);
        all.extend([*segment, copy]);
    }
    all.sort_by_key(|segment| segment.time);
    for (place, segment) in all.iter_mut().enumerate() {
        segment.number = place as u64 + 1;
    }
    all
}

#[track_caller]
fn says_the_same(once: &ConnectionReport, twice: &ConnectionReport, packets: usize) {
    is_sound(twice);
    // The last copies come when the connection is over.
    let copies = twice.losses.captured_twice;
    assert!(copies <= packets as u64 && copies + 3 >= packets as u64, "{copies} of {packets}");
    assert_eq!(twice.losses.retransmissions, once.losses.retransmissions);
    assert_eq!(twice.losses.duplicate_acks, once.losses.duplicate_acks);
    assert_eq!((twice.bytes, twice.seconds), (once.bytes, once.seconds));
    for (cause, share) in &once.causes {
        is_near(twice.causes.get(cause).copied().unwrap_or(0.0), *share, 1e-6);
    }
}

fn window_limited(timestamps: bool) -> Vec<Segment> {
    Transfer { window: 16_384, bytes: 300_000, timestamps, ..Transfer::default() }.play()
}

fn lossy() -> Vec<Segment> {
    Transfer { bytes: 300_000, lost: vec![30, 90, 91], sack: true, ..Transfer::default() }.play()
}

#[test]
fn behind_a_router_the_ttl_differs() {
    for once in [window_limited(false), lossy()] {
        for micros in [0, 7, 300, 15_000] {
            let all = twice(&once, micros, |copy| copy.hop_limit -= 1);
            says_the_same(&report(&once), &report(&all), once.len());
        }
    }
}

#[test]
fn on_a_bridge_only_the_time_differs() {
    for micros in [0, 7, 300] {
        let once = window_limited(false);
        let all = twice(&once, micros, |_| ());
        says_the_same(&report(&once), &report(&all), once.len());
    }
}

#[test]
fn the_same_timestamps_are_the_same_packet() {
    for micros in [7, 300, 15_000] {
        let once = window_limited(true);
        let all = twice(&once, micros, |_| ());
        says_the_same(&report(&once), &report(&all), once.len());
    }
}

#[test]
fn ipv6_has_no_identification() {
    let strip = |segments: Vec<Segment>| -> Vec<Segment> {
        segments.iter().map(|one| Segment { identification: None, ..*one }).collect()
    };
    for once in [strip(window_limited(false)), strip(window_limited(true)), strip(lossy())] {
        let all = twice(&once, 5, |copy| copy.hop_limit -= 1);
        says_the_same(&report(&once), &report(&all), once.len());
    }
}

#[test]
fn duplicate_acks_are_no_copies() {
    // Three ACKs of one moment, each with its own identification.
    let once = lossy();
    let report = report(&once);
    assert!(report.losses.duplicate_acks >= 6, "{:?}", report.losses);
    assert_eq!(report.losses.captured_twice, 0);
}

#[test]
fn duplicate_acks_without_identification_are_no_copies() {
    // IPv6: nothing but their number tells the duplicates of one burst apart.
    let once: Vec<Segment> = lossy()
        .iter()
        .map(|one| {
            // Plain duplicate ACKs, one behind the other.
            let options = Default::default();
            Segment { identification: None, options, ..*one }
        })
        .collect();
    let report = report(&once);
    assert!(report.losses.duplicate_acks >= 6, "{:?}", report.losses);
    assert_eq!(report.losses.captured_twice, 0);
}

#[test]
fn a_retransmission_is_no_copy() {
    // Some stacks keep the identification; the time tells.
    let once: Vec<Segment> = lossy()
        .iter()
        .map(|one| Segment { identification: one.sequence.map(|number| number as u16 | 1), ..*one })
        .collect();
    let report = report(&once);
    assert_eq!(report.losses.retransmissions, 3, "{:?}", report.losses);
}
