//! Retransmissions, closed windows and full windows over the captures from the wild,
//! beside tshark's. Where its definition is another, the rule that says so is here; there
//! is no list of captures that may differ.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::tshark::{Frame, frames};
use windlass_testkit::captures::{Findings, caveats, explained};
use windlass_testkit::has;
use windlass_testkit::judged::{JudgedCapture, wild};

/// The share of the time that the receiver's window may cost where it was never nearly full:
/// what the last segments of flights take.
const HARDLY: f64 = 0.05;

/// Counts of tshark's marks for the data of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LateSegments {
    again: u64,
    out_of_order: u64,
}

/// Returns whether `late` was sent after `before`, by the sender's count of packets.
fn is_later(late: Option<u16>, before: Option<u16>) -> bool {
    let (Some(late), Some(before)) = (late, before) else { return false };
    (1..1 << 15).contains(&late.wrapping_sub(before))
}

/// Returns whether a segment repeats the last few sent bytes, carries new ones, and follows too
/// soon for any timer.
fn begins_before(frame: &Frame, top: u64, last: f64) -> bool {
    let end = frame.sequence + frame.length;
    let mostly_new = end > top && top - frame.sequence <= frame.length / 2;
    frame.sequence < top && mostly_new && frame.time - last < 1e-3
}

/// Data of `from` that came late, by tshark's marks and these rules:
///
/// - A byte or none that repeats what was acknowledged asks whether the other side is still
///   there. tshark calls it a spurious retransmission where the other side had closed.
/// - A byte that is repeated before its ACK is sent again. tshark calls it a keep-alive.
/// - What begins at or beyond the end of all data that was captured repeats none of it.
///   tshark counts from the number of a FIN that came first as well, or from an ACK that was
///   captured before what it acknowledges. [`LateSegments::out_of_order`] has the last, whose ACK
///   proves that it was sent before. The number of an ACK tells of data before it `far` from
///   the sender alone: near it, the capture missed what its ACKs announce.
/// - A segment that begins a few bytes early, carries mostly new data, and follows within a
///   millisecond repairs nothing: tshark calls any overlap a retransmission.
/// - What fills a hole was sent again where the sender's count of packets says that it is
///   later than the segment behind the hole. tshark goes by the time alone: what comes
///   within 3 ms, or a round trip, is out of order.
fn late(frames: &[&Frame], from: &str, far: bool) -> LateSegments {
    let (mut top, mut behind, mut acked, mut last) = (0, None, 0, 0.0);
    let mut late = LateSegments::default();
    for frame in frames {
        if frame.source != from {
            acked = acked.max(frame.ack.unwrap_or(0));
            continue;
        }
        if frame.length == 0 {
            if far && !frame.control && acked > 1 && frame.sequence > top + 1 {
                (top, behind) = (frame.sequence, frame.identification);
            }
            continue;
        }
        let end = frame.sequence + frame.length;
        let (again, out_of_order) = (frame.is("retransmission"), frame.is("out_of_order"));
        let repeats_a_byte = frame.length == 1 && end == top;
        if repeats_a_byte && acked < end && frame.is("keep_alive") {
            late.again += 1;
        } else if again || out_of_order {
            if frame.sequence >= top {
                late.out_of_order += u64::from(acked >= end);
            } else if repeats_a_byte && acked >= end || begins_before(frame, top, last) {
                // A keep-alive, or new data.
            } else if again || is_later(frame.identification, behind) {
                late.again += 1;
            } else {
                late.out_of_order += 1;
            }
        }
        if end > top {
            (top, behind) = (end, frame.identification);
        }
        last = frame.time;
    }
    late
}

/// Receive window in tshark's view.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// ACKs that offer none.
    zero: u64,
    /// Segments of the sender that fill it to the last byte.
    full: u64,
    /// Those that leave less than a segment of it.
    nearly: u64,
}

fn window(frames: &[&Frame], from: &str, segment: u64) -> Window {
    let mut all = Window::default();
    let (mut edge, mut next) = (None, 0);
    for frame in frames {
        if frame.source != from {
            all.zero += u64::from(frame.is("zero_window"));
            if let (Some(ack), Some(window), false) = (frame.ack, frame.window, frame.control) {
                edge = Some(ack + window);
            }
            continue;
        }
        all.full += u64::from(frame.is("window_full"));
        next = next.max(frame.sequence + frame.length);
        let nearly = frame.length > 0 && edge.is_some_and(|edge| next + segment > edge);
        all.nearly += u64::from(nearly);
    }
    all
}

fn of_connection(file: &str, report: &Value, frames: &[Frame], findings: &mut Findings) {
    let number = report["number"].as_u64().unwrap();
    let own: Vec<&Frame> = frames.iter().filter(|frame| frame.stream + 1 == number).collect();
    // Both sides of a device that rewrites numbers: tshark takes the numbers of both for
    // those of one.
    if caveats(report).contains(&"sequence-rewritten") {
        return;
    }
    let ends = ["sender", "receiver"].map(|key| report[key].as_str().unwrap());
    let far = caveats(report).contains(&"taken-at-receiver");
    for (from, losses) in [(ends[0], "losses"), (ends[1], "losses_returned")] {
        let theirs = late(&own, from, far == (from == ends[0]));
        let count = |key: &str| report[losses][key].as_u64().unwrap_or(0);
        let ours =
            LateSegments { again: count("retransmissions"), out_of_order: count("out_of_order") };
        let what = format!("#{number} {losses}");
        findings.check(theirs == ours, file, what, format!("{theirs:?}"), format!("{ours:?}"));
    }
    let offered = &report["receive_window"];
    let count = |key: &str| offered[key].as_u64().unwrap_or(0);
    let segment = count("segment_bytes");
    let theirs = window(&own, ends[0], segment);
    let zero = count("zero_windows");
    findings.check(theirs.zero == zero, file, format!("#{number} zero windows"), theirs.zero, zero);
    // What fills a window is in flight.
    let reached = count("max_flight_bytes") + segment > count("min_bytes");
    let what = format!("#{number} a full window was filled");
    findings.check(theirs.full == 0 || reached, file, what, format!("{theirs:?}"), offered);
    // And a window that was never nearly full held nothing back. Far from the sender a
    // segment's ACK is in the capture long before it reaches the sender, so that tshark
    // finds less in flight than the sender does.
    let share = |limit: &str| report["shares"][limit].as_f64().unwrap_or(0.0);
    let share = share("receiver-window") + share("zero-window");
    let held = far || theirs.nearly + theirs.zero > 0 || share <= HARDLY;
    let what = format!("#{number} a window that is not full costs nothing");
    findings.check(held, file, what, format!("{theirs:?}"), share);
}

#[test]
fn tshark_agrees_on_loss_and_windows_in_the_wild() {
    let test = "tshark_agrees_on_loss_and_windows_in_the_wild";
    if !has("tshark", test) {
        return;
    }
    let captures = wild();
    let next = AtomicUsize::new(0);
    let read: Mutex<Vec<(&JudgedCapture, Value, Vec<Frame>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(capture) = captures.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = (capture, explained(&capture.path), frames(&capture.path));
                    read.lock().unwrap().push(found);
                }
            });
        }
    });
    let mut findings = Findings::default();
    let mut read = read.into_inner().unwrap();
    read.sort_by_key(|(capture, ..)| &capture.file);
    for (capture, record, frames) in &read {
        for report in record["connections"].as_array().unwrap() {
            of_connection(&capture.file, report, frames, &mut findings);
        }
    }
    findings.assert_none();
}
