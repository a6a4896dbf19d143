//! The report as a stream of JSON, and rates in a unit.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::checked;
use windlass_testkit::port::free_port;
use windlass_testkit::{has, repository, told, windlass};

/// A server on a port of its own.
pub(super) struct Server(Child, String);

impl Server {
    pub(super) fn start() -> Self {
        let mut command = windlass();
        command.args(["serve", "--json", "--port", "0", "--bind", "127.0.0.1"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        let port = event["address"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
        Self(child, port)
    }

    pub(super) fn send(&self, options: &str) -> (String, String, i32) {
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
    // The intervals of each role at each end follow on each other from the beginning on. How
    // many there are depends on the machine: an end that it starves has a longer one.
    for (end, role) in
        ["client", "server"].into_iter().flat_map(|end| [(end, "sender"), (end, "receiver")])
    {
        let mut last = 0.0;
        for one in told.iter().filter(|one| one["end"] == end && one["role"] == role) {
            let at = |name: &str| one[name].as_f64().unwrap();
            assert_eq!(at("from_seconds"), last, "{stdout}");
            last = at("to_seconds");
        }
        assert!(last > 0.0, "{end}, {role}: {stdout}");
    }
    // The same intervals as in the report, and no other.
    assert_eq!(serde_json::Value::from(told), report["intervals"]);
    assert_eq!(report["transfer"], first["transfer"]);
    let (_, stderr, code) = server.send("--json-stream --json");
    assert!(code == 2 && stderr.contains("cannot be used with"), "{stderr}");
}

#[test]
fn a_stream_ends_with_the_error_where_nobody_answers() {
    let port = free_port();
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
            let first = line.split_whitespace().next().unwrap_or_default();
            first.starts_with(|first: char| first.is_ascii_digit()) && first.contains('-')
        };
        let intervals: Vec<&str> = stdout.lines().filter(is_interval).collect();
        // A sender that the machine starves has one long interval.
        assert!(!intervals.is_empty(), "{stdout}");
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

/// Options of a test, and the series in which flent has what arrived, by who sent it.
const DRAWN: [(&str, &[(&str, &str)]); 6] = [
    ("--pace 20MB/s", &[("client", "TCP upload sum")]),
    ("--pace 20MB/s --streams 4", &[("client", "TCP upload sum")]),
    ("--pace 20MB/s --reverse", &[("server", "TCP download sum")]),
    (
        "--pace 20MB/s --bidirectional",
        &[("client", "TCP upload sum"), ("server", "TCP download sum")],
    ),
    ("--pace 20mbit --udp", &[("client", "UDP upload")]),
    (
        "--pace 20mbit --udp --bidirectional",
        &[("client", "UDP upload"), ("server", "UDP download")],
    ),
];

/// Returns the received rate of one end's data in each interval, in Mbit/s.
fn arrived(record: &serde_json::Value, from: &str) -> Vec<f64> {
    let intervals = record["intervals"].as_array().unwrap().iter();
    let is_of = |one: &&serde_json::Value| one["role"] == "receiver" && one["end"] != from;
    let rate = |one: &serde_json::Value| one["bytes_per_second"].as_f64().unwrap() * 8.0 / 1e6;
    intervals.filter(is_of).map(rate).collect()
}

#[test]
fn a_test_of_each_kind_is_a_data_file_of_flents() {
    let flent = flent("a_test_of_each_kind_is_a_data_file_of_flents");
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    for (options, series) in DRAWN {
        let file = folder.path().join("test.flent.gz");
        let options =
            format!("--json --time 600ms --interval 100ms {options} --flent {}", file.display());
        let (stdout, stderr, code) = server.send(&options);
        assert_eq!((stderr.as_str(), code), ("", 0), "{options}");
        let record = checked("send", &stdout);
        let mut json = String::new();
        let packed = std::fs::File::open(&file).unwrap();
        flate2::read::GzDecoder::new(packed).read_to_string(&mut json).unwrap();
        let data: serde_json::Value = serde_json::from_str(&json).unwrap();
        for (from, name) in series {
            let arrived = arrived(&record, from);
            let drawn = data["results"][name].as_array().unwrap();
            // Of two directions one may have an interval more.
            let drawn: Vec<f64> = drawn.iter().filter_map(serde_json::Value::as_f64).collect();
            assert!(!arrived.is_empty(), "{record:#}");
            assert_eq!(drawn, arrived, "{options}: {name}");
        }
        let Some(flent) = &flent else { continue };
        let table = folder.path().join("test.csv");
        let mut reads = Command::new(flent);
        reads.arg("-i").arg(&file).args(["-f", "csv", "-o"]).arg(&table);
        let (_, said, code) = told(&reads.output().unwrap());
        assert_eq!(code, 0, "{options}: {said}");
        let table = std::fs::read_to_string(&table).unwrap();
        let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = rows.next().unwrap();
        let rows: Vec<Vec<&str>> = rows.collect();
        for (from, name) in series {
            let column = head.iter().position(|one| one == name);
            let column = column.unwrap_or_else(|| panic!("{options}: {name} in {head:?}"));
            let read: Vec<f64> = rows.iter().filter_map(|row| row[column].parse().ok()).collect();
            assert_eq!(read, arrived(&record, from), "{options}: flent reads {name}: {table}");
        }
    }
    let (_, stderr, code) = server.send("--udp --reverse --flent none.flent.gz");
    assert!(code == 2 && stderr.contains("flent has no test of UDP"), "{stderr}");
}
