//! Captures far from the sender: what the whole transfer shows, and single waits do not.

use windlass_base::Cause;
use windlass_trace::report::{Confidence, ConnectionReport};
use windlass_wire::Segment;

use crate::support::script::Timeline;
use crate::support::transfer::Transfer;
use crate::support::{is_free_of, is_mostly, is_sound, played, report};

/// At the receiver of a path of 30 ms, whose line takes long for nothing.
fn at_receiver() -> Transfer {
    let rate = Some(12_500_000);
    Transfer { rtt: 30_000, capture_point: 100, rate, ack_every: 2, ..Transfer::default() }
}

/// Reports the capture with an opening that took two seconds longer to complete: the way to the
/// sender is unknown.
fn opened_late(mut segments: Vec<Segment>) -> ConnectionReport {
    for segment in &mut segments[2..] {
        segment.time = segment.time + windlass_base::Span::from_millis(2_000);
    }
    let report = report(&segments);
    is_sound(&report);
    report
}

fn is_unsure(report: &ConnectionReport) {
    assert_ne!(report.verdict.confidence, Confidence::High, "{:?}", report.verdict);
    let promises = report.verdict.remedies.iter();
    assert!(promises.clone().all(|one| one.expected_bytes_per_second.is_none()));
}

#[test]
fn a_full_window_shows_without_the_distance() {
    for timestamps in [false, true] {
        let plan = Transfer { window: 16_384, timestamps, ..at_receiver() };
        is_mostly(&played(&plan), Cause::WindowPathRtt, 0.8);
        if !timestamps {
            is_mostly(&opened_late(plan.play()), Cause::WindowPathRtt, 0.8);
        }
    }
}

#[test]
fn a_program_whose_writes_divide_the_window_is_no_full_window() {
    // Four writes are the window, so that each ends where the window ended long before.
    let writes = Some((16_384, 120_000));
    let plan = Transfer { window: 65_536, scale: Some(2), writes, ..at_receiver() };
    is_mostly(&played(&plan), Cause::SenderIdle, 0.8);
}

#[test]
fn a_program_that_writes_large_pieces_sets_the_pace() {
    for (bytes, every) in [(16_384, 33_400), (16_384, 23_000), (65_536, 61_000)] {
        for timestamps in [false, true] {
            let writes = Some((bytes, every));
            let (window, scale) = (1 << 20, Some(5));
            let bytes = 2_000_000;
            let plan = Transfer { bytes, window, scale, writes, timestamps, ..at_receiver() };
            let report = played(&plan);
            is_mostly(&report, Cause::SenderIdle, 0.6);
            is_unsure(&report);
        }
    }
}

#[test]
fn a_send_buffer_that_is_filled_in_large_pieces_is_none() {
    for timestamps in [false, true] {
        let plan = Transfer { bytes: 2_000_000, send_buffer: 16_384, timestamps, ..at_receiver() };
        is_free_of(&played(&plan), Cause::SenderIdle);
    }
}

#[test]
fn a_program_that_writes_small_pieces_keeps_time() {
    for (bytes, every) in [(2_000, 3_300), (3_500, 4_700)] {
        for timestamps in [false, true] {
            let writes = Some((bytes, every));
            let nagle = true;
            let plan = Transfer { bytes: 600_000, writes, nagle, timestamps, ..at_receiver() };
            let report = played(&plan);
            is_mostly(&report, Cause::SenderIdle, 0.6);
            is_unsure(&report);
        }
    }
}

/// Credits: four pieces of 4 kB are under way, and the receiver's program lets another one come for
/// each message of 20 bytes, which takes 19 ms to the sender and back.
const FIRST_PIECES: &str = "0.0201 > . 1:1461 ack 1
    0.0202 > . 1461:2921
    0.0203 < . 1 ack 2921 win 65535
    0.0204 > P. 2921:4001
    0.0205 < P. 1:21 ack 4001
";

const PIECES: &str = "0.0396 > . 16001:17461 ack 21
    0.0397 > . 17461:18921
    0.0398 < . 81 ack 18921 win 65535
    0.0399 > P. 18921:20001
    0.0400 < P. 81:101 ack 20001
";

#[test]
fn pieces_that_messages_let_go_are_answers() {
    let opened = Timeline::new().t("0 > S 0 win 65535 mss 1460
        0.001 < S. 0 ack 1 win 65535 mss 1460
        0.020 > . 1 ack 1 win 65535");
    let first = FIRST_PIECES.replace(" ack 1\n", "\n");
    let credits = opened.dialogue(4, 0.005, [4_000, 20], &first);
    let report = credits.dialogue(80, 0.005, [4_000, 20], PIECES).report();
    is_mostly(&report, Cause::AwaitsAnswer, 0.6);
    is_unsure(&report);
}
