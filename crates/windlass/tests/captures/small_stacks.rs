//! Stacks as devices have them: they push, repair, acknowledge and buffer otherwise than Linux.

use super::other_pace::{Truth, holds, of};
use windlass_testkit::captures::{Findings, explained, verdict};
use windlass_testkit::repository;

const FOLDER: &str = "small-stacks";

const WINDOW: &[&str] = &["receiver-window/path-rtt"];
const SEND_BUFFER: &[&str] = &["send-buffer/path-rtt"];
const LEVEL: &[&str] = &["congestion-window/steady", "send-buffer/path-rtt"];
const CLOSED: &[&str] = &["zero-window/receiver-not-reading"];
const LOSS: &[&str] = &["loss/fast-recovery"];

/// Payload rate of the links, in bytes per second.
const MBIT_5: f64 = 0.608e6;
const MBIT_10: f64 = 1.217e6;
const MBIT_50: f64 = 6.08e6;

/// Those whose cause must be told.
const TOLD: [Truth; 16] = [
    of("window-of-four.snd", WINDOW, "", MBIT_50),
    of("window-of-four-slow-to-open.rcv", WINDOW, "", MBIT_50),
    of("copies-of-copies.snd", SEND_BUFFER, "", MBIT_50 * 1.1),
    of("copies-of-copies.rcv", SEND_BUFFER, "", MBIT_50 * 1.1),
    of("copies-of-copies-of-two.snd", SEND_BUFFER, "", MBIT_10),
    of("refilled-with-each-ack.snd", SEND_BUFFER, "", MBIT_50),
    of("refilled-with-each-ack.rcv", SEND_BUFFER, "", MBIT_50),
    of("refilled-small-writes.snd", SEND_BUFFER, "", f64::INFINITY),
    of("repairs-for-each-duplicate.snd", LOSS, "", MBIT_10),
    // Each flight is sent again before its ACKs can come, and stays as large.
    of("fast-timer.snd", LEVEL, "fast-timer", f64::INFINITY),
    of("fast-timer-4.snd", LEVEL, "fast-timer", f64::INFINITY),
    of("one-segment.snd", WINDOW, "", MBIT_50),
    of("one-segment-sender.snd", SEND_BUFFER, "", MBIT_50),
    // libslirp answers in the server's place, and reads as fast as the line behind it takes.
    of("behind-libslirp.snd", CLOSED, "split-connection", MBIT_10),
    // pasta offers what the server behind it does, and acknowledges when that has, but a few.
    of("behind-pasta-window.snd", &["receiver-window/window-below-mss"], "", MBIT_50),
    // 2,000 B each 3 ms are 667 kB/s, and 664 arrive: what Nagle's algorithm holds back between
    // two writes costs nothing.
    of("writes-in-pieces.snd", &["application/sender-idle"], "", 0.667e6),
];

/// Those of which nothing wrong may be sure.
const NOT_SURE: [Truth; 4] = [
    of("window-of-three.snd", WINDOW, "", f64::INFINITY),
    of("writer-30ms.rcv", &["application/sender-idle"], "other-pace", 0.049e6),
    of("full-line.rcv", &["path-capacity/queue"], "other-pace", MBIT_5),
    of("behind-pasta-download.rcv", &["path-capacity/queue"], "other-pace", MBIT_10),
];

#[test]
fn nothing_wrong_is_sure_or_promises_a_rate() {
    holds(FOLDER, &TOLD);
    holds(FOLDER, &NOT_SURE);
}

#[test]
fn what_holds_a_small_stack_is_told() {
    let mut findings = Findings::default();
    for Truth { file, right, .. } in TOLD {
        let record = explained(&repository(&format!("tests/{FOLDER}/{file}.pcap.gz")));
        let got = verdict(&record["connections"][0]);
        findings.check(right.contains(&got.as_str()), file, "cause", right[0], got);
    }
    findings.assert_none();
}

#[test]
fn what_a_program_writes_is_no_full_buffer_for_sure() {
    let record = explained(&repository(&format!("tests/{FOLDER}/writes-in-pieces.snd.pcap.gz")));
    let verdict = &record["connections"][0]["verdict"];
    assert_eq!(verdict["confidence"], "medium", "{verdict:#}");
}
