//! Text for people: the reports of a few captures as golden text.

use std::io::Read;
use std::path::PathBuf;

/// A capture of the corpus, unpacked.
fn unpacked(name: &str) -> Vec<u8> {
    let file =
        std::fs::File::open(windlass_testkit::repository("tests/corpus").join(name)).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The packets of several captures of the corpus one behind the other.
fn joined(folder: &tempfile::TempDir, names: &[&str]) -> PathBuf {
    /// Bytes before the packets of a pcap file.
    const HEADER: usize = 24;
    let path = folder.path().join("joined.pcap");
    let mut all = unpacked(names[0]);
    for name in &names[1..] {
        all.extend_from_slice(&unpacked(name)[HEADER..]);
    }
    std::fs::write(&path, all).unwrap();
    path
}

#[test]
fn several_connections_begin_with_an_overview() {
    let folder = tempfile::tempdir().unwrap();
    let capture = joined(
        &folder,
        &[
            "receiver-window-ack-latency.snd.pcap.gz",
            "application-sender-idle.snd.pcap.gz",
            "congestion-window-slow-start.snd.pcap.gz",
        ],
    );
    // What is explained may be less than what is judged.
    for (top, explained) in [("1", 1), ("10", 3)] {
        let json = ["explain", "--json", "--top", top, capture.to_str().unwrap()];
        let record: serde_json::Value = serde_json::from_str(&windlass(&json)).unwrap();
        assert_eq!(record["connections"].as_array().unwrap().len(), explained);
        assert_eq!(record["left_out"], 3 - explained);
        let overview = &record["overview"];
        assert_eq!((&overview["connections"], &overview["not_judged"]), (&3.into(), &0.into()));
        let verdicts = overview["verdicts"].as_array().unwrap();
        let sum = |key: &str| verdicts.iter().map(|one| one[key].as_f64().unwrap()).sum::<f64>();
        assert!((sum("connections") - 3.0).abs() < 1e-9, "{overview}");
        assert!((sum("share") - 1.0).abs() < 1e-9, "{overview}");
        assert!((sum("bytes") - overview["bytes"].as_f64().unwrap()).abs() < 0.5, "{overview}");
    }
    let text = windlass(&["explain", "--top", "1", capture.to_str().unwrap()]);
    let from = text.find("Overview").unwrap();
    let overview = text[from..].split("\n\n").take(2).collect::<Vec<_>>().join("\n\n");
    insta::assert_snapshot!(overview);
    // Each has a row in a table, and the first its answer; the others have theirs when asked for.
    let text = windlass(&["explain", capture.to_str().unwrap()]);
    let answers = |text: &str| text.matches("to change").count();
    assert_eq!((text.matches(" → ").count(), answers(&text)), (4, 1), "{text}");
    assert!(text.lines().count() < 48, "{text}");
    let all = windlass(&["explain", "--details", capture.to_str().unwrap()]);
    assert!(answers(&all) >= 3 && all.matches("handshake  ").count() == 3, "{all}");
    let brief = windlass(&["explain", "--brief", capture.to_str().unwrap()]);
    assert_eq!(brief.lines().count(), 3, "{brief}");
    // Several captures are explained one behind the other, and one that fails is named.
    let corpus = "tests/corpus/receiver-window-ack-latency.snd.pcap.gz";
    let both = ["explain", "--brief", "tests/corpus/README.md", corpus, capture.to_str().unwrap()];
    let root = windlass_testkit::repository("");
    let output = windlass_testkit::windlass().args(both).current_dir(root).output().unwrap();
    let (text, message, code) = windlass_testkit::told(&output);
    assert_eq!((text.lines().count(), code), (4, 1), "{text}{message}");
    assert!(text.starts_with(corpus) && message.contains("README.md"), "{text}{message}");
    let json = windlass(&["explain", "--json", corpus, corpus]);
    for line in json.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["totals"]["connections"], 1);
    }
    assert_eq!(json.lines().count(), 2);
    // One connection is no overview.
    let one = windlass(&["explain", "--connection", "2", capture.to_str().unwrap()]);
    assert!(!one.contains("Overview"), "{one}");
}

/// The output of windlass in the repository's root, where paths are short.
fn windlass(args: &[&str]) -> String {
    let root = windlass_testkit::repository("");
    let output = windlass_testkit::windlass().args(args).current_dir(root).output().unwrap();
    let (text, message, code) = windlass_testkit::told(&output);
    assert_eq!((message.as_str(), code), ("", 0));
    text
}

#[test]
fn a_window_of_two_frames_against_slow_acks() {
    let capture = "tests/corpus/receiver-window-ack-latency.snd.pcap.gz";
    let text = windlass(&["explain", capture]);
    assert!(text.lines().count() < 24, "it does not fit a terminal: {text}");
    insta::assert_snapshot!(text);
    let brief = windlass(&["explain", "--brief", capture]);
    assert_eq!(brief.lines().count(), 1, "{brief}");
    assert!(brief.contains("receiver-window / ack-latency"), "{brief}");
}

#[test]
fn a_lossy_path_seen_from_the_receiver() {
    let capture = "tests/corpus/loss-fast-recovery-5pc.rcv.pcap.gz";
    insta::assert_snapshot!(windlass(&["explain", "--details", capture]));
}

#[test]
fn data_without_its_acks_tells_little() {
    let capture = "tests/corpus/data-only-window.pcap.gz";
    insta::assert_snapshot!(windlass(&["explain", "--details", capture]));
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
