//! `windlass explain --follow`: it tells each second what moves, ends with its writer, and
//! what it told holds afterwards.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;
use support::{run, schema, told, windlass};

/// Captures of emulated devices in virtual time.
fn captures(folder: &Path, scenario: &str) -> Vec<std::path::PathBuf> {
    let line = format!("lab {scenario} --keep {}", folder.to_str().unwrap());
    let (_, stderr, code) = told(&run(&line));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|name| name == "pcap")).collect()
}

/// What `explain --follow` says of a capture that comes through a pipe.
fn followed(path: &Path, json: bool) -> String {
    let mut child = windlass()
        .args(["explain", "--follow", "-"])
        .args(json.then_some("--json"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut pipe, bytes) = (child.stdin.take().unwrap(), fs::read(path).unwrap());
    let writer = thread::spawn(move || std::io::Write::write_all(&mut pipe, &bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{}", path.display());
    stdout
}

#[test]
fn a_pipe_ends_with_its_writer_and_each_second_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let line = "lab print-servers --device hawking-h-ps1u --bytes 60kB --keep";
    let (_, _, code) = told(&run(&format!("{line} {}", folder.path().to_str().unwrap())));
    assert_eq!(code, 0);
    let path = folder.path().join("hawking-h-ps1u-lpr.pcap");
    let text = followed(&path, false);
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert!(lines[0].trim_start().starts_with("seconds"), "{text}");
    assert!(lines[1].contains("0.0-1.0") && lines[1].contains("receiver-window"), "{text}");
    assert!(lines[2].contains("1.0-2.0"), "{text}");
    // The report itself is that of the file.
    let (whole, _, _) = told(&run(&format!("explain {}", path.display())));
    let report = |text: &str| text.split_once("\n1  ").unwrap().1.to_owned();
    assert_eq!(report(&text), report(&whole));
}

#[test]
fn a_fifo_ends_with_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let lab = folder.path().join("lab");
    fs::create_dir(&lab).unwrap();
    let capture = captures(&lab, "imagen --bytes 20kB").remove(0);
    let child = windlass()
        .args(["explain", "--follow", "--json"])
        .arg(&fifo)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    fs::write(&fifo, fs::read(capture).unwrap()).unwrap();
    let (stdout, _, code) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 0);
    let record = schema::checked("explain", &stdout);
    assert_eq!(record["connections"].as_array().unwrap().len(), 1);
}

/// The limit that cost most of a stretch of a transfer, by its report.
fn afterwards(report: &Value, [from, to]: [f64; 2]) -> Option<String> {
    let number = |part: &Value, name: &str| part[name].as_f64().unwrap();
    let mut times = BTreeMap::<&str, f64>::new();
    for part in report["timeline"].as_array().unwrap() {
        let (start, end) = (number(part, "start").max(from), number(part, "end").min(to));
        *times.entry(part["limit"].as_str().unwrap()).or_default() += (end - start).max(0.0);
    }
    let most = times.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (most.1 > 0.0).then(|| most.0.to_owned())
}

#[test]
fn what_is_told_of_a_second_holds_afterwards() {
    let (mut seconds, mut same, mut others) = (0, 0, BTreeMap::<String, u32>::new());
    for scenario in ["print-servers", "small-stacks", "imagen"] {
        let folder = tempfile::tempdir().unwrap();
        for path in captures(folder.path(), scenario) {
            let record = schema::checked("explain", &followed(&path, true));
            let report = &record["connections"][0];
            for interval in record["intervals"].as_array().unwrap() {
                let span =
                    ["from_seconds", "to_seconds"].map(|name| interval[name].as_f64().unwrap());
                let Some(live) = interval["transfers"]["connections"].get(0) else { continue };
                let Some(limit) = live["limit"].as_str() else { continue };
                let Some(later) = afterwards(report, span) else { continue };
                seconds += 1;
                if later == limit {
                    same += 1;
                } else {
                    let name = path.file_name().unwrap().display();
                    *others.entry(format!("{name}: {limit}, and {later}")).or_default() += 1;
                }
            }
        }
    }
    assert!(seconds > 1_000, "{seconds}");
    assert!(f64::from(same) >= 0.95 * f64::from(seconds), "{same} of {seconds}: {others:#?}");
}
