//! Profiles learned from captures of the lab, beside those that made them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_base::Span;
use windlass_lab::Profile;
use windlass_sim::Habits;
use windlass_sim::device::{AckPolicy, Drain, StallEvery};
use windlass_testkit::captures::{Findings, shared};
use windlass_testkit::{self, repository, run, told, windlass};

fn lab(line: &str) -> Value {
    let (stdout, stderr, code) = told(&run(&format!("lab --json {line}")));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    serde_json::from_str(&stdout).unwrap()
}

/// Returns the output of `device learn`, and the profile as the lab's loader reads it.
fn learned(capture: &Path, more: &[&str], into: &Path) -> Profile {
    let output = windlass().args(["device", "learn"]).arg(capture).args(more).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{}", capture.display());
    std::fs::write(into, stdout).unwrap();
    opened(into)
}

/// The profile in a file.
fn opened(path: &Path) -> Profile {
    Profile::named(path.to_str().unwrap(), &|path| std::fs::read_to_string(path)).unwrap()
}

fn off(ours: f64, theirs: f64) -> bool {
    (ours / theirs - 1.0).abs() > 0.1
}

/// Times are compared within 10 %, and within the line's time for a segment:
/// where the ACKs do not show the line's pace, it cannot be told from the device.
fn time(findings: &mut Findings, file: &str, what: &str, slack: f64, ours: Span, theirs: Span) {
    let (ours, theirs) = (ours.as_seconds(), theirs.as_seconds());
    if (ours - theirs).abs() > theirs * 0.1 + slack {
        findings.add(file, what, theirs, ours);
    }
}

/// Returns the ACK policy in a capture, if it shows: the time from sufficient data to the ACK. A
/// timer alone is a constant latency.
fn wait(habits: &Habits, sent_less_than_share: bool) -> Span {
    match habits.ack {
        AckPolicy::ShareOfWindow { timer, .. } if sent_less_than_share => timer,
        _ => habits.ack_latency.typical,
    }
}

/// Each row's scenario, with what the user knows of its path.
const SCENARIOS: [(&str, &[&str], f64); 3] = [
    // The same network: nothing need be known.
    ("print-servers", &[], 0.25e-3),
    // What ping would say: the delays, and the line twice.
    ("imagen", &["--path-rtt", "234us", "--line-rate", "10mbit"], 0.1e-3),
    ("small-stacks", &["--path-rtt", "4.067ms", "--line-rate", "20mbit"], 0.1e-3),
];

#[test]
fn a_cure_is_learned_with_the_device() {
    // With 2,048 bytes in flight at the most a timer for each ACK looks as one that waits
    // for more of the window; `explain` reads the latter, whose cure is a larger buffer.
    let folder = tempfile::tempdir().unwrap();
    let record = lab(&format!("imagen --device imagen-v2 --keep {}", folder.path().display()));
    let rows = record["rows"].as_array().unwrap();
    let row = |setting: &str| rows.iter().find(|row| row["setting"] == setting).unwrap();
    let capture = PathBuf::from(row("send buffer 2048")["capture"].as_str().unwrap());
    let profile = folder.path().join("learned.toml");
    let habits = learned(&capture, &[], &profile).habits;
    let AckPolicy::ShareOfWindow { share, timer, .. } = habits.ack else {
        panic!("{:?}", habits.ack)
    };
    assert!(share > 1.0 / 3.0 && share < 1.0, "{share}");
    assert!((timer.as_seconds() - 0.5).abs() < 0.005, "{timer}");
    let text = std::fs::read_to_string(&profile).unwrap();
    assert!(text.contains("Two rules fit"), "{text}");
    let scenario = scenario_text("imagen");
    let again = folder.path().join("again.toml");
    std::fs::write(&again, scenario.replace("\"imagen-v2\"", "\"./learned.toml\"")).unwrap();
    let replayed = lab(again.to_str().unwrap());
    let rate = |row: &Value| row["bytes_per_second"].as_f64().unwrap();
    for setting in ["send buffer 2048", "send buffer 6144"] {
        // The rows of the other printer come after.
        let all = replayed["rows"].as_array().unwrap();
        let ours = rate(all.iter().find(|one| one["setting"] == setting).unwrap());
        assert!(!off(ours, rate(row(setting))), "{setting}: {ours}, {}", rate(row(setting)));
    }
}

/// A scenario's text.
fn scenario_text(scenario: &str) -> String {
    let path = repository(&format!("crates/windlass-lab/scenarios/{scenario}.toml"));
    std::fs::read_to_string(path).unwrap()
}

/// The text of a scenario with the profiles that its captures give in place of its own;
/// `each` is told of each row, its file and what was learned.
fn relearned(
    scenario: &str,
    record: &Value,
    path: &[&str],
    folder: &Path,
    mut each: impl FnMut(&Value, &str, Habits),
) -> String {
    let text = scenario_text(scenario);
    let mut parts = text.split("[[row]]\ndevice = ");
    let mut again = parts.next().unwrap().to_owned();
    for ((number, row), part) in record["rows"].as_array().unwrap().iter().enumerate().zip(parts) {
        let capture = PathBuf::from(row["capture"].as_str().unwrap());
        let name = format!("{number}-{}.toml", row["profile"].as_str().unwrap());
        let ours = learned(&capture, path, &folder.join(&name)).habits;
        let rest = part.split_once('\n').unwrap().1;
        again.push_str(&format!("[[row]]\ndevice = \"./{name}\"\n{rest}"));
        each(row, capture.file_stem().unwrap().to_str().unwrap(), ours);
    }
    again
}

/// The lines of a scenario, each as `change` has it.
fn edited(text: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(change).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_learned_holds_with_another_path_and_another_sender() {
    let mut findings = Findings::default();
    let longer = |text: &str| {
        edited(text, |line| match line.starts_with("delay = ") {
            true => "delay = \"7 ms\"".to_owned(),
            false => line.to_owned(),
        })
    };
    let smaller = |text: &str| {
        edited(text, |line| match line {
            line if line.starts_with("method = ") => {
                format!("{line}\nsender = {{ send-buffer = \"4096\" }}")
            }
            line if line.starts_with("sender = {") => String::new(),
            line => line.to_owned(),
        })
    };
    for (scenario, path, _) in SCENARIOS {
        let folder = tempfile::tempdir().unwrap();
        let record = lab(&format!("{scenario} --keep {}", folder.path().display()));
        let again = relearned(scenario, &record, path, folder.path(), |_, _, _| {});
        for (what, text, ours) in [
            ("a longer path", longer(&scenario_text(scenario)), longer(&again)),
            ("a send buffer of 4,096", smaller(&scenario_text(scenario)), smaller(&again)),
        ] {
            let rows = |name: &str, text: &str| {
                let file = folder.path().join(name);
                std::fs::write(&file, text).unwrap();
                lab(file.to_str().unwrap())["rows"].as_array().unwrap().clone()
            };
            let both = rows("theirs.toml", &text).into_iter().zip(rows("ours.toml", &ours));
            for (number, (theirs, ours)) in both.enumerate() {
                let id = theirs["profile"].as_str().unwrap();
                let rate = |row: &Value| row["bytes_per_second"].as_f64().unwrap();
                if !off(rate(&ours), rate(&theirs)) {
                    continue;
                }
                // What the capture leaves open stands in the profile.
                let profile = folder.path().join(format!("{number}-{id}.toml"));
                let profile = std::fs::read_to_string(profile).unwrap();
                let open = ["Two rules fit", "The speed does not show"];
                if !open.iter().any(|words| profile.contains(words)) {
                    findings.add(id, what, rate(&theirs), rate(&ours));
                }
            }
        }
    }
    findings.assert_none();
}

#[test]
fn what_is_learned_is_what_the_device_was() {
    let mut findings = Findings::default();
    let folder = tempfile::tempdir().unwrap();
    for (scenario, path, slack) in SCENARIOS {
        let record = lab(&format!("{scenario} --keep {}", folder.path().display()));
        let again = relearned(scenario, &record, path, folder.path(), |row, file, ours| {
            let id = row["profile"].as_str().unwrap();
            let built_in = repository(&format!("crates/windlass-lab/profiles/{id}.toml"));
            let theirs = opened(&built_in).habits;
            compare(&mut findings, file, slack, &ours, &theirs);
        });
        let replay = folder.path().join(format!("{scenario}.toml"));
        std::fs::write(&replay, again).unwrap();
        let replayed = lab(replay.to_str().unwrap());
        let rows = |record: &Value| record["rows"].as_array().unwrap().clone();
        assert_eq!(rows(&record).len(), rows(&replayed).len());
        for (before, after) in rows(&record).iter().zip(rows(&replayed)) {
            let rate = |row: &Value| row["bytes_per_second"].as_f64().unwrap();
            // How it reads while it is silent decides how much comes between two
            // probes, and no segment tells that.
            let silent = before["profile"] == "kallistios-update-at-zero";
            if !silent && off(rate(&after), rate(before)) {
                let file = before["capture"].as_str().unwrap();
                findings.add(file, "rate", rate(before), rate(&after));
            }
        }
    }
    findings.assert_none();
}

fn compare(findings: &mut Findings, file: &str, slack: f64, ours: &Habits, theirs: &Habits) {
    let mut equal = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            findings.add(file, what, theirs, ours);
        }
    };
    equal("mss", ours.mss.to_string(), theirs.mss.to_string());
    equal("window", ours.window.most().to_string(), theirs.window.most().to_string());
    equal("sack", ours.sack.to_string(), theirs.sack.to_string());
    equal("push", ours.pushes_acks.to_string(), theirs.pushes_acks.to_string());
    // Rules that this transfer does not tell apart.
    let alike = file.contains("2048") || file.starts_with("zephyr-delayed");
    let policy = |habits: &Habits| match habits.ack {
        AckPolicy::EverySegment => "every-segment",
        AckPolicy::EverySecond { .. } => "every-second",
        AckPolicy::ShareOfWindow { .. } => "share-of-window",
    };
    if !alike {
        equal("policy", policy(ours).to_owned(), policy(theirs).to_owned());
    }
    time(findings, file, "latency", slack, wait(ours, alike), wait(theirs, alike));
    let (own, real) = (ours.handshake_delay.typical, theirs.handshake_delay.typical);
    time(findings, file, "handshake-delay", slack, own, real);
    if let (Some(own), Some(real)) = (ours.small_segments, theirs.small_segments) {
        let (own, real) = (own.latency.typical, real.latency.typical);
        time(findings, file, "small-segments", slack, own, real);
    } else if theirs.small_segments.is_some() {
        findings.add(file, "small-segments", "some", "none");
    }
    match (ours.drain, theirs.drain) {
        // They say nothing until they are asked, and have read all by then.
        _ if file.starts_with("kallistios") || file.starts_with("zephyr-no") => {}
        (Drain::AfterAck(own), Drain::AfterAck(real)) => {
            time(findings, file, "drain", 0.0, own.typical, real.typical);
        }
        (Drain::Rate { rate: own, .. }, Drain::Rate { rate: real, .. }) => {
            if off(own.bytes_per_second(), real.bytes_per_second()) {
                findings.add(file, "drain", real, own);
            }
        }
        (Drain::AtOnce, Drain::AtOnce) => {}
        (own, real) => {
            findings.add(file, "drain", format!("{real:?}"), format!("{own:?}"));
        }
    }
    match (ours.stalls, theirs.stalls) {
        (Some(own), Some(real)) => {
            time(findings, file, "stalls last", 0.0, own.lasting.typical, real.lasting.typical);
            if let (StallEvery::Bytes(own), StallEvery::Bytes(real)) = (own.every, real.every) {
                if off(own.get() as f64, real.get() as f64) {
                    findings.add(file, "stalls every", real, own);
                }
            } else {
                findings.add(file, "stalls every", "bytes", "time");
            }
        }
        (None, None) => {}
        (own, real) => {
            findings.add(file, "stalls", format!("{real:?}"), format!("{own:?}"));
        }
    }
}

#[test]
fn the_document_gives_its_h_ps1u() {
    let test = "the_document_gives_its_h_ps1u";
    let Some(file) = shared("sources/000_9b262035620079fe.txt", test) else { return };
    let folder = tempfile::tempdir().unwrap();
    // The document: "100mbit Ethernet throughout the local network".
    let path = ["--path-rtt", "100us", "--name", "H-PS1U"];
    let profile = learned(&file, &path, &folder.path().join("h-ps1u.toml"));
    assert_eq!((profile.name.as_str(), profile.lpr, profile.raw), ("H-PS1U", Some(515), None));
    assert_eq!(profile.habits.window.most().get(), 2_920);
    let latency = profile.habits.ack_latency.typical.as_seconds();
    assert!((latency / 0.117 - 1.0).abs() < 0.02, "{latency}");
}

fn refused(file: &Path, more: &[&str]) -> (String, i32) {
    let output = windlass().args(["device", "learn"]).arg(file).args(more).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!(stdout, "");
    (stderr, code)
}

#[test]
fn there_is_nothing_to_learn_from_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pcap");
    std::fs::write(&empty, b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0")
        .unwrap();
    let (message, code) = refused(&empty, &[]);
    assert_eq!(code, 1);
    assert!(message.contains("it holds no TCP connection: it has no packets"), "{message}");
    assert!(message.contains("tip:"), "{message}");
    let record = lab(&format!("imagen --bytes 9kB --keep {}", folder.path().display()));
    let capture = PathBuf::from(record["rows"][0]["capture"].as_str().unwrap());
    let (message, code) = refused(&capture, &["--connection", "7"]);
    assert_eq!(code, 1);
    assert!(message.contains("connection 7 does not exist"), "{message}");
    assert_eq!(refused(&capture, &["--path-rtt", "7x"]).1, 2);
    // One direction: what the device sent is left out.
    let bytes = std::fs::read(&capture).unwrap();
    let mut half = bytes[..24].to_vec();
    let mut at = 24;
    while at + 16 <= bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        let packet = &bytes[at..at + 16 + length];
        if packet[16 + 14 + 15] == 1 {
            half.extend_from_slice(packet);
        }
        at += 16 + length;
    }
    let one_sided = folder.path().join("half.pcap");
    std::fs::write(&one_sided, half).unwrap();
    let (message, code) = refused(&one_sided, &[]);
    assert_eq!(code, 1);
    assert!(message.contains("one direction only"), "{message}");
}

/// Whatever a capture holds, the lab's loader takes what comes of it.
#[test]
fn every_capture_gives_a_profile_or_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("x.toml");
    for entry in windlass_testkit::captures::corpus() {
        let name = "a \"name\" \\ of\nits own";
        let output =
            windlass().args(["device", "learn", "--name", name]).arg(&entry.path).output().unwrap();
        let (stdout, stderr, code) = told(&output);
        match code {
            0 => {
                std::fs::write(&into, stdout).unwrap();
                opened(&into);
            }
            _ => assert!(code == 1 && stderr.contains("tip:"), "{stderr}"),
        }
    }
}
