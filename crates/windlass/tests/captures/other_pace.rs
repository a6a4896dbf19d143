//! Programs and paths that keep a pace of their own, and captures that show less than they seem
//! to: whatever they look like, nothing wrong is sure.

use windlass_testkit::captures::{Findings, caveats, explained, figure, verdict};
use windlass_testkit::repository;

/// Truth about a capture.
pub(super) struct Truth {
    pub(super) file: &'static str,
    /// The causes that are right.
    pub(super) right: &'static [&'static str],
    /// Source that would show the truth, as the caveat that must be present unless the verdict is
    /// right.
    caveat: &'static str,
    /// The most that any change which is proposed would bring, in bytes per second.
    most: f64,
}

/// The window holds these, as no line or queue does; twice of it, twice the rate.
const WINDOW: &[&str] = &["receiver-window/path-rtt"];
const READER: &[&str] = &["application/receiver-limited"];
const WRITER: &[&str] = &["application/sender-idle"];
const SEND_BUFFER: &[&str] = &["send-buffer/path-rtt", "send-buffer/delayed-ack"];
const LOSS: &[&str] = &["loss/fast-recovery"];
const POLICER: &[&str] = &["path-capacity/policer"];

pub(super) const fn of(
    file: &'static str,
    right: &'static [&'static str],
    caveat: &'static str,
    most: f64,
) -> Truth {
    Truth { file, right, caveat, most }
}

const ALL: [Truth; 44] = [
    of("jitter-small-window.snd", WINDOW, "other-pace", f64::INFINITY),
    of("jitter-small-window-there.rcv", WINDOW, "other-pace", f64::INFINITY),
    of("reader-20ms.snd", READER, "other-pace", 2.7e6),
    of("reader-20ms.rcv", READER, "other-pace", 2.7e6),
    of("reader-80ms.snd", READER, "other-pace", 0.52e6),
    of("reader-80ms-nearly-the-window.snd", READER, "other-pace", 0.75e6),
    of("reader-80ms-larger-window.rcv", READER, "other-pace", 1.7e6),
    of("writer-36ms.snd", WRITER, "other-pace", 1.45e6),
    of("writer-40ms.snd", WRITER, "other-pace", 0.8e6),
    of("writer-slow-line.rcv", WRITER, "other-pace", 0.75e6),
    of("writer-slow-line.snd", WRITER, "other-pace", 2e6),
    of("writer-lossy.snd", WRITER, "other-pace", 0.207e6),
    of("writer-lossy.rcv", WRITER, "other-pace", 0.207e6),
    of("writer-loss.snd", WRITER, "other-pace", 0.262e6),
    of("messages-in-each-pause.snd", WRITER, "other-pace", 0.207e6),
    of("shaper-of-the-sender.snd", &["path-capacity/queue"], "other-pace", 0.484e6),
    of("way-back-now-and-then-full.rcv", WINDOW, "other-pace", f64::INFINITY),
    of("writer-small.snd", WRITER, "other-pace", 0.067e6),
    of("pieces-open.snd", &["application/awaits-answer"], "other-pace", 1.2e6),
    of("acks-in-turns.snd", WINDOW, "other-pace", 1.2e6),
    of("data-in-turns.snd", WINDOW, "other-pace", f64::INFINITY),
    of("path-becomes-longer.rcv", WINDOW, "other-pace", f64::INFINITY),
    of("path-becomes-a-little-longer.rcv", WINDOW, "other-pace", f64::INFINITY),
    of("path-becomes-a-little-longer.snd", WINDOW, "other-pace", f64::INFINITY),
    of("slow-way-back.snd", &["path-capacity/ack-path"], "other-pace", f64::INFINITY),
    of("slow-way-back-no-timestamps.rcv", &[], "other-pace", 0.38e6),
    of("way-back-swings.rcv", SEND_BUFFER, "other-pace", 1.66e6),
    of("way-back-swings-no-timestamps.rcv", SEND_BUFFER, "other-pace", 1.81e6),
    of("path-becomes-longer-there.rcv", WINDOW, "other-pace", f64::INFINITY),
    of("path-becomes-longer-there.snd", WINDOW, "other-pace", f64::INFINITY),
    of("path-becomes-longer-there-no-timestamps.rcv", WINDOW, "other-pace", f64::INFINITY),
    of("path-becomes-longer-there-no-timestamps.snd", WINDOW, "other-pace", f64::INFINITY),
    // With twice the policer's rate.
    of("policer-between-drops.rcv", POLICER, "other-pace", 1e6),
    of("policer-between-drops.snd", POLICER, "other-pace", 1e6),
    of("policer-slow.snd", POLICER, "other-pace", 1e6),
    of("lossy-line.snd", LOSS, "", 0.94e6),
    of("lossy-line.rcv", LOSS, "", 0.94e6),
    of("short-queue.snd", &[], "other-pace", 0.478e6),
    of("sack-cut-off.snd", LOSS, "", f64::INFINITY),
    of("clock-set-back.snd", WINDOW, "clock", f64::INFINITY),
    of("clock-set-ahead.rcv", WINDOW, "other-pace", f64::INFINITY),
    of("start-missing.snd", &["send-buffer/delayed-ack"], "no-handshake", f64::INFINITY),
    of("both-ends-packets-missing", WINDOW, "captured-twice", f64::INFINITY),
    of("acks-missing.rcv", READER, "taken-at-receiver", f64::INFINITY),
];

/// A promise is kept where it comes as near as this.
const KEPT: f64 = 1.15;

#[test]
fn nothing_wrong_is_sure_or_promises_a_rate() {
    holds("other-pace", &ALL);
}

/// Checks that no wrong verdict on these captures is certain, and that no promise is too high.
pub(super) fn holds(folder: &str, truths: &[Truth]) {
    let mut findings = Findings::default();
    for &Truth { file, right, caveat, most } in truths {
        let record = explained(&repository(&format!("tests/{folder}/{file}.pcap.gz")));
        let connection = &record["connections"][0];
        let got = verdict(connection);
        let confidence = connection["verdict"]["confidence"].as_str().unwrap();
        if !right.contains(&got.as_str()) {
            findings.check(confidence != "high", file, &got, "not sure", confidence);
            let told = caveats(connection);
            let has = caveat.is_empty() || told.contains(&caveat);
            findings.check(has, file, "caveat", caveat, format!("{told:?}"));
        }
        for remedy in connection["verdict"]["remedies"].as_array().unwrap() {
            // A bound may be above what there is, and is none below.
            let promised = figure(remedy, "/expected_bytes_per_second");
            let kept = promised.is_none_or(|promised| promised <= most * KEPT);
            findings.check(kept, file, "promise", most, format!("{promised:?}"));
        }
    }
    findings.assert_none();
}
