//! What people read: the reports of a few captures as golden text.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

/// The output of windlass in the repository's root, where paths are short.
fn windlass(args: &[&str]) -> String {
    let root = support::repository("");
    let output = support::windlass().args(args).current_dir(root).output().unwrap();
    let (text, message, code) = support::told(&output);
    assert_eq!((message.as_str(), code), ("", 0));
    text
}

#[test]
fn a_window_of_two_frames_against_slow_acks() {
    let capture = "tests/corpus/receiver-window-ack-latency.snd.pcap.gz";
    insta::assert_snapshot!(windlass(&["explain", capture]));
}

#[test]
fn a_lossy_path_seen_from_the_receiver() {
    let capture = "tests/corpus/loss-fast-recovery-5pc.rcv.pcap.gz";
    insta::assert_snapshot!(windlass(&["explain", capture]));
}

#[test]
fn data_without_its_acks_tells_little() {
    let capture = "tests/corpus/data-only-window.pcap.gz";
    insta::assert_snapshot!(windlass(&["explain", capture]));
}

#[test]
fn two_segments_then_an_ack_117_ms_later() {
    let capture = "tests/corpus/receiver-window-ack-latency.snd.pcap.gz";
    insta::assert_snapshot!(windlass(&["show", capture, "--packets", "1..24"]));
}

#[test]
fn a_window_that_closes_with_each_ack() {
    let capture = "tests/corpus/zero-window-opens-late.snd.pcap.gz";
    insta::assert_snapshot!(windlass(&["show", capture, "--packets", "1..24"]));
}

#[test]
fn a_closed_window_and_its_probes() {
    let capture = "tests/corpus/zero-window-device-stall.snd.pcap.gz";
    insta::assert_snapshot!(windlass(&["show", capture, "--packets", "55..70"]));
}
