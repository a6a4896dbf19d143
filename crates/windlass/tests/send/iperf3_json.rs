//! `--json-iperf3` beside iperf3's own report, and read by a library for that.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::streamed::Server;
use windlass_testkit::port::free_port;
use windlass_testkit::{has, python, told, windlass};

/// The options of a test, as both have them.
const TESTS: [(&str, &str); 5] = [
    ("--streams 2", "-P 2"),
    ("--reverse", "-R"),
    ("--bidirectional", "--bidir"),
    ("--udp --pace 20mbit", "-u -b 20M"),
    ("--udp --pace 20mbit --reverse", "-u -b 20M -R"),
];

/// Fields of iperf3's report that ours lacks: figures that windlass does not measure, and the
/// buffers of datagrams.
const ELSEWHERE: [&str; 3] =
    ["/start/cookie", "/intervals/streams/pmtu", "/intervals/streams/rttvar"];
const ELSEWHERE_OF_UDP: [&str; 2] = ["/start/sndbuf_actual", "/start/rcvbuf_actual"];

/// Each place in a document, without the numbers of lists, and the kind of what is there.
fn places(value: &Value, path: &str, found: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| places(value, &format!("{path}/{key}"), found));
            "object"
        }
        Value::Array(items) => {
            items.iter().for_each(|item| places(item, path, found));
            "list"
        }
        Value::String(_) => "text",
        Value::Number(_) => "number",
        Value::Bool(_) => "flag",
        Value::Null => "nothing",
    };
    if !path.is_empty() && !matches!(kind, "object" | "list") {
        found.insert(path.to_owned(), kind);
    }
}

/// A stock server, which answers one test.
struct StockServer(Child);

impl Drop for StockServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn stock(options: &str) -> Value {
    // A port that was free a moment ago; another may have taken it since.
    for _ in 0..20 {
        let port = free_port();
        let port = port.to_string();
        let mut server = Command::new("iperf3");
        server.args(["-s", "-1", "--forceflush", "-B", "127.0.0.1", "-p", &port]);
        let mut child = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let _server = StockServer(child);
        let mut line = String::new();
        let listens = loop {
            line.clear();
            match out.read_line(&mut line).unwrap() {
                0 => break false,
                _ if line.contains("listening") => break true,
                _ => {}
            }
        };
        if !listens {
            continue;
        }
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        let mut client = Command::new("iperf3");
        client.args(["-c", "127.0.0.1", "-p", &port, "-J", "-t", "1", "-i", "0.5"]);
        let (stdout, stderr, code) =
            told(&client.args(options.split_whitespace()).output().unwrap());
        assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
        return serde_json::from_str(&stdout).unwrap();
    }
    panic!("no server of iperf3 listens");
}

fn ours(server: &Server, options: &str) -> Value {
    let line = format!("--json-iperf3 --time 1s --interval 500ms {options}");
    let (stdout, stderr, code) = server.send(&line);
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn what_iperf3_tells_is_told_in_the_same_place() {
    if !has("iperf3", "what_iperf3_tells_is_told_in_the_same_place") {
        return;
    }
    let server = Server::start();
    for (options, stock_options) in TESTS {
        let (ours, theirs) = (ours(&server, options), stock(stock_options));
        let of = |document: &Value| {
            let mut found = BTreeMap::new();
            places(document, "", &mut found);
            found
        };
        let found = of(&ours);
        for (place, kind) in of(&theirs) {
            let is_udp = options.contains("--udp");
            let elsewhere = |places: &[&str]| places.contains(&place.as_str());
            if elsewhere(&ELSEWHERE) || is_udp && elsewhere(&ELSEWHERE_OF_UDP) {
                continue;
            }
            assert_eq!(found.get(&place), Some(&kind), "{options}: {place} of {ours:#}");
        }
        let number = |document: &Value, pointer: &str| {
            document.pointer(pointer).and_then(Value::as_f64).unwrap()
        };
        for pointer in ["/start/test_start/num_streams", "/start/test_start/reverse"] {
            assert_eq!(number(&ours, pointer), number(&theirs, pointer), "{options}: {pointer}");
        }
        // Each end has a duration of its own, by when its first and its last data came. Only the
        // machine decides how long that is.
        let sums = ["sum_sent", "sum_received"].map(|sum| {
            let of = |what: &str| number(&ours, &format!("/end/{sum}/{what}"));
            let (bytes, seconds) = (of("bytes"), of("seconds"));
            let rate = if seconds > 0.0 { bytes * 8.0 / seconds } else { 0.0 };
            assert!((of("bits_per_second") - rate).abs() <= rate * 1e-9, "{sum}: {ours:#}");
            assert_eq!((of("start"), of("end")), (0.0, seconds), "{sum}: {ours:#}");
            (bytes, seconds)
        });
        let [(sent, seconds), (received, _)] = sums;
        assert!(seconds > 0.0, "{ours:#}");
        assert!(!options.contains("--udp") || received <= sent, "{ours:#}");
    }
}

#[test]
fn figures_are_those_of_the_record() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().display();
    let told = ours(&server, &format!("--streams 2 --store {store}"));
    let output = windlass()
        .args(["runs", "show", "last", "--json", "--store"])
        .arg(folder.path())
        .output()
        .unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let record = run.pointer("/records/0/record").unwrap();
    let number = |of: &Value, pointer: &str| {
        let found = of.pointer(pointer).and_then(Value::as_f64);
        found.unwrap_or_else(|| panic!("no number at {pointer} of {of:#}"))
    };
    for (role, sum) in [("sender", "sum_sent"), ("receiver", "sum_received")] {
        let end = format!("/directions/0/{role}");
        assert_eq!(
            number(&told, &format!("/end/{sum}/bytes")),
            number(record, &format!("{end}/bytes"))
        );
        let rate = number(record, &format!("{end}/bytes_per_second")) * 8.0;
        assert_eq!(number(&told, &format!("/end/{sum}/bits_per_second")), rate);
    }
    let streams = told.pointer("/end/streams").unwrap().as_array().unwrap();
    let bytes: f64 = streams.iter().map(|one| number(one, "/sender/bytes")).sum();
    assert_eq!(bytes, number(&told, "/end/sum_sent/bytes"));
    assert_eq!(told.pointer("/start/connected").unwrap().as_array().unwrap().len(), 2);
    let (_, stderr, code) = server.send("--json-iperf3 --json");
    assert!(code == 2 && stderr.contains("cannot be used with"), "{stderr}");
}

/// The library `iperf3` of Python's index reads reports of iperf3.
#[test]
fn a_library_for_reports_of_iperf3_reads_it() {
    let Some(python) = python("iperf3", "a_library_for_reports_of_iperf3_reads_it") else { return };
    let server = Server::start();
    for (options, protocol) in [("", "TCP"), ("--udp --pace 20mbit", "UDP")] {
        let document = ours(&server, options);
        let script = "import iperf3, json, sys\n\
            it = iperf3.TestResult(sys.stdin.read())\n\
            assert it.error is None, it.error\n\
            tcp = it.protocol == 'TCP'\n\
            rate = it.received_bps if tcp else it.bps\n\
            print(json.dumps([it.protocol, it.num_streams, rate, it.remote_port, it.local_cpu_total]))";
        let mut child = Command::new(&python)
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
        let (stdout, _, code) = told(&child.wait_with_output().unwrap());
        assert_eq!(code, 0, "{document:#}");
        let read: Value = serde_json::from_str(&stdout).unwrap();
        let sum = if protocol == "TCP" { "/end/sum_received" } else { "/end/sum" };
        let rate = document.pointer(&format!("{sum}/bits_per_second"));
        assert_eq!((&read[0], &read[1]), (&protocol.into(), &1.into()));
        assert_eq!(Some(&read[2]), rate);
    }
}
