//! `windlass explain --follow`: it tells each second what moves, ends with its writer, and
//! what it told holds afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;
use windlass_testkit::captures::{corpus, public_captures};
use windlass_testkit::judged::wild;
use windlass_testkit::{run, schema, told, windlass};

/// Captures of emulated devices in virtual time.
fn captures(folder: &Path, scenario: &str) -> Vec<std::path::PathBuf> {
    let line = format!("lab {scenario} --keep {}", folder.to_str().unwrap());
    let (_, stderr, code) = told(&run(&line));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|name| name == "pcap")).collect()
}

/// Returns the output of `explain --follow` for a capture that comes through a pipe.
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

/// The limit that cost most of a stretch of a transfer, by its report. The transfer began so
/// long after the capture.
fn afterwards(report: &Value, began: f64, [from, to]: [f64; 2]) -> Option<String> {
    let number = |part: &Value, name: &str| part[name].as_f64().unwrap();
    let mut times = BTreeMap::<&str, f64>::new();
    for part in report["timeline"].as_array().unwrap() {
        let start = (number(part, "start") + began).max(from);
        let end = (number(part, "end") + began).min(to);
        *times.entry(part["limit"].as_str().unwrap()).or_default() += (end - start).max(0.0);
    }
    let most = times.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (most.1 > 0.0).then(|| most.0.to_owned())
}

/// Limits reported during the capture, and those of the final report.
#[derive(Debug, Default)]
struct Seconds {
    told: u32,
    same: u32,
    /// Those that are told as unknown, and are known afterwards.
    unknown: u32,
    others: BTreeMap<String, u32>,
}

impl Seconds {
    fn take(&mut self, path: &Path) {
        let record = schema::checked("explain", &followed(path, true));
        let reports = record["connections"].as_array().unwrap();
        // A capture in virtual time does not say when it began, and has one connection.
        let time = |report: &Value| -> Option<jiff::Timestamp> {
            report["start_time"].as_str().map(|time| time.parse().unwrap())
        };
        let first = reports.iter().filter_map(time).min();
        for interval in record["intervals"].as_array().unwrap() {
            let span = ["from_seconds", "to_seconds"].map(|name| interval[name].as_f64().unwrap());
            for live in interval["transfers"]["connections"].as_array().unwrap() {
                let is_same = |report: &&Value| {
                    ["number", "sender"].iter().all(|name| report[name] == live[name])
                };
                let Some(report) = reports.iter().find(is_same) else { continue };
                let began = time(report).zip(first).map(|(one, first)| one.duration_since(first));
                let began = began.unwrap_or_default().as_secs_f64();
                let later = afterwards(report, began, span);
                let (Some(limit), Some(later)) = (live["limit"].as_str(), later) else { continue };
                self.told += 1;
                if later == limit {
                    self.same += 1;
                    continue;
                }
                self.unknown += u32::from(limit == "unknown");
                let name = path.file_name().unwrap().display();
                *self.others.entry(format!("{name}: {limit}, and {later}")).or_default() += 1;
            }
        }
    }

    /// The share of the told seconds that hold.
    fn share(&self) -> f64 {
        f64::from(self.same) / f64::from(self.told)
    }

    /// Returns the share of agreement among seconds with a known limit.
    fn share_of_known(&self) -> f64 {
        f64::from(self.same) / f64::from(self.told - self.unknown)
    }
}

#[test]
fn what_is_told_of_a_second_holds_afterwards() {
    let mut seconds = Seconds::default();
    for scenario in ["print-servers", "small-stacks", "imagen"] {
        let folder = tempfile::tempdir().unwrap();
        captures(folder.path(), scenario).iter().for_each(|path| seconds.take(path));
    }
    assert!(seconds.told > 1_000 && seconds.share() >= 0.95, "{seconds:#?}");
}

/// Only a later packet can show some limits: a silence in which data waits for its ACK is unknown,
/// until a timer shows the loss.
#[test]
fn what_is_told_of_a_second_of_many_captures_holds_afterwards() {
    let mut seconds = Seconds::default();
    corpus().iter().for_each(|entry| seconds.take(&entry.path));
    assert!(seconds.told > 300 && seconds.share_of_known() >= 0.93, "{seconds:#?}");
    let mut real = Seconds::default();
    let wild = wild().into_iter().map(|one| one.path);
    public_captures().into_iter().chain(wild).for_each(|path| real.take(&path));
    assert!(real.told == 0 || real.told > 900 && real.share_of_known() >= 0.95, "{real:#?}");
}
