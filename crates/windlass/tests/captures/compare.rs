//! `windlass explain --compare`: two captures side by side.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use windlass_testkit::captures::{Findings, corpus};
use windlass_testkit::figures::{Figure, figures, leaves};
use windlass_testkit::schema::validator;
use windlass_testkit::{told, windlass};

/// The most lines of the text.
const SCREEN: usize = 40;

/// Runs the command with these arguments behind `--compare`.
fn run(arguments: &[&str]) -> (String, String, i32) {
    told(&windlass().args(["explain", "--compare"]).args(arguments).output().unwrap())
}

fn compared(first: &Path, second: &Path, more: &[&str]) -> Value {
    let files = [first.to_str().unwrap(), second.to_str().unwrap()];
    let (stdout, stderr, code) = run(&[&files[..], &["--json"], more].concat());
    assert_eq!((stderr.as_str(), code), ("", 0), "{files:?}");
    serde_json::from_str(&stdout).unwrap()
}

/// A file of the corpus.
fn file(name: &str) -> PathBuf {
    let entry = corpus().into_iter().find(|entry| entry.file == name);
    entry.unwrap_or_else(|| panic!("{name} is not in the corpus")).path
}

/// The pairs of the corpus: the same connection at both ends.
fn pairs() -> Vec<[PathBuf; 2]> {
    let all = corpus().into_iter().map(|entry| entry.path);
    let senders = all.filter(|path| path.to_str().unwrap().contains(".snd."));
    senders
        .map(|sender| {
            let receiver = PathBuf::from(sender.to_str().unwrap().replace(".snd.", ".rcv."));
            [sender, receiver]
        })
        .collect()
}

fn count(value: &Value, at: &str) -> u64 {
    value.pointer(at).and_then(Value::as_u64).unwrap_or_else(|| panic!("{at} is no count"))
}

#[test]
fn both_ends_of_each_connection_of_the_corpus_are_one_connection() {
    let pairs = pairs();
    assert!(pairs.len() > 50, "{}", pairs.len());
    let (mut findings, validator) = (Findings::default(), validator("explain-compare"));
    let mut losses = 0;
    for (place, [sender, receiver]) in pairs.iter().enumerate() {
        let name = sender.file_name().unwrap().to_str().unwrap();
        // Either may come first.
        let is_turned = place % 2 == 1;
        let found = match is_turned {
            true => compared(receiver, sender, &[]),
            false => compared(sender, receiver, &[]),
        };
        for error in validator.iter_errors(&found).take(3) {
            findings.add(name, error.instance_path().to_string(), "fits the schema", &error);
        }
        let places = &found["places"];
        let mut check = |what: &str, value: String, wanted: &str| {
            findings.check(value == wanted, name, what, wanted, &value);
        };
        check("matched by", places["matched_by"].to_string(), "\"initial-sequence-numbers\"");
        let near = &places["places"][usize::from(is_turned)];
        check("the sender's place", near.to_string(), "\"nearer-sender\"");
        // Nothing but the path lies between the two captures, which miss nothing.
        for at in ["data/missed_by_near", "acks/missed_by_far", "acks/windows_rewritten"] {
            check(at, count(places, &format!("/{at}")).to_string(), "0");
        }
        check("rewrites", places["rewrites"].to_string(), "[]");
        // Each loss was repaired, and each repair replaces a loss or was needless.
        let at_sender = &found["transfers"][usize::from(is_turned)]["losses"];
        let data = &places["data"];
        let (again, lost) = (count(data, "/retransmissions"), count(data, "/lost_segments"));
        check("retransmissions", again.to_string(), &at_sender["retransmissions"].to_string());
        let before = count(data, "/arrived_before");
        if !name.contains("receiver-discards") && !name.contains("black-hole") {
            check("repairs", (lost + before).to_string(), &again.to_string());
            check("needless", count(data, "/needless").to_string(), &before.to_string());
        }
        losses += lost;
    }
    assert!(losses > 400, "{losses}");
    findings.assert_none();
}

#[test]
fn the_figures_of_the_text_are_in_the_record() {
    let mut findings = Findings::default();
    let mut seen = 0;
    let mut files: Vec<[PathBuf; 2]> = pairs().into_iter().step_by(5).collect();
    files.push([file("path-capacity.snd.pcap.gz"), file("receiver-window-path-rtt.snd.pcap.gz")]);
    files.push([file("no-handshake.pcap.gz"), file("no-handshake.pcap.gz")]);
    for [first, second] in &files {
        let name = first.file_name().unwrap().to_str().unwrap();
        let (stdout, stderr, code) = run(&[first.to_str().unwrap(), second.to_str().unwrap()]);
        assert_eq!((stderr.as_str(), code), ("", 0));
        let lines = stdout.lines().count();
        findings.check(lines <= SCREEN, name, "lines", SCREEN, lines);
        let (mut numbers, mut strings) = (Vec::new(), String::new());
        let record = compared(first, second, &[]);
        leaves(&record, &mut numbers, &mut strings);
        // A change is a ratio less one.
        numbers.extend(numbers.clone().iter().map(|ratio| (ratio - 1.0).abs()));
        for Figure { written, value, half, scale } in figures(&stdout) {
            seen += 1;
            let (value, half) = (value * scale, half * scale * 1.001 + 1e-12);
            let is_there = numbers.iter().any(|number| (number.abs() - value).abs() <= half)
                || strings.contains(written.trim_end());
            // Of `95 % within`.
            let is_fixed = written.starts_with("95 %");
            findings.check(is_there || is_fixed, name, "figure", written.trim_end(), "not there");
        }
    }
    assert!(seen > 300, "{seen}");
    findings.assert_none();
}

#[test]
fn a_connection_without_its_handshake_is_known_by_its_numbers() {
    let name = "path-capacity.snd.pcap.gz";
    let (sender, receiver) = (file(name), file(&name.replace(".snd.", ".rcv.")));
    // Only packets behind the handshake, and the middle of both.
    for range in [["--from", "packet:4"], ["--from", "1s"], ["--to", "1.5s"]] {
        let found = compared(&sender, &receiver, &range);
        let places = &found["places"];
        assert_eq!(places["places"][0], "nearer-sender", "{range:?}");
        let is_whole = range[0] == "--to";
        let by = if is_whole { "initial-sequence-numbers" } else { "sequence-numbers" };
        assert_eq!(places["matched_by"], by, "{range:?}");
        assert!(count(places, "/data/lost_segments") <= 4, "{range:?}: {}", places["data"]);
        assert_eq!(count(places, "/data/missed_by_near"), 0, "{range:?}");
        assert!(count(places, "/acks/lost") <= 2, "{range:?}: {}", places["acks"]);
    }
}

#[test]
fn one_file_twice_is_one_place_and_two_runs_are_told_apart() {
    let one = file("loss-ack-loss.snd.pcap.gz");
    let found = compared(&one, &one, &[]);
    assert_eq!(found["places"]["places_shown_by"], "same-place");
    assert_eq!(found["places"]["data"]["needless"], 0);
    let other = file("receiver-window-path-rtt.snd.pcap.gz");
    let found = compared(&one, &other, &[]);
    assert!(found["places"].is_null());
    let runs = &found["runs"];
    assert_eq!(runs["chosen_by"], "same-server");
    assert_eq!((&runs["limit_changed"], &runs["may_be_split"]), (&true.into(), &false.into()));
    let sentence = runs["sentence"].as_str().unwrap();
    let begins = "The limit changed from loss/ack-loss to receiver-window/path-rtt; the rate rose";
    assert!(sentence.starts_with(begins), "{sentence}");
    windlass_testkit::schema::fits("explain-compare", &found);
}

#[test]
fn captures_that_cannot_be_compared_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let good = file("loss-ack-loss.snd.pcap.gz");
    let good = good.to_str().unwrap();
    // The header of a pcap file without packets, of Ethernet.
    let header = [0xd4c3_b2a1_u32, 0x0200_0400, 0, 0, 0x0000_0400, 0x0100_0000];
    let header: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
    fs::write(path("empty"), b"").unwrap();
    fs::write(path("header"), header).unwrap();
    fs::write(path("noise"), [7; 5_000]).unwrap();
    for wrong in ["empty", "header", "noise", "missing"] {
        let wrong = path(wrong);
        for files in [[good, &wrong], [&wrong, good], [&wrong, &wrong]] {
            let (stdout, stderr, code) = run(&files);
            assert_eq!((stdout.as_str(), code), ("", 1), "{files:?}: {stderr}");
            assert!(stderr.contains(&wrong), "{stderr}");
        }
    }
    let (_, stderr, code) = run(&[good, good, "--connection", "7"]);
    assert!(code == 1 && stderr.contains("connection 7"), "{stderr}");
    let usages: [&[&str]; 6] = [
        &[good],
        &[good, good, good],
        &["-", good],
        &[good, "/dev/null"],
        &[good, good, "--details"],
        &[good, good, "--parquet", "tables"],
    ];
    for arguments in usages {
        let (stdout, stderr, code) = run(arguments);
        assert_eq!((stdout.as_str(), code), ("", 2), "{arguments:?}: {stderr}");
    }
}

/// Writes a capture of so many connections, each of which carries one segment; the last ten carry
/// twenty each. `later` is added to the time of data.
fn many_connections(path: &Path, connections: u32, later: u32) {
    let mut out = std::io::BufWriter::new(fs::File::create(path).unwrap());
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101];
    header.iter().for_each(|word| out.write_all(&word.to_le_bytes()).unwrap());
    let mut packet = |micros: u32, from: usize, at: u32, sequence: u32, ack: u32, payload: u16| {
        let ends = [[10, 1, (at >> 8) as u8, at as u8], [10, 0, 0, 2]];
        let ports = [20_000 + (at >> 16) as u16, 9_100_u16];
        let length = 40 + payload;
        let mut bytes = vec![0x45, 0];
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        bytes.extend(ends[from]);
        bytes.extend(ends[1 - from]);
        bytes.extend(ports[from].to_be_bytes());
        bytes.extend(ports[1 - from].to_be_bytes());
        bytes.extend(sequence.to_be_bytes());
        bytes.extend(ack.to_be_bytes());
        bytes.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        let record = [micros / 1_000_000, micros % 1_000_000, 40, u32::from(length)];
        record.iter().for_each(|word| out.write_all(&word.to_le_bytes()).unwrap());
        out.write_all(&bytes).unwrap();
    };
    for at in 0..connections {
        let first = at.wrapping_mul(2_654_435_761);
        let segments = if at + 10 >= connections { 20 } else { 1 };
        for segment in 0..segments {
            let (time, sequence) = (at * 100 + segment * 4, first + segment * 1_000);
            packet(time + later, 0, at, sequence, !first, 1_000);
            packet(time + 2 * later.max(1), 1, at, !first, sequence + 1_000, 0);
        }
    }
    out.flush().unwrap();
}

#[test]
fn a_hundred_thousand_connections_are_compared_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first.pcap", "second.pcap"].map(|name| folder.path().join(name));
    many_connections(&first, 100_000, 0);
    many_connections(&second, 100_000, 0);
    // No handshake, and a megabyte of memory for each thousand of them would be too much.
    let line = format!(
        "ulimit -v 1000000; exec {} explain --compare --json {} {}",
        env!("CARGO_BIN_EXE_windlass"),
        first.display(),
        second.display()
    );
    let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0));
    let found: Value = serde_json::from_str(&stdout).unwrap();
    // The largest are compared; one of a segment is not looked for among so many.
    assert_eq!(found["places"]["data"]["segments"], 20, "{}", found["places"]);
    assert!(count(&found["places"], "/common_connections") >= 10);
}
