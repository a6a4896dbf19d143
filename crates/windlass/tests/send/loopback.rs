//! Transfers on the loopback.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::serving::WindlassServer;
use crate::{checked, number};
use windlass_testkit::port::free_port;
use windlass_testkit::work::until_worked;
use windlass_testkit::{told, windlass};

/// Sends to a server, and gives what was printed and the exit code.
fn send(serving: &WindlassServer, options: &[&str]) -> (String, String, i32) {
    let mut command = windlass();
    command.args(["send", "127.0.0.1", "--port", &serving.port]).args(options);
    told(&command.output().unwrap())
}

/// The report of a test that went well.
fn report(serving: &WindlassServer, options: &[&str]) -> Value {
    let (stdout, stderr, code) = send(serving, &[options, &["--json"]].concat());
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    checked("send", &stdout)
}

#[test]
fn a_count_of_writes_is_sent_to_the_byte_both_ways() {
    let serving = WindlassServer::start(&["--json"]);
    for options in [&["--streams", "3"][..], &["--reverse"], &["--bidirectional"]] {
        let report = report(&serving, &[options, &["--bytes", "16384x8192"]].concat());
        let ways = report["directions"].as_array().unwrap();
        assert_eq!(ways.len(), if options == ["--bidirectional"] { 2 } else { 1 });
        for way in 0..ways.len() {
            for end in ["sender", "receiver"] {
                let bytes = number(&report, &format!("/directions/{way}/{end}/bytes"));
                assert!((bytes - 134_217_728.0).abs() < 0.5, "{options:?} {end} {bytes}");
            }
        }
        assert_eq!(report["transfer"]["length"], 8_192);
        let echoes = checked("serve", &serving.says());
        let begins = checked("serve", &serving.says());
        let ends = checked("serve", &serving.says());
        let events = [&echoes, &begins, &ends].map(|record| record["event"].as_str().unwrap());
        assert_eq!(events, ["echoes", "begins", "ends"]);
        assert_eq!(ends["failure"], Value::Null);
        let far = &ends["server"]["directions"][0];
        assert_eq!(far["bytes"], 134_217_728, "{far:#}");
        assert_eq!(ends["client_report"]["directions"][0]["bytes"], 134_217_728);
    }
}

#[test]
fn a_file_and_standard_input_are_sent_whole() {
    let serving = WindlassServer::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.prn");
    fs::write(&path, vec![7; 1_234_567]).unwrap();
    let path = path.to_str().unwrap();
    let file = report(&serving, &["--file", path]);
    assert_eq!(file["directions"][0]["receiver"]["bytes"], 1_234_567);
    let mut child = windlass()
        .args(["send", "127.0.0.1", "--port", &serving.port, "--file", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&vec![1; 3_000_001]).unwrap();
    let (stdout, _, code) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 0);
    assert_eq!(checked("send", &stdout)["directions"][0]["receiver"]["bytes"], 3_000_001);
    let (_, stderr, code) = send(&serving, &["--file", "no/such/file"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot read no/such/file"), "{stderr}");
}

#[test]
fn a_token_keeps_others_out() {
    let folder = tempfile::tempdir().unwrap();
    let [right, wrong, empty] = ["sesame", "barley", " \n"].map(|text| {
        let path = folder.path().join(text.trim());
        let path = if text.trim().is_empty() { folder.path().join("empty") } else { path };
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let serving = WindlassServer::start(&["--token-file", &right]);
    let tried = |options: &[&str]| send(&serving, &[&["--bytes", "1kB"], options].concat());
    let (_, stderr, code) = tried(&[]);
    assert_eq!(code, 1);
    assert!(stderr.contains("asks for a token") && stderr.contains("--token-file"), "{stderr}");
    let (_, stderr, code) = tried(&["--token-file", &wrong]);
    assert_eq!(code, 1);
    assert!(stderr.contains("the client's token differs from the server's"), "{stderr}");
    let (_, stderr, code) = tried(&["--token-file", &empty]);
    assert_eq!(code, 1);
    assert!(stderr.contains("the file is empty"), "{stderr}");
    let (_, stderr, code) = tried(&["--token-file", &right]);
    assert_eq!((code, stderr.as_str()), (0, ""));
}

#[test]
fn one_test_and_then_the_end() {
    let serving = WindlassServer::start(&["--once"]);
    report(&serving, &["--bytes", "1MB", "--no-latency"]);
    assert_eq!(serving.ends(), Some(0));
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let serving = WindlassServer::start(&[]);
    for direction in ["--no-latency", "--reverse"] {
        let child = windlass()
            .args(["send", "127.0.0.1", "--port", &serving.port, "--json", "--time", "10min"])
            .arg(direction)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(serving.says().contains("over 1 stream"));
        until_worked(child.id(), Duration::from_millis(200));
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        // Long before its ten minutes are over.
        let (stdout, stderr, code) = told(&child.wait_with_output().unwrap());
        assert_eq!((code, stderr.as_str()), (0, ""));
        let record = checked("send", &stdout);
        assert_eq!(record["interrupted"], true);
        assert!(number(&record, "/directions/0/receiver/bytes") > 0.0);
        let ends = serving.says();
        assert!(ends.contains("received") || ends.contains("sent"), "{ends}");
    }
}

#[test]
fn a_server_that_is_killed_costs_no_figures() {
    let serving = WindlassServer::start(&[]);
    let child = windlass()
        .args(["send", "127.0.0.1", "--port", &serving.port, "--json", "--time", "10min"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(serving.says().contains("over 1 stream"));
    until_worked(child.id(), Duration::from_millis(200));
    drop(serving);
    // Long before its ten minutes are over.
    let (stdout, stderr, code) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 1);
    assert!(stderr.contains("the other end closed the connection"), "{stderr}");
    // It was windlass serve that listened: the test ran.
    assert!(stderr.contains("the server still runs"), "{stderr}");
    let record = checked("send", &stdout);
    assert!(number(&record, "/directions/0/sender/bytes") > 0.0);
    assert_eq!(record["directions"][0]["receiver"], Value::Null);
}

#[test]
fn who_stopped_a_test_is_told() {
    let serving = WindlassServer::start(&[]);
    let mut child = windlass()
        .args(["send", "127.0.0.1", "--port", &serving.port, "--time", "10min"])
        .args(["--interval", "100ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(serving.says().contains("over 1 stream"));
    // A line that is empty, the head of the intervals, and the first of them.
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut stdout = String::new();
    (0..3).for_each(|_| assert!(lines.read_line(&mut stdout).unwrap() > 0, "{stdout}"));
    let id = serving.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    lines.read_to_string(&mut stdout).unwrap();
    let (_, stderr, code) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 1);
    assert!(stderr.contains("the server was stopped"), "{stderr}");
    // The intervals stand apart from the report.
    let apart = stdout.split_once("\n\n").map(|(intervals, report)| {
        intervals.trim_start().starts_with("seconds") && report.starts_with("here → 127.0.0.1")
    });
    assert_eq!(apart, Some(true), "{stdout}");
}

#[test]
fn many_streams_with_long_writes_begin_at_once() {
    let serving = WindlassServer::start(&[]);
    let options = ["--streams", "60", "--length", "16M", "--reverse", "--time", "1s"];
    let report = report(&serving, &[&options[..], &["--no-latency"]].concat());
    assert!(number(&report, "/directions/0/sender/bytes") > 0.0);
    let status = fs::read_to_string(format!("/proc/{}/status", serving.id())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    // Each with a buffer of its own takes 960 MiB.
    assert!(kib < 300 << 10, "{kib} KiB");
}

#[test]
fn a_port_may_stand_behind_its_host() {
    let serving = WindlassServer::start(&[]);
    let host = format!("127.0.0.1:{}", serving.port);
    let output = windlass().args(["send", &host, "-4", "--bytes", "10k", "--json"]).output();
    let (stdout, stderr, code) = told(&output.unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(checked("send", &stdout)["host"], "127.0.0.1");
}

#[test]
fn errors_say_what_to_do() {
    let free = free_port().to_string();
    let failed = |options: &[&str]| {
        let output = windlass().arg("send").args(options).output().unwrap();
        let (stdout, stderr, code) = told(&output);
        assert_eq!(stdout, "");
        (stderr, code)
    };
    let (stderr, code) = failed(&["127.0.0.1", "--port", &free]);
    assert_eq!(code, 1);
    assert!(stderr.contains("refused") && stderr.contains("windlass serve"), "{stderr}");
    let (stderr, code) = failed(&["no-such-host.invalid"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot find no-such-host.invalid"), "{stderr}");
    assert!(!stderr.contains("address information"), "{stderr}");
    for wrong in [
        &["127.0.0.1", "--streams", "0"][..],
        &["127.0.0.1", "--mss", "65000"],
        &["127.0.0.1:5201", "--port", "5202"],
        &["[::1]:5201", "--ipv4", "--port", "5202"],
        &[""],
    ] {
        let (stderr, code) = failed(wrong);
        assert_eq!(code, 2, "{wrong:?} {stderr}");
    }
    let serving = WindlassServer::start(&[]);
    let (_, stderr, code) = send(&serving, &["--congestion", "no_such_control"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("tcp_available_congestion_control"), "{stderr}");
    let taken = ["serve", "--bind", "127.0.0.1", "--port", &serving.port];
    let (_, stderr, code) = told(&windlass().args(taken).output().unwrap());
    assert_eq!(code, 1);
    assert!(stderr.contains("Give another --port"), "{stderr}");
}

/// Returns the resources of a process: descriptors, threads.
fn holds(id: u32) -> (usize, usize) {
    let count = |what: &str| fs::read_dir(format!("/proc/{id}/{what}")).unwrap().count();
    (count("fd"), count("task"))
}

#[test]
fn a_server_does_not_grow() {
    let serving = WindlassServer::start(&[]);
    let (_, idle) = holds(serving.id());
    let once = || report(&serving, &["--bytes", "100kB", "--streams", "4"]);
    once();
    let settled = || {
        let began = Instant::now();
        let mut last = holds(serving.id());
        // Threads end a moment after their tests.
        while began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(100));
            let now = holds(serving.id());
            if now == last && now.1 <= idle {
                break;
            }
            last = now;
        }
        last
    };
    let before = settled();
    for _ in 0..30 {
        once();
    }
    // Clients that come and say nothing, or go.
    for _ in 0..30 {
        drop(std::net::TcpStream::connect(format!("127.0.0.1:{}", serving.port)).unwrap());
    }
    let after = settled();
    assert!(after.0 <= before.0 + 2 && after.1 <= before.1 + 1, "{before:?} {after:?}");
}
