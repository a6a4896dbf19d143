//! `windlass exporter`: its sums beside what `ss` says, connections that are over at once, and the
//! format by a reader that is not ours.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{PATIENCE, connection, listener};
use windlass_testkit::schema::checked;
use windlass_testkit::{has, python, repository, run, told, windlass};

/// An exporter that runs.
struct Exporter {
    child: Child,
    address: String,
}

impl Exporter {
    fn start(arguments: &[&str]) -> Self {
        let mut command = windlass();
        command.args(["exporter", "--listen", "127.0.0.1:0", "--json"]).args(arguments);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut exporter = Self { child, address: String::new() };
        let mut line = String::new();
        let stdout = exporter.child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let record = checked("exporter", &line);
        assert_eq!(record["deaf"], Value::Null, "{record}");
        let address = record["address"].as_str().unwrap();
        let address = address.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
        exporter.address = address.to_owned();
        exporter
    }

    /// Returns the answer to a request.
    fn said(&self, path: &str, headers: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// The samples of a service, by name, and limit or bound.
    fn samples(&self, service: &str) -> BTreeMap<String, f64> {
        let (_, text) = self.said("/metrics", "");
        let of = format!("service=\"{service}\",subnet=\"other\"");
        let lines = text.lines().filter(|line| line.contains(&of));
        let sample = |line: &str| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let name = name.replace(&of, "").replace("{}", "").replace("{,", "{");
            (name, value.parse().unwrap())
        };
        lines.map(sample).collect()
    }

    /// The samples once they are as they should be.
    fn until(
        &self,
        service: &str,
        is_so: impl Fn(&BTreeMap<String, f64>) -> bool,
    ) -> BTreeMap<String, f64> {
        let since = Instant::now();
        loop {
            let samples = self.samples(service);
            if is_so(&samples) {
                return samples;
            }
            assert!(since.elapsed() < PATIENCE, "{samples:#?}");
            sleep(Duration::from_millis(50));
        }
    }

    fn end(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const BUSY: &str = "windlass_tcp_busy_seconds_total";
const WINDOW: &str = "windlass_tcp_limited_seconds_total{limit=\"receiver-window\"}";
const BUFFER: &str = "windlass_tcp_limited_seconds_total{limit=\"send-buffer\"}";

/// Milliseconds behind a word, over all lines of `ss -ti`, as seconds.
fn sum(text: &str, word: &str) -> f64 {
    let words = text.split_whitespace().filter_map(|part| part.strip_prefix(word));
    let millis = |text: &str| text.split("ms").next().unwrap().parse::<f64>().unwrap();
    words.map(millis).sum::<f64>() / 1e3
}

/// Senders whose receivers read late, so that windows and send buffers fill.
#[test]
fn limited_seconds_are_those_that_ss_tells() {
    let test = "limited_seconds_are_those_that_ss_tells";
    if !has("ss", test) {
        return;
    }
    let (listener, port) = listener();
    let exporter = Exporter::start(&["--service", &format!("late={port}")]);
    let mut ends: Vec<_> = (0..4).map(|_| connection(&listener)).collect();
    std::thread::scope(|scope| {
        for (near, far) in &mut ends {
            scope.spawn(move || near.write_all(&vec![1; 8 << 20]).unwrap());
            scope.spawn(move || {
                let mut block = vec![0; 256 << 10];
                let mut left = 8 << 20;
                while left > 0 {
                    sleep(Duration::from_millis(15));
                    left -= far.read(&mut block).unwrap();
                }
            });
        }
    });
    // All is acknowledged, so no clock goes on.
    let filter = format!("sport = :{port} or dport = :{port}");
    let ss = || {
        let output = Command::new("ss").args(["-tinHO", "state", "established", &filter]).output();
        told(&output.unwrap()).0
    };
    let is_quiet = |text: &str| !text.contains("unacked:") && !text.contains("notsent:");
    let since = Instant::now();
    let mut text = ss();
    while !is_quiet(&text) {
        assert!(since.elapsed() < PATIENCE, "{text}");
        sleep(Duration::from_millis(20));
        text = ss();
    }
    let samples = exporter.until("late", |samples| {
        samples.get("windlass_tcp_sent_bytes_total") == Some(&f64::from(4 * (8 << 20)))
    });
    assert_eq!(samples["windlass_tcp_connections"], 8.0, "{samples:#?}");
    for (name, word) in [(BUSY, "busy:"), (WINDOW, "rwnd_limited:"), (BUFFER, "sndbuf_limited:")] {
        let (ours, theirs) = (samples[name], sum(&text, word));
        // ss tells whole milliseconds.
        assert!((ours - theirs).abs() <= 0.02 * theirs + 0.004, "{name}: {ours} and {theirs}");
    }
    assert!(samples[WINDOW] + samples[BUFFER] > 0.1 * samples[BUSY], "{samples:#?}");
    let limited: f64 =
        samples.iter().filter(|(name, _)| name.contains("limited")).map(|(_, value)| value).sum();
    assert!((limited - samples[BUSY]).abs() < 1e-6, "{samples:#?}");
    exporter.end();
}

#[test]
fn connections_of_five_milliseconds_are_all_counted() {
    const ALL: usize = 1_000;
    let (listener, port) = listener();
    let exporter = Exporter::start(&["--service", &format!("short={port}")]);
    for _ in 0..ALL / 50 {
        let mut ends: Vec<_> = (0..50).map(|_| connection(&listener)).collect();
        for (near, far) in &mut ends {
            near.write_all(&[1; 700]).unwrap();
            far.read_exact(&mut [0; 700]).unwrap();
        }
        sleep(Duration::from_millis(5));
    }
    // Each has two ends here. What a busy machine had no room for is told.
    let unheard = || {
        let (_, text) = exporter.said("/metrics", "");
        let line = text.lines().find(|line| line.starts_with("windlass_exporter_unheard")).unwrap();
        line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
    };
    let all = 2.0 * ALL as f64;
    let closed = "windlass_tcp_closed_connections_total";
    let samples = exporter.until("short", |samples| {
        samples.get(closed).is_some_and(|closed| closed + unheard() >= all)
    });
    if unheard() == 0.0 {
        assert_eq!(samples[closed], all);
        assert_eq!(samples["windlass_tcp_opened_connections_total"], all);
        assert_eq!(samples["windlass_tcp_sent_bytes_total"], 700.0 * ALL as f64);
        assert_eq!(samples["windlass_tcp_connections"], 0.0);
    }
    exporter.end();
}

/// Reads each format with the reference parser, and prints the families that it found.
const PARSE: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain
text = sys.stdin.read()
parse = openmetrics if sys.argv[1] == 'openmetrics' else plain
for family in parse(text):
    assert family.documentation, family
    print(family.name, family.type, len(family.samples))
";

#[test]
fn the_format_is_what_others_read() {
    let test = "the_format_is_what_others_read";
    let (listener, port) = listener();
    let service = format!("wörk \"1\"\\={port}");
    let exporter = Exporter::start(&["--service", &service, "--subnet", "here=127.0.0.0/8"]);
    let (mut near, mut far) = connection(&listener);
    near.write_all(&[1; 700]).unwrap();
    far.read_exact(&mut [0; 700]).unwrap();
    let (head, text) = exporter.said("/metrics", "Accept: application/openmetrics-text\r\n");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(text.ends_with("# EOF\n"));
    let (head, plain) = exporter.said("/metrics", "");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(!plain.contains("# EOF") && !plain.contains("# UNIT"));
    assert!(exporter.said("/", "").1.contains("href=\"metrics\""));
    assert!(exporter.said("/else", "").0.starts_with("HTTP/1.1 404 "));
    let evil = exporter.said("/metrics", "Origin: http://evil.example\r\n");
    assert!(evil.0.starts_with("HTTP/1.1 403 "), "{}", evil.0);
    let Some(python) = python("prometheus_client", test) else { return };
    for (kind, text) in [("openmetrics", &text), ("plain", &plain)] {
        let mut child = Command::new(&python)
            .args(["-c", PARSE, kind])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let (families, _, code) = told(&child.wait_with_output().unwrap());
        assert_eq!(code, 0, "{kind}: {text}");
        assert!(families.contains("windlass_tcp_limited_seconds counter"), "{families}");
        assert!(families.contains("windlass_tcp_rtt_seconds histogram"), "{families}");
        assert_eq!(families.lines().count(), 13, "{families}");
    }
    exporter.end();
}

/// The metrics of which a text speaks.
fn metrics(text: &str) -> BTreeSet<&str> {
    let is_part = |one: char| one.is_ascii_lowercase() || one == '_';
    let words = text.split(|one: char| !is_part(one));
    words.filter(|word| word.starts_with("windlass_tcp_")).collect()
}

/// The dashboard for Grafana and the alerts for Prometheus use existing metrics, and the guide
/// lists them all.
#[test]
fn the_dashboard_and_the_alerts_ask_for_what_there_is() {
    let (listener, port) = listener();
    let exporter = Exporter::start(&["--service", &format!("any={port}")]);
    let (near, far) = connection(&listener);
    // A look that is young enough serves several who ask.
    exporter.until("any", |samples| !samples.is_empty());
    let (_, text) = exporter.said("/metrics", "");
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let there: BTreeSet<&str> = samples.flat_map(metrics).collect();
    drop((near, far));
    let read = |file: &str| std::fs::read_to_string(repository(file)).unwrap();
    let dashboard = read("docs/exporter/dashboard.json");
    let panels: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = panels["panels"].as_array().unwrap();
    assert!(panels.iter().all(|panel| !panel["targets"].as_array().unwrap().is_empty()));
    for file in [&dashboard, &read("docs/exporter/alerts.yml")] {
        let asked = metrics(file);
        assert!(asked.len() > 1 && asked.is_subset(&there), "{asked:?} of {there:?}");
    }
    let guide = read("docs/exporter.md");
    let told = metrics(&guide);
    for metric in &there {
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| metric.strip_suffix(end));
        assert!(told.contains(family.unwrap_or(metric)), "{metric}");
    }
    exporter.end();
}

#[test]
fn prometheus_takes_the_alerts() {
    let test = "prometheus_takes_the_alerts";
    if !has("promtool", test) {
        return;
    }
    let file = repository("docs/exporter/alerts.yml");
    let output = Command::new("promtool").args(["check", "rules"]).arg(file).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("2 rules found"), "{stdout}");
}

#[test]
fn an_exporter_that_makes_no_sense_is_refused() {
    for (line, advice) in [
        ("exporter --service print", "as print=9100"),
        ("exporter --service print=9100 --service print=631", "the name print is given twice"),
        ("exporter --subnet office=10.0.0.0/40", "a subnet is written as"),
        ("exporter --service other=9100", "is reserved for the rest"),
    ] {
        let (stdout, stderr, code) = told(&run(line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}: {stderr}");
        assert!(stderr.contains(advice), "{line}: {stderr}");
    }
    let (_held, port) = listener();
    let (stdout, stderr, code) = told(&run(&format!("exporter --listen 127.0.0.1:{port}")));
    assert_eq!((stdout.as_str(), code), ("", 1), "{stderr}");
    assert!(stderr.contains("another address or port with --listen"), "{stderr}");
}
