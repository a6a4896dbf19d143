//! Sweeps of real paths: over emulated links in namespaces that the runs make,
//! and over the loopback.
//!
//! Both ends and the link share the processors of one machine, with whatever
//! else runs on it: bounds are wide.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use windlass_testkit::clock::{alone, at_once, in_real_time, kept_by_link};
use windlass_testkit::port::free_port;
use windlass_testkit::schema::checked;
use windlass_testkit::{has, skipped, told, windlass};

/// A command at the near end of a link, with windlass serve at the far one.
fn linked(link: &str, command: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_windlass");
    let mut windlass = windlass();
    windlass.args(["link", "--json", "--peer", &format!("'{program}' serve")]);
    if !link.contains("--report") {
        windlass.args(["--report", "/dev/null"]);
    }
    windlass.args(link.split_whitespace()).arg("--");
    let words = command.split_whitespace();
    windlass.args(words.map(|word| if word == "windlass" { program } else { word }));
    windlass
}

/// Returns whether links can be made here. If not, the test says that it is skipped.
fn links(test: &str) -> bool {
    let (_, stderr, code) = told(&linked("", "true").output().unwrap());
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
    }
    code == 0
}

/// The record of a sweep over a link, which keeps to its schema.
fn swept(link: &str, sweep: &str) -> Value {
    let command = format!("windlass sweep 192.0.2.2 --json {sweep}");
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("link.json");
    let link = format!("{link} --report {}", kept.display());
    let (stdout, stderr, code) = told(&linked(&link, &command).output().unwrap());
    let report = std::fs::read_to_string(kept).unwrap_or_default();
    kept_by_link(&serde_json::from_str(&report).unwrap_or_default());
    assert_eq!(code, 0, "{stderr}");
    checked("sweep", &stdout)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn windows(record: &Value) -> Vec<&Value> {
    let points = record["points"].as_array().unwrap();
    let alone = points.iter().filter(|point| point["streams"] == 1);
    alone.filter(|point| !point["window_bytes"].is_null()).collect()
}

fn at(record: &Value, bytes: u64, streams: u64) -> &Value {
    let points = record["points"].as_array().unwrap();
    let found =
        points.iter().find(|point| point["window_bytes"] == bytes && point["streams"] == streams);
    found.unwrap_or_else(|| panic!("{bytes} × {streams}: {record:#}"))
}

fn rate(point: &Value) -> f64 {
    number(&point["bits_per_second"])
}

/// Checks the shape over the paper's paths: a window per round trip below the knee, and at most the
/// link rate beyond.
fn has_a_knee(record: &Value, rtt: f64, line: f64) {
    let base = number(&record["base_rtt_seconds"]);
    assert!((0.98..1.3).contains(&(base / rtt)), "{base}");
    let recommended = number(&record["recommended_window_bytes"]);
    for point in windows(record) {
        let window = number(&point["window_bytes"]);
        let offered = number(&point["offered_window_bytes"]);
        assert!((0.65..1.05).contains(&(offered / window)), "{point:#}");
        if window < recommended / 2.0 {
            let law = offered * 8.0 / base;
            assert!((0.5..1.1).contains(&(rate(point) / law)), "{point:#}");
            assert_eq!(point["verdict"], "receiver-window", "{point:#}");
        }
        assert!(rate(point) < line, "{point:#}");
        assert!(number(&point["delivery_delay_seconds"]) >= 0.0);
        assert!(number(&point["cpu_seconds_per_gigabyte"]) > 0.0, "{point:#}");
    }
    let capacity = number(&record["capacity_bits_per_second"]);
    assert!((0.6..1.0).contains(&(capacity / line)), "{capacity}");
}

#[test]
fn over_100_mbit_s_and_2_45_ms_it_is_the_papers_window() {
    if !links("over_100_mbit_s_and_2_45_ms_it_is_the_papers_window") {
        return;
    }
    in_real_time("over_100_mbit_s_and_2_45_ms_it_is_the_papers_window", || {
        let sweep = "--direction up --time 500ms --streams 1,2 --congestion own";
        let record = swept("--rate 100mbit --rtt 2.45ms", sweep);
        has_a_knee(&record, 0.002_45, 100e6);
        let product = number(&record["bdp_bytes"]);
        assert!((0.95..1.05).contains(&(product / 31e3)), "{product} {record:#}");
        // Hosts are part of the round trip: what is as fast as the kernel by itself holds more,
        // and no window gives way for the paper's.
        let recommended = record["recommended_window_bytes"].as_u64().unwrap();
        assert!((1.0..2.2).contains(&(recommended as f64 / product)), "{recommended} {record:#}");
        let capacity = number(&record["capacity_bits_per_second"]);
        assert!(rate(at(&record, recommended, 1)) >= 0.97 * capacity, "{record:#}");
        assert_eq!(record["recommended_streams"], 1, "one stream of 56 kB fills it");
        let level = rate(at(&record, 128 << 10, 1)) / capacity;
        assert!(level >= 0.9, "a plateau: {level}");
        assert_eq!(record["plan"]["repeat"], 3);
        assert_eq!(record["path"]["address"], "192.0.2.2:5201");
    });
}

#[test]
fn over_1_gbit_s_and_2_55_ms_streams_of_56_kb_make_up_for_a_window() {
    if !links("over_1_gbit_s_and_2_55_ms_streams_of_56_kb_make_up_for_a_window") {
        return;
    }
    in_real_time("over_1_gbit_s_and_2_55_ms_streams_of_56_kb_make_up_for_a_window", || {
        // Ten streams take both processors: the median of three is not that of a
        // moment in which somebody else had one.
        let sweep = "--direction up --time 500ms --repeat 3 --streams 1,2,10 \
                     --congestion own";
        let record = swept("--rate 1gbit --rtt 2.55ms", sweep);
        has_a_knee(&record, 0.002_55, 1e9);
        // Two processors carry both ends and the link, and are part of the round trip.
        let recommended = number(&record["recommended_window_bytes"]);
        assert!((0.5..2.5).contains(&(recommended / 319e3)), "{recommended} {record:#}");
        let (one, two, ten) =
            (at(&record, 57_344, 1), at(&record, 57_344, 2), at(&record, 57_344, 10));
        assert!((0.5..1.05).contains(&(rate(one) / (57_344.0 * 8.0 / 0.002_55))), "{one:#}");
        assert!((1.4..2.6).contains(&(rate(two) / rate(one))), "{two:#}");
        let capacity = number(&record["capacity_bits_per_second"]);
        assert!(rate(ten) > 3.0 * rate(one) && rate(ten) > 0.75 * capacity, "{ten:#}");
    });
}

#[test]
fn over_500_mbit_s_and_20_ms_a_megabyte_is_enough() {
    if !links("over_500_mbit_s_and_20_ms_a_megabyte_is_enough") {
        return;
    }
    in_real_time("over_500_mbit_s_and_20_ms_a_megabyte_is_enough", || {
        let sweep = "--direction up --time 2s --repeat 1 --windows 512k..4m --streams 1 \
                     --congestion own --within 30s";
        let record = swept("--rate 500mbit --rtt 20ms", sweep);
        has_a_knee(&record, 0.02, 500e6);
        let recommended = record["recommended_window_bytes"].as_u64().unwrap();
        assert!((700_000..2_100_000).contains(&recommended), "{recommended} {record:#}");
        let chosen = at(&record, recommended, 1);
        let four = at(&record, 4 << 20, 1);
        assert!((0.75..1.3).contains(&(rate(four) / rate(chosen))), "{four:#}");
        let rtt = |point: &Value| number(&point["rtt_seconds"]);
        assert!(rtt(four) > rtt(chosen), "{chosen:#} {four:#}");
        let reason = record["directions"][0]["window_reason"].as_str().unwrap();
        assert!(reason.contains("the RTT rises"), "{reason}");
    });
}

#[test]
fn a_simulated_path_and_the_emulated_one_want_the_same_window() {
    if !links("a_simulated_path_and_the_emulated_one_want_the_same_window") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    in_real_time("a_simulated_path_and_the_emulated_one_want_the_same_window", || {
        at_once(&[(20.0, 20.0), (60.0, 8.0)], |(mbit, rtt)| {
            // A simulated line has Ethernet's framing, an emulated one none.
            let line = mbit * 1_538.0 / 1_500.0;
            let file = folder.path().join(format!("{mbit}.toml"));
            let text = format!(
                "title = \"x\"\nshows = \"x\"\n[[hop]]\nrate = \"{line:.3} Mb/s\"\n\
                 delay = \"{} ms\"\n",
                rtt / 2.0
            );
            std::fs::write(&file, text).unwrap();
            let plan = "--direction up --streams 1 --congestion cubic";
            let simulate = format!("sweep --json {plan} --simulate {}", file.display());
            let (stdout, stderr, code) = told(&windlass_testkit::run(&simulate));
            assert_eq!(code, 0, "{stderr}");
            let simulated = checked("sweep", &stdout);
            let link = format!("--rate {mbit}mbit --rtt {rtt}ms");
            let real = swept(&link, &format!("{plan} --within 15s"));
            let window = |record: &Value| number(&record["recommended_window_bytes"]);
            // Half an octave is the stride of the search.
            let ratio = window(&real) / window(&simulated);
            assert!((1.0 / 1.45..1.45).contains(&ratio), "{ratio}: {real:#} {simulated:#}");
            let rate = |record: &Value| {
                number(&record["directions"][0]["recommendation"]["bits_per_second"])
            };
            let ratio = rate(&real) / rate(&simulated);
            assert!((0.94..1.06).contains(&ratio), "{ratio}: {real:#} {simulated:#}");
        });
    });
}

#[test]
fn what_is_recommended_is_no_slower_than_the_kernel_by_itself() {
    let test = "what_is_recommended_is_no_slower_than_the_kernel_by_itself";
    if !links(test) {
        return;
    }
    in_real_time(test, || {
        let links = ["--rate 20mbit --rtt 20ms --queue 1m", "--rate 10mbit --rtt 60ms --loss 0.5%"];
        at_once(&links, |link| {
            let record = swept(link, "--direction up --within 25s");
            let way = &record["directions"][0];
            let chosen = &way["recommendation"];
            let own = number(&chosen["autotuned_bits_per_second"]);
            assert!(number(&chosen["bits_per_second"]) >= 0.97 * own, "{record:#}");
            let capacity = number(&way["capacity_bits_per_second"]);
            let line = if link.contains("20mbit") { 20e6 } else { 10e6 };
            assert!((0.9..1.0).contains(&(capacity / line)), "{capacity}: {link}");
            assert!(number(&record["spent_seconds"]) <= 25.0, "{record:#}");
            let summary = record["summary"][0].as_str().unwrap();
            assert!(summary.starts_with("192.0.2.2, up: "), "{summary}");
        });
    });
}

#[test]
fn a_stock_iperf3_is_swept_against() {
    let test = "a_stock_iperf3_is_swept_against";
    if !links(test) || !has("iperf3", test) {
        return;
    }
    in_real_time(test, || {
        let mut link = windlass();
        link.args(["link", "--report", "/dev/null", "--rate", "20mbit", "--rtt", "10ms"]);
        // A stock server takes a moment until it listens: a first test finds out.
        let script = "for _ in $(seq 100); do \
                      \"$0\" send 192.0.2.2 --protocol iperf3 --bytes 1k >/dev/null 2>&1 && break; \
                      done; exec \"$0\" sweep 192.0.2.2 --protocol iperf3 --json --repeat 1 \
                      --windows 8k,64k --streams 1 --stream-window 64k --congestion own \
                      --time 1s";
        link.args(["--peer", "exec iperf3 -s >/dev/null 2>&1", "--", "sh", "-c", script]);
        link.arg(env!("CARGO_BIN_EXE_windlass"));
        let (stdout, stderr, code) = told(&link.output().unwrap());
        assert_eq!(code, 0, "{stderr}");
        let record = checked("sweep", &stdout);
        for way in ["up", "down"] {
            let own = record["points"].as_array().unwrap().iter();
            let own: Vec<&Value> = own.filter(|point| point["direction"] == way).collect();
            let rates: Vec<f64> = own.iter().map(|point| rate(point)).collect();
            // By itself, with 8 KiB, and with 64 KiB.
            assert_eq!(rates.len(), 3, "{record:#}");
            assert!(rates[0] > 15e6 && rates[2] > 15e6, "{rates:?}");
            assert!(rates[1] < 0.8 * rates[2], "{rates:?}");
        }
    });
}

#[test]
fn both_directions_are_measured_and_a_sweep_goes_on_where_it_stopped() {
    let test = "both_directions_are_measured_and_a_sweep_goes_on_where_it_stopped";
    if !links(test) || !has("timeout", test) {
        return;
    }
    in_real_time("both_directions_are_measured_and_a_sweep_goes_on_where_it_stopped", || {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state.jsonl");
        let link = "--up-rate 50mbit --down-rate 10mbit --rtt 5ms";
        let sweep = format!(
            "--windows 8k,32k,64k --streams 1 --stream-window 64k --congestion own --repeat 2 \
             --time 300ms --state {}",
            state.display()
        );
        let command = format!("timeout --foreground -s INT 1.5 windlass sweep 192.0.2.2 {sweep}");
        let (_, stderr, code) = told(&linked(link, &command).output().unwrap());
        assert_eq!(code, 1, "timeout says 124: {stderr}");
        assert!(stderr.contains(": interrupted after"), "{stderr}");
        let kept = std::fs::read_to_string(&state).unwrap();
        let done = kept.lines().count() - 1;
        assert!((1..16).contains(&done), "{kept}");
        let record = swept(link, &sweep);
        // Three windows and what the kernel does by itself, each twice, both ways.
        assert_eq!(record["measurements"], 16);
        assert!(
            std::fs::read_to_string(&state).unwrap().starts_with(&kept),
            "nothing is done twice"
        );
        let capacity = |way: usize| number(&record["directions"][way]["capacity_bits_per_second"]);
        assert!(
            (30e6..50e6).contains(&capacity(0)) && (6e6..10e6).contains(&capacity(1)),
            "{record:#}"
        );
        assert_eq!(record["directions"][1]["direction"], "down");
        // Another path is another sweep.
        let command = format!("windlass sweep 2001:db8::2 {sweep}");
        let (stdout, stderr, code) = told(&linked(link, &command).output().unwrap());
        assert_eq!((stdout.as_str(), code), ("", 1));
        assert!(stderr.contains("path.host was \"192.0.2.2\""), "{stderr}");
    });
}

/// A server on the loopback that is ended when this goes.
struct WindlassServer {
    child: Child,
    port: String,
}

impl WindlassServer {
    fn start(options: &[&str]) -> Self {
        let mut command = windlass();
        command.args(["serve", "--bind", "127.0.0.1", "--port", "0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let port = first.trim().rsplit(':').next().unwrap().to_owned();
        // Nobody reads what it says from here on, but it goes on saying it.
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        Self { child, port }
    }
}

impl Drop for WindlassServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn to(serving: &WindlassServer, sweep: &str) -> Command {
    let mut command = windlass();
    command.args(["sweep", "127.0.0.1", "--port", &serving.port]);
    command.args(sweep.split_whitespace());
    command
}

#[test]
fn a_server_that_goes_away_takes_nothing_with_it() {
    let _alone = alone();
    let mut serving = WindlassServer::start(&[]);
    // Much more than can be measured until the server goes.
    let sweep = "--windows 64k,128k,256k --streams 1 --time 400ms --repeat 99 --direction up \
                 --json";
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.jsonl");
    let mut command = to(&serving, sweep);
    command.arg("--state").arg(&state).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // Behind what was asked for is the first that was measured.
    let lines = || std::fs::read_to_string(&state).map_or(0, |text| text.lines().count());
    let began = std::time::Instant::now();
    while lines() < 2 {
        assert!(began.elapsed().as_secs() < 60, "nothing is measured");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    serving.child.kill().unwrap();
    let (stdout, stderr, code) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.starts_with("error: cannot sweep the path to 127.0.0.1: "), "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(record["complete"], false);
    assert!(!record["points"].as_array().unwrap().is_empty());
}

#[test]
fn who_does_not_answer_is_named() {
    let port = free_port().to_string();
    let output = windlass().args(["sweep", "127.0.0.1", "--port", &port]).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("cannot sweep the path to 127.0.0.1"), "{stderr}");
    assert!(stderr.contains("Start windlass serve on the host"), "{stderr}");
    let (_, stderr, code) =
        told(&windlass().args(["sweep", "no.such.host.invalid"]).output().unwrap());
    assert_eq!(code, 1);
    assert!(stderr.contains("no.such.host.invalid"), "{stderr}");
}

#[test]
fn a_server_with_a_token_wants_it() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "open sesame, or something as long\n").unwrap();
    let serving = WindlassServer::start(&["--token-file", token.to_str().unwrap()]);
    let sweep = "--windows 64k --streams 1 --stream-window 64k --time 100ms --repeat 1";
    let (_, stderr, code) = told(&to(&serving, sweep).output().unwrap());
    assert_eq!(code, 1);
    assert!(stderr.contains("--token-file"), "{stderr}");
    let output = to(&serving, sweep).arg("--token-file").arg(&token).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(
        stdout.contains("Recommendation, up") && stdout.contains("Recommendation, down"),
        "{stdout}"
    );
}

#[test]
fn a_host_and_a_scenario_are_one_too_many() {
    let lines = [
        ("sweep", "required"),
        ("sweep localhost --simulate gigabit", "cannot be used with"),
        ("sweep localhost --seed 1", "cannot be used with"),
        ("sweep --simulate gigabit --port 1", "cannot be used with"),
        ("sweep localhost --port 0", "1..=65535"),
    ];
    for (line, why) in lines {
        let (stdout, stderr, code) = told(&windlass_testkit::run(line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}");
        assert!(stderr.contains(why), "{line}: {stderr}");
    }
}
