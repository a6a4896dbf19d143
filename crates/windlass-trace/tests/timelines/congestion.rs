//! A congestion window that holds the transfer, and a path that is full.

use windlass_base::Cause;

use crate::support::transfer::Transfer;
use crate::support::{is_free_of, is_mostly, is_near, lost_nothing, played};

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
    for vantage in [0, 100] {
        for timestamps in [false, true] {
            let plan = Transfer { cwnd: (10, 10), vantage, timestamps, ..far() };
            let report = played(&plan);
            is_mostly(&report, Cause::Steady, 0.7);
            lost_nothing(&report);
            is_free_of(&report, Cause::BufferPathRtt);
        }
    }
}

#[test]
fn slow_start() {
    for vantage in [0, 100] {
        for timestamps in [false, true] {
            let plan = Transfer { cwnd: (2, 1 << 20), vantage, timestamps, ..far() };
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
fn a_full_path_seen(vantage: i64, timestamps: bool) {
    let plan = Transfer {
        bytes: 2_000_000,
        rtt: 10_000,
        rate: Some(1_000_000),
        vantage,
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
