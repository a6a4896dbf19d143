//! `windlass send` to a stock iperf3 server.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::peer::{ListeningPeer, send, send_told};
use crate::{number, whole};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::port::free_port;
use windlass_testkit::work::until_worked;
use windlass_testkit::{has, told, windlass};

/// A stock server. One that has just served a test is busy for a moment, so each
/// test has its own.
fn server() -> ListeningPeer {
    ListeningPeer::start("iperf3 -s -p PORT")
}

/// Returns the report of a test to a stock server.
fn tested(options: &str) -> Value {
    send(server().port, &format!("--protocol iperf3 {options}"))
}

#[test]
fn what_is_sent_is_what_the_server_counts() {
    if !has("iperf3", "what_is_sent_is_what_the_server_counts") {
        return;
    }
    for options in [
        "--time 1s",
        "--time 1s --streams 4",
        "--bytes 20MB",
        "--bytes 3333333 --streams 3 --length 8k",
        "--bytes 1",
        "--time 1s --window 64k",
        "--time 1s --congestion cubic --mss 1000 --nodelay",
        "--bytes 2MB --pace 100mbit",
    ] {
        let report = tested(options);
        assert_eq!(report["protocol"], "iperf3");
        let way = &report["directions"][0];
        let sent = whole(way, "/sender/total_bytes");
        assert_eq!(whole(way, "/receiver/bytes"), sent, "{options}: {report:#}");
        assert!(way["verdict"].is_object() && way["kernel"].is_object(), "{options}");
        // What the server's kernel knows is left out.
        assert_eq!(way["receiver"]["streams"], Value::Array(Vec::new()));
        assert_eq!(report["processors"]["server"], Value::Null);
        assert_eq!(report["latency"], Value::Null);
        assert!(number(way, "/receiver/bytes_per_second") > 0.0);
    }
}

#[test]
fn the_wait_for_what_a_server_reads_last_is_no_part_of_its_time() {
    let test = "the_wait_for_what_a_server_reads_last_is_no_part_of_its_time";
    if !has("iperf3", test) {
        return;
    }
    in_real_time(test, || {
        for options in ["--time 1s", "--bytes 2MB --pace 100mbit"] {
            let report = tested(options);
            let seconds = |end: &str| number(&report, &format!("/directions/0/{end}/seconds"));
            let [own, theirs] = ["sender", "receiver"].map(seconds);
            assert!(theirs <= own + 0.5, "{options}: {own} {theirs}");
        }
    });
}

#[test]
fn what_the_server_sends_is_received_whole() {
    if !has("iperf3", "what_the_server_sends_is_received_whole") {
        return;
    }
    for options in ["--time 1s", "--time 1s --streams 3", "--bytes 20MB", "--time 1s --window 64k"]
    {
        let report = tested(&format!("--reverse {options}"));
        let way = &report["directions"][0];
        // The stock server goes on until it is told to end, and all of it comes.
        let received = whole(way, "/receiver/total_bytes");
        assert_eq!(whole(way, "/sender/bytes"), received, "{options}: {report:#}");
        assert!(whole(way, "/receiver/bytes") <= received);
        if options.contains("20MB") {
            assert!(received >= 20_000_000, "{received}");
        }
        // It tells no more of its kernel than this.
        assert!(way["sender"]["retransmissions"].is_u64(), "{report:#}");
        assert_eq!((&way["kernel"], &way["verdict"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn both_ways_at_once_are_told_apart() {
    if !has("iperf3", "both_ways_at_once_are_told_apart") {
        return;
    }
    for options in ["--time 1s", "--time 1s --streams 2", "--bytes 5MB"] {
        let report = tested(&format!("--bidirectional {options}"));
        let [there, back] = [0, 1].map(|way| &report["directions"][way]);
        assert_eq!((&there["from"], &back["from"]), (&"client".into(), &"server".into()));
        for way in [there, back] {
            assert!(whole(way, "/sender/bytes") > 0 && whole(way, "/receiver/bytes") > 0);
        }
        // The stock server goes on sending until it hears that the test is over,
        // and what it has not read by then it never counts.
        assert!(whole(there, "/receiver/bytes") <= whole(there, "/sender/total_bytes"));
        let came = whole(back, "/receiver/total_bytes");
        assert_eq!(whole(back, "/sender/bytes"), came, "{options}: {report:#}");
    }
}

#[test]
fn a_start_that_does_not_count_is_left_out() {
    if !has("iperf3", "a_start_that_does_not_count_is_left_out") {
        return;
    }
    let report = tested("--omit 1s --time 1s --pace 80mbit");
    let way = &report["directions"][0];
    assert!(whole(way, "/sender/bytes") < whole(way, "/sender/total_bytes"), "{report:#}");
    assert!(whole(way, "/receiver/bytes") < whole(way, "/sender/total_bytes"), "{report:#}");
    let omitted = |one: &&Value| one["omitted"] == true;
    assert!(report["intervals"].as_array().unwrap().iter().any(|one| omitted(&one)));
}

#[test]
fn a_file_is_sent_whole() {
    if !has("iperf3", "a_file_is_sent_whole") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, vec![7; 1_234_567]).unwrap();
    let report = tested(&format!("--file {}", path.to_str().unwrap()));
    assert_eq!(whole(&report, "/directions/0/receiver/bytes"), 1_234_567, "{report:#}");
}

#[test]
fn errors_say_what_to_do() {
    if !has("iperf3", "errors_say_what_to_do") {
        return;
    }
    let (_, stderr, code) = send_told(free_port(), "--protocol iperf3");
    assert_eq!(code, 1);
    assert!(stderr.contains("refused") && stderr.contains("Start iperf3 -s"), "{stderr}");
    let server = server();
    // Somebody else is there, for as long as this takes: its first interval is over.
    let mut taking = windlass()
        .args(["send", "127.0.0.1", "--protocol", "iperf3", "--port", &server.port.to_string()])
        .args(["--time", "10min", "--interval", "100ms"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(taking.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("seconds"));
    let (_, stderr, code) = send_told(server.port, "--protocol iperf3 --bytes 1kB");
    assert_eq!(code, 1);
    assert!(stderr.contains("the iperf3 server is busy with another test"), "{stderr}");
    let id = taking.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    lines.for_each(drop);
    assert_eq!(taking.wait().unwrap().code(), Some(0));
    // A server that speaks otherwise.
    let other = ListeningPeer::start("iperf3 -s -p PORT");
    let (_, stderr, code) = send_told(other.port, "--no-latency --bytes 1kB");
    assert_eq!(code, 1);
    assert!(stderr.contains("windlass serve is the program"), "{stderr}");
    // What iperf3 cannot be asked for is a wrong use.
    let (_, stderr, code) = send_told(server.port, "--protocol iperf3 --length 2M");
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("1 MiB at a time"), "{stderr}");
}

#[test]
fn a_server_between_two_tests_is_waited_for() {
    if !has("iperf3", "a_server_between_two_tests_is_waited_for") {
        return;
    }
    let server = server();
    let mut child = windlass()
        .args(["send", "127.0.0.1", "--protocol", "iperf3", "--port", &server.port.to_string()])
        .args(["--continuous", "--bytes", "100kB", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.take(5) {
        let report: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(whole(&report, "/directions/0/receiver/bytes"), 100_000, "{report:#}");
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    child.wait().unwrap();
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    if !has("iperf3", "ctrl_c_prints_what_was_measured") {
        return;
    }
    let server = server();
    let child = windlass()
        .args(["send", "127.0.0.1", "--protocol", "iperf3", "--json", "--time", "10min"])
        .args(["--port", &server.port.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_worked(child.id(), Duration::from_millis(200));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    // Long before its ten minutes are over.
    let (stdout, stderr, code) = told(&child.wait_with_output().unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let record: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(record["interrupted"], true);
    assert!(whole(&record, "/directions/0/receiver/bytes") > 0, "{record:#}");
    // The server has heard of it, and is there for the next one.
    let since = Instant::now();
    while send_told(server.port, "--protocol iperf3 --bytes 1kB").2 != 0 {
        assert!(since.elapsed() < Duration::from_secs(60), "it is busy still");
    }
}

#[test]
fn a_server_that_is_killed_costs_no_figures() {
    if !has("iperf3", "a_server_that_is_killed_costs_no_figures") {
        return;
    }
    let server = server();
    let port = server.port;
    let child = windlass()
        .args(["send", "127.0.0.1", "--protocol", "iperf3", "--json", "--time", "10min"])
        .args(["--port", &port.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_worked(child.id(), Duration::from_millis(200));
    drop(server);
    // Long before its ten minutes are over.
    let (stdout, stderr, code) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 1);
    assert!(stderr.contains("closed the control connection"), "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    assert!(whole(&record, "/directions/0/sender/bytes") > 0);
    assert_eq!(record["directions"][0]["receiver"], Value::Null);
}
