//! Segments that are full though the handshake allows larger ones.

use windlass_base::{Cause, Limit};
use windlass_trace::report::ConnectionReport;

use crate::support::script::Timeline;
use crate::support::{is_mostly, lost_nothing, share};

/// A flight of so many segments in each of 30 round trips, under a window that never moves.
struct Flights {
    mss: u32,
    segment: u32,
    count: u32,
    window: u32,
    rtt: f64,
    /// Each segment is pushed, and not only the last one of a write.
    pushes: bool,
    /// Payload of the last segment of each flight.
    last: u32,
}

impl Flights {
    fn report(&self) -> ConnectionReport {
        let &Self { mss, segment, count, window, rtt, pushes, last } = self;
        let length = |place: u32| if place + 1 == count { last } else { segment };
        let begin = rtt + 0.001;
        let mut round = String::new();
        let mut end = 1;
        for place in 0..count {
            let (start, time) = (end, begin + 2e-5 * f64::from(place));
            end += length(place);
            let flags = if pushes || place + 1 == count { "P." } else { "." };
            round += &format!("{time:.6} > {flags} {start}:{end} ack 1\n");
        }
        round += &format!("{:.6} < . 1 ack {end} win {window}", begin + rtt);
        let opened = Timeline::new().t(&format!(
            "0 > S 0 win 64240 mss {mss}
             {rtt} < S. 0 ack 1 win {window} mss {mss}
             {rtt} > . 1 ack 1 win 64240"
        ));
        let report = opened.rounds(30, rtt + 0.000_05, end - 1, &round).report();
        lost_nothing(&report);
        report
    }
}

#[test]
fn room_for_a_segment_of_the_sender_is_no_full_window() {
    // Each flight leaves more room than the sender's segments need, and less than the MSS.
    for (mss, segment, count, window) in
        [(1_440, 512, 4, 2_880), (1_460, 700, 9, 7_200), (8_960, 1_460, 12, 20_000)]
    {
        let flights =
            Flights { mss, segment, count, window, rtt: 0.3, pushes: false, last: segment };
        let report = flights.report();
        assert_eq!(report.receive_window.segment_bytes.get(), u64::from(segment));
        assert_ne!(report.verdict.cause.limit(), Limit::ReceiverWindow, "{segment}");
        // The first flight or two teach it.
        assert!(share(&report, Cause::WindowPathRtt) < 0.1, "{segment}: {:?}", report.causes);
        // One more does not fit.
        let fitting = (window / segment).min(count + 1);
        let report =
            Flights { count: fitting, window: fitting * segment + 100, ..flights }.report();
        is_mostly(&report, Cause::WindowPathRtt, 0.8);
    }
}

/// Ten segments in flight over 50 ms: each ACK of two lets two more out, of which each tenth ends a
/// write with `last` bytes.
fn clocked(segment: u32, last: u32) -> ConnectionReport {
    let flight = 9 * segment + last;
    let start = |place: u32| 1 + place * segment;
    let send = |time: f64, place: u32, moved: u32| {
        let (length, flags) = if place == 9 { (last, "P.") } else { (segment, ".") };
        let start = start(place) + moved;
        format!("{time:.6} > {flags} {start}:{} ack 1\n", start + length)
    };
    let first: String =
        (0..10).map(|place| send(0.051 + 1e-5 * f64::from(place), place, 0)).collect();
    let mut round = String::new();
    for pair in 0..5 {
        let time = 0.101 + 0.001 * f64::from(pair);
        let acked = if pair == 4 { 1 + flight } else { start(2 * pair + 2) };
        round += &format!("{time:.6} < . 1 ack {acked} win 64240\n");
        round += &send(time + 2e-5, 2 * pair, flight);
        round += &send(time + 3e-5, 2 * pair + 1, flight);
    }
    Timeline::opened(50.0, 64_240).t(&first).rounds(30, 0.050_05, flight, &round).report()
}

#[test]
fn a_smaller_path_mtu_leaves_no_partial_segments() {
    for segment in [1_400, 1_432, 1_220] {
        let report = clocked(segment, segment);
        assert_eq!(report.receive_window.segment_bytes.get(), u64::from(segment));
        is_mostly(&report, Cause::Steady, 0.8);
        // A send buffer that is no whole number of them.
        is_mostly(&clocked(segment, 700), Cause::BufferPathRtt, 0.8);
    }
}

#[test]
fn pieces_that_a_program_pushes_are_no_full_segments() {
    for segment in [200, 512, 1_000] {
        let flights = Flights {
            mss: 1_460,
            segment,
            count: 8,
            window: 16_384,
            rtt: 0.05,
            pushes: true,
            last: segment,
        };
        let report = flights.report();
        assert_eq!(report.receive_window.segment_bytes.get(), 1_460, "{segment}");
    }
}

#[test]
fn half_a_window_is_no_full_segment() {
    // Linux sends half of a window that has no room for two segments.
    let half = Flights {
        mss: 1_460,
        segment: 1_024,
        count: 2,
        window: 2_048,
        rtt: 0.05,
        pushes: false,
        last: 1_024,
    };
    assert_eq!(half.report().receive_window.segment_bytes.get(), 1_460);
}
