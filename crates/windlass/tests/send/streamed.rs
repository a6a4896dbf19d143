//! The report as a stream of JSON, and rates in a unit.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::checked;
use super::support::{has, repository, told, windlass};

/// A server on a port of its own.
struct Server(Child, String);

impl Server {
    fn start() -> Self {
        let mut command = windlass();
        command.args(["serve", "--json", "--port", "0", "--bind", "127.0.0.1"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        let port = event["address"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
        Self(child, port)
    }

    fn send(&self, options: &str) -> (String, String, i32) {
        let mut command = windlass();
        command.args(["send", "127.0.0.1", "--port", &self.1]);
        told(&command.args(options.split_whitespace()).output().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn each_interval_is_a_line_and_the_report_is_the_last() {
    let server = Server::start();
    let (stdout, stderr, code) =
        server.send("--json-stream --time 500ms --interval 100ms --bidirectional");
    assert_eq!((stderr.as_str(), code), ("", 0));
    let lines: Vec<&str> = stdout.lines().collect();
    let [first, between @ .., last] = lines.as_slice() else { panic!("{stdout}") };
    let first = checked("send-stream", first);
    assert_eq!((&first["event"], &first["host"]), (&"begins".into(), &"127.0.0.1".into()));
    let report = checked("send", last);
    let told: Vec<_> =
        between.iter().map(|line| checked("send-stream", line)["interval"].clone()).collect();
    // The same intervals as in the report, and no other.
    assert!(told.len() >= 4 * 4, "{stdout}");
    assert_eq!(serde_json::Value::from(told), report["intervals"]);
    assert_eq!(report["transfer"], first["transfer"]);
    let (_, stderr, code) = server.send("--json-stream --json");
    assert!(code == 2 && stderr.contains("cannot be used with"), "{stderr}");
}

#[test]
fn a_stream_ends_with_the_error_where_nobody_answers() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = windlass();
    command.args(["send", "127.0.0.1", "--json-stream", "--port", &port.to_string()]);
    let (stdout, stderr, code) = told(&command.output().unwrap());
    assert!(code == 1 && stderr.contains("refused"), "{stderr}");
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert_eq!(checked("send-stream", &stdout)["event"], "begins");
}

#[test]
fn rates_are_in_the_unit_that_is_asked_for() {
    let server = Server::start();
    let units = [
        ("k", "kbit/s"),
        ("m", "Mbit/s"),
        ("g", "Gbit/s"),
        ("K", "KiB/s"),
        ("M", "MiB/s"),
        ("G", "GiB/s"),
    ];
    for (letter, unit) in units {
        let line =
            format!("--format {letter} --time 300ms --interval 100ms --streams 2 --pace 400mbit");
        let (stdout, stderr, code) = server.send(&line);
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        let is_interval = |line: &&str| {
            line.trim_start().starts_with(|first: char| first.is_ascii_digit())
                && line.contains('-')
        };
        let intervals: Vec<&str> = stdout.lines().filter(is_interval).collect();
        assert!(intervals.len() >= 3, "{stdout}");
        assert!(intervals.iter().all(|line| line.contains(unit)), "{stdout}");
        let received = stdout.lines().find(|line| line.trim_start().starts_with("received"));
        assert!(received.is_some_and(|line| line.trim_end().ends_with(unit)), "{stdout}");
    }
    let (_, stderr, code) = server.send("--format x");
    assert!(code == 2 && stderr.contains("possible values: k, m, g, K, M, G"), "{stderr}");
}

/// flent, where scripts/test put it, or where it is installed.
fn flent(test: &str) -> Option<PathBuf> {
    let own = repository("target/python/bin/flent");
    if own.is_file() {
        return Some(own);
    }
    has("flent", test).then(|| "flent".into())
}

#[test]
fn a_test_is_a_data_file_of_flents() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.flent.gz");
    let server = Server::start();
    let options =
        format!("--json --time 600ms --interval 100ms --pace 20MB/s --flent {}", file.display());
    let (stdout, stderr, code) = server.send(&options);
    assert_eq!((stderr.as_str(), code), ("", 0));
    let record = checked("send", &stdout);
    let mut json = String::new();
    let packed = std::fs::File::open(&file).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut json).unwrap();
    let data: serde_json::Value = serde_json::from_str(&json).unwrap();
    let arrived: Vec<f64> = record["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["role"] == "receiver")
        .map(|one| one["bytes_per_second"].as_f64().unwrap() * 8.0 / 1e6)
        .collect();
    let drawn = data["results"]["TCP upload sum"].as_array().unwrap();
    let drawn: Vec<f64> = drawn.iter().map(|one| one.as_f64().unwrap()).collect();
    assert!(arrived.len() >= 3, "{record:#}");
    assert_eq!(drawn, arrived);

    let Some(flent) = flent("a_test_is_a_data_file_of_flents") else { return };
    let table = folder.path().join("test.csv");
    let mut reads = Command::new(flent);
    reads.arg("-i").arg(&file).args(["-f", "csv", "-o"]).arg(&table);
    let (_, said, code) = told(&reads.output().unwrap());
    assert_eq!(code, 0, "{said}");
    let table = std::fs::read_to_string(&table).unwrap();
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let column = head.iter().position(|name| *name == "TCP upload sum").unwrap();
    let read: Vec<f64> = rows.map(|row| row[column].parse().unwrap()).collect();
    assert_eq!(read, arrived, "flent reads what was measured: {table}");
}
