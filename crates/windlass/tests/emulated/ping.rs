//! `windlass ping`: on the loopback, and over emulated links in namespaces that
//! the runs make. No test measures speed: bounds on time are wide, and
//! `cargo bench -p windlass --bench ping` measures.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;
use windlass::commands::watched::WatchedRecord;
use windlass_base::{Bytes, Quantiles, Span};
use windlass_drive::Error;
use windlass_drive::ping::buckets::Bucket;
use windlass_drive::ping::report::PingReport;
use windlass_drive::ping::{Connection, Kind, PingResults, Placement, Socket};
use windlass_host::CurrentRun;
use windlass_output::Format;

use windlass_testkit::clock::in_real_time;
use windlass_testkit::figures::{figures, missing};
use windlass_testkit::port::free_port;
use windlass_testkit::printed::printed;
use windlass_testkit::{copy_program, has, run, schema, skipped, told, windlass};

/// A report that keeps to its schema.
fn checked(text: &str) -> Value {
    schema::checked("ping", text)
}

/// The report of a run that ends with this exit code.
fn pinged(line: &str, code: i32) -> Value {
    let (stdout, stderr, ended) = told(&run(&format!("ping --json {line}")));
    assert_eq!(ended, code, "{line}: {stdout}{stderr}");
    checked(&stdout)
}

fn number(record: &Value, pointer: &str) -> f64 {
    let found = record.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {record:#}"))
}

/// A listener that takes connections and leaves them alone.
fn listening() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().for_each(drop));
    port
}

/// A port whose connections go on to another, and how many bytes came back.
fn forwarder(to: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (port, back) = (listener.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&back);
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { continue };
            let (mut from, mut there) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from, &mut there));
            let (mut near, mut far, counted) = (near, far, Arc::clone(&counted));
            thread::spawn(move || {
                let mut some = [0; 4_096];
                while let Ok(got @ 1..) = far.read(&mut some) {
                    if near.write_all(&some[..got]).is_err() {
                        break;
                    }
                    counted.fetch_add(got, Ordering::Relaxed);
                }
                near.shutdown(Shutdown::Both)
            });
        }
    });
    (port, back)
}

/// Waits until something holds.
fn wait_for(holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(60), "it does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// `windlass serve` on a port of its own.
struct WindlassServer {
    child: Child,
    port: u16,
}

impl WindlassServer {
    fn start(more: &[&str]) -> Self {
        let port = free_port();
        let mut child = windlass()
            .args(["serve", "--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Its first line says that it listens.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains(&port.to_string()), "{line}");
        Self { child, port }
    }
}

impl Drop for WindlassServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn handshakes_are_counted_and_timed() {
    let port = listening();
    let report = pinged(&format!("127.0.0.1:{port} --count 50 --rate flood --warmup 3"), 0);
    assert_eq!(report["kind"], "connect");
    assert_eq!((number(&report, "/sent"), number(&report, "/answered")), (50.0, 50.0));
    assert_eq!((number(&report, "/warmup"), number(&report, "/loss")), (3.0, 0.0));
    assert_eq!(number(&report, "/port"), f64::from(port));
    let of = |name: &str| number(&report, &format!("/trip_seconds/{name}"));
    assert!(of("min") > 0.0 && of("min") <= of("p50") && of("p50") <= of("p90"));
    assert!(of("p90") <= of("max") && of("min") <= of("mean") && of("mean") <= of("max"));
    assert_eq!(report["trip_seconds"]["p99"], Value::Null, "of 50 there is none");
    assert!(!report["client"]["cpus"].as_array().unwrap().is_empty());
}

#[test]
fn each_request_that_counts_is_a_row_of_the_samples() {
    let port = listening();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trips.csv");
    let line =
        format!("127.0.0.1:{port} --count 40 --rate 2000 --warmup 5 --samples {}", file.display());
    let report = pinged(&line, 0);
    let text = fs::read_to_string(&file).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["number", "begin_seconds", "trip_seconds", "outcome", "resent"]);
    assert_eq!(rows.len(), 41, "what is for warm-up does not count: {text}");
    let column =
        |at: usize| -> Vec<f64> { rows[1..].iter().map(|row| row[at].parse().unwrap()).collect() };
    assert_eq!(column(0), (1..=40).map(f64::from).collect::<Vec<_>>());
    assert!(column(1).is_sorted_by(|one, next| one < next), "{text}");
    assert!(rows[1..].iter().all(|row| row[3] == "answered" && row[4] == "false"), "{text}");
    // They are what the report's figures come from.
    let trips = column(2);
    let mean = trips.iter().sum::<f64>() / 40.0;
    let variance = trips.iter().map(|trip| (trip - mean).powi(2)).sum::<f64>() / 39.0;
    let near = |found: f64, pointer: &str| {
        let told = number(&report, pointer);
        assert!((found - told).abs() < 2e-9, "{pointer}: {found} and {told}");
    };
    near(mean, "/trip_seconds/mean");
    near(variance.sqrt(), "/deviation_seconds");
    near(trips.iter().copied().fold(0.0, f64::max), "/trip_seconds/max");
    // What nobody can write is told before anything is asked.
    let line = format!("ping 127.0.0.1:{port} --samples {}/no/such.csv", folder.path().display());
    let (stdout, stderr, code) = told(&run(&line));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("cannot write the samples to"), "{stderr}");
}

#[test]
fn a_refusal_is_an_answer_and_is_told_apart() {
    let port = free_port();
    let report = pinged(&format!("127.0.0.1:{port} --count 3 --rate flood"), 1);
    assert_eq!((number(&report, "/answered"), number(&report, "/refused")), (3.0, 3.0));
    let (stdout, stderr, code) = told(&run(&format!("ping 127.0.0.1:{port} --count 2 -i 100ms")));
    let why = format!("each connection was refused: nothing listens on port {port}");
    assert!(stderr.contains(&why) && code == 1, "{stderr}");
    assert_eq!(stdout.matches(", refused\n").count(), 3, "one is for warm-up: {stdout}");
    assert!(stdout.contains("answered  2, 2 of them refused\n"), "{stdout}");
    assert!(stdout.contains(", refused\n\nTCP handshakes with"), "{stdout}");
    // The reports of slow requests come as they are made, the rest at the end.
    let first = stdout.lines().next().unwrap();
    assert_eq!(first, format!("asking 127.0.0.1:{port} every 100 ms"));
}

#[test]
fn requests_are_answered_by_serve() {
    let serving = WindlassServer::start(&[]);
    let to = format!("127.0.0.1:{} --latency --count 200", serving.port);
    let report = pinged(&format!("{to} --histogram 7 --cpu 0"), 0);
    assert_eq!((number(&report, "/answered"), number(&report, "/loss")), (200.0, 0.0));
    assert_eq!(
        (number(&report, "/request_bytes"), number(&report, "/response_bytes")),
        (64.0, 64.0)
    );
    assert_eq!(number(&report, "/pinned_cpu"), 0.0);
    assert_eq!(report["client"], serde_json::json!({ "cpus": [0], "moves": 0 }));
    assert!(!report["server"]["cpus"].as_array().unwrap().is_empty());
    assert_eq!(number(&report, "/connection/retransmissions"), 0.0);
    let buckets = report["histogram"].as_array().unwrap();
    let counted: u64 = buckets.iter().map(|bucket| bucket["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, 200);
    let report = pinged(&format!("{to} --size 1 --response 100k --asleep --rate 10000"), 0);
    assert_eq!(number(&report, "/response_bytes"), 102_400.0);
    assert_eq!(number(&report, "/interval_seconds"), 1e-4);
    assert_eq!(report["asleep"], true);
    assert_eq!(report["server_asleep"], true, "it sleeps where this end does");
    let report = pinged(&format!("{to} --response 3"), 0);
    assert_eq!(report["server"], Value::Null, "so short an answer has no room for it");
    let report = pinged(&format!("127.0.0.1:{} --latency --time 50ms", serving.port), 0);
    assert!((0.0..10.0).contains(&number(&report, "/seconds")), "{report}");
}

#[test]
fn datagrams_are_answered_by_serve() {
    let serving = WindlassServer::start(&[]);
    let to = format!("127.0.0.1:{} --udp --count 200", serving.port);
    let report = pinged(&format!("{to} --histogram 7 --cpu 0"), 0);
    assert_eq!((number(&report, "/answered"), number(&report, "/loss")), (200.0, 0.0));
    assert_eq!(
        (number(&report, "/request_bytes"), number(&report, "/response_bytes")),
        (64.0, 64.0)
    );
    assert_eq!((number(&report, "/late"), number(&report, "/repeated")), (0.0, 0.0));
    assert_eq!((report["kind"].as_str(), &report["connection"]), (Some("udp"), &Value::Null));
    assert!(!report["server"]["cpus"].as_array().unwrap().is_empty());
    let report = pinged(&format!("{to} --size 8 --response 60000 --asleep --rate 10000"), 0);
    assert_eq!((number(&report, "/answered"), number(&report, "/response_bytes")), (200.0, 6e4));
    let report = pinged(&format!("{to} --response 11"), 0);
    assert_eq!(report["server"], Value::Null, "so short an answer has no room for it");
    // Several at once have flows of their own.
    thread::scope(|scope| {
        for _ in 0..4 {
            let to = &to;
            scope.spawn(move || assert_eq!(number(&pinged(to, 0), "/answered"), 200.0));
        }
    });
}

/// Of a request whose answer does not come it is not known which of both was lost; those of all
/// together the link counts.
#[test]
fn datagrams_that_are_lost_are_counted() {
    let test = "datagrams_that_are_lost_are_counted";
    let folder = tempfile::tempdir().unwrap();
    let (file, samples) = (folder.path().join("link.json"), folder.path().join("trips.csv"));
    let program = env!("CARGO_BIN_EXE_windlass");
    let asked = "192.0.2.2 --udp --json --count 600 --warmup 0 --rate flood --timeout 20ms";
    let output = windlass()
        .args(["link", "--json", "--rtt", "2ms", "--loss", "10%", "--report"])
        .arg(&file)
        .args(["--peer", &format!("'{program}' serve"), "--", program, "ping"])
        .args(asked.split_whitespace())
        .arg("--samples")
        .arg(&samples)
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&output);
    if code != 0 && stdout.is_empty() {
        return skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
    }
    let report = checked(&stdout);
    let link: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let gave = number(&link, "/up/lost") + number(&link, "/down/lost");
    // One that came late was not lost. Beside them the words before the first were, some.
    let lost = number(&report, "/silent") - number(&report, "/late");
    assert!(lost > 60.0, "{report}");
    // The answers to the last requests may come when nobody waits any more. The link keeps their
    // order, so what was asked before one that was answered has come or is lost.
    let samples = fs::read_to_string(samples).unwrap();
    let silent = |row: &&str| row.split(',').nth(3) == Some("silent");
    let unknown = samples.lines().rev().take_while(silent).count() as f64;
    assert!((gave - 25.0..=gave + unknown).contains(&lost), "{lost} of {gave}: {report}{samples}");
    assert_eq!(number(&report, "/answered") + number(&report, "/silent"), 600.0);
}

#[test]
fn the_token_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "sesame\n").unwrap();
    let file = file.to_str().unwrap();
    let serving = WindlassServer::start(&["--token-file", file]);
    for how in ["--latency", "--udp"] {
        let line = format!("ping 127.0.0.1:{} {how} --count 5", serving.port);
        let (stdout, stderr, code) = told(&run(&line));
        assert_eq!((stdout.as_str(), code), ("", 1));
        let advice = stderr.contains("asks for a token") && stderr.contains("--token-file");
        assert!(advice, "{stderr}");
        let (_, stderr, code) = told(&run(&format!("{line} --token-file {file}")));
        assert_eq!((stderr.as_str(), code), ("", 0));
    }
}

#[test]
fn a_server_that_goes_leaves_what_was_measured() {
    let mut serving = WindlassServer::start(&[]);
    let (port, answered) = forwarder(serving.port);
    let line = format!("127.0.0.1:{port} --latency --rate 100 --time 1h --json");
    let ping = windlass()
        .arg("ping")
        .args(line.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    // Of the greetings, and some answers of 64 B.
    wait_for(|| answered.load(Ordering::Relaxed) > 2_000);
    serving.child.kill().unwrap();
    let (stdout, stderr, code) = told(&ping.unwrap().wait_with_output().unwrap());
    assert_eq!(code, 1);
    assert!(stderr.contains("the other end closed the connection"), "{stderr}");
    let report = checked(&stdout);
    assert!(number(&report, "/answered") > 0.0);
    assert!(report["failure"].as_str().unwrap().contains("closed the connection"), "{report}");
}

#[test]
fn what_is_stopped_tells_what_it_has() {
    for (signal, line) in [("INT", ""), ("TERM", " --json")] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let line = format!("127.0.0.1:{port} --rate 20 --count 100000{line}");
        let ping = windlass()
            .arg("ping")
            .args(line.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One is for warm-up, and the last may be under way.
        (0..4).for_each(|_| drop(listener.accept().unwrap()));
        let id = ping.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let (stdout, stderr, code) = told(&ping.wait_with_output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0), "something was answered");
        if signal == "INT" {
            assert!(stdout.contains("stopped before its end"), "{stdout}");
        } else {
            let report = checked(&stdout);
            assert_eq!(report["interrupted"], true);
            assert!(number(&report, "/answered") > 0.0);
        }
    }
}

#[test]
fn nothing_listens_for_requests() {
    let line = format!("ping 127.0.0.1:{} --latency", free_port());
    let (stdout, stderr, code) = told(&run(&line));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(
        stderr.contains("Connection refused") && stderr.contains("Start windlass serve"),
        "{stderr}"
    );
    // Something else does: it says nothing of windlass.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = thread::spawn(move || {
        let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
        stream.write_all(b"220 mail.example ESMTP\r\n").unwrap();
        // Read to its end: a reset would take the greeting away.
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    });
    let (_, stderr, code) = told(&run(&format!("ping 127.0.0.1:{port} --latency")));
    assert_eq!(code, 1);
    assert!(stderr.contains("violates the protocol"), "{stderr}");
    assert!(stderr.contains("windlass serve is the program"), "{stderr}");
    other.join().unwrap();
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (line, said) in [
        ("", "HOST[:PORT]"),
        ("localhost:http", "`http` is not a port"),
        ("localhost:80 --icmp", "ICMP has no ports"),
        ("localhost:80 --size 100", "a TCP handshake carries no data"),
        ("localhost --size 100000", "an echo's data has at most 65,507 B"),
        ("localhost:80 --latency --size 2M", "a request has at most 1,048,576 B"),
        ("localhost:80 --latency --response 2M", "an answer has at most 1,048,576 B"),
        ("localhost:80 --latency --interval 1min", "at most 30 s"),
        ("localhost:80 --response 100", "--latency"),
        ("localhost:80 --latency --icmp", "cannot be used with"),
        ("localhost:80 --rate 5 --interval 1s", "cannot be used with"),
        ("localhost:80 -4 -6", "cannot be used with"),
        ("localhost:80 --count 0", "0 is not in 1.."),
        ("localhost:80 --rate fast", "or `flood`"),
        ("localhost:80 --histogram 2ms,1ms", "larger than the one before"),
        ("localhost:80 --interval 1ns", "an interval is at least 1 µs"),
        ("localhost:80 --interval 5x", "write a time with its unit"),
    ] {
        let (stdout, stderr, code) = told(&run(&format!("ping {line}")));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}: {stderr}");
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
    for (line, said) in [
        ("no-such-host.invalid", "cannot find no-such-host.invalid: "),
        ("fe80::1", "cannot ping fe80::1: "),
        ("127.0.0.1 -6", "it has no IPv6 address"),
        ("[::1]:80 -4", "it has no IPv4 address"),
        ("127.0.0.1:80 --cpu 9999", "cannot run on processor 9999: "),
        ("127.0.0.1:80 -l --token-file /no/such/file", "cannot read the token in /no/such/file"),
    ] {
        let (stdout, stderr, code) = told(&run(&format!("ping {line}")));
        assert_eq!((stdout.as_str(), code), ("", 1), "{line}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains("tip: "), "{line}: {stderr}");
        assert!(!stderr.contains("port 0"), "{line}: {stderr}");
    }
}

#[test]
fn who_reads_no_more_is_not_told() {
    let port = listening();
    let line = format!("127.0.0.1:{port} --interval 100ms --count 1000");
    let mut ping = windlass()
        .arg("ping")
        .args(line.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(ping.stdout.take().unwrap()).read_line(&mut first).unwrap();
    // It ends long before its 100 s, and quietly.
    let (_, stderr, code) = told(&ping.wait_with_output().unwrap());
    assert_eq!((stderr.as_str(), code), ("", 0));
}

/// Runs a line of shell at the near end of a link, in which PING is `windlass
/// ping`; its output and exit code. Nothing where links cannot be made, which
/// the test then says.
fn over_link(link: &[&str], shell: &str, test: &str) -> Option<(String, String, i32)> {
    let (_, stderr, code) = told(&windlass().args(["link", "--", "true"]).output().unwrap());
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let ping = format!("{} ping", env!("CARGO_BIN_EXE_windlass"));
    let output = windlass()
        .arg("link")
        .args(link)
        .arg("--report")
        .arg(folder.path().join("link"))
        .args(["--", "sh", "-c", &shell.replace("PING", &ping)])
        .output()
        .unwrap();
    Some(told(&output))
}

#[test]
fn every_kind_takes_the_round_trip() {
    let test = "every_kind_takes_the_round_trip";
    let serve = format!("{} serve", env!("CARGO_BIN_EXE_windlass"));
    for (address, with_port) in
        [("192.0.2.2", "192.0.2.2:5201"), ("2001:db8::2", "[2001:db8::2]:5201")]
    {
        let served = ["--latency", "--udp"].map(|how| format!("{address} {how}"));
        for asked in [address, with_port, &served[0], &served[1]] {
            let link = ["--rtt", "20ms", "--peer-wait", "10s", "--peer", &serve];
            // Of so many the least is the path's, however busy the machine is.
            let shell = format!("PING {asked} --json --count 40 --rate flood");
            let Some((stdout, stderr, code)) = over_link(&link, &shell, test) else { return };
            assert_eq!(code, 0, "{asked}: {stdout}{stderr}");
            let report = checked(&stdout);
            assert_eq!(number(&report, "/answered"), 40.0);
            let least = number(&report, "/trip_seconds/min");
            assert!((0.020..0.025).contains(&least), "{asked}: {least}");
        }
    }
}

#[test]
fn the_harmless_socket_is_taken_where_it_is_allowed() {
    let test = "the_harmless_socket_is_taken_where_it_is_allowed";
    let allow = "echo '0 0' > /proc/sys/net/ipv4/ping_group_range";
    for address in ["192.0.2.2", "2001:db8::2"] {
        let shell = format!("{allow} || exit 3; PING {address} --json --count 3 --rate flood");
        let Some((stdout, stderr, code)) = over_link(&["--rtt", "5ms"], &shell, test) else {
            return;
        };
        if code != 0 && stdout.is_empty() {
            return skipped(test, stderr.lines().next().unwrap_or("it cannot be allowed"));
        }
        let report = checked(&stdout);
        assert_eq!((report["socket"].as_str(), number(&report, "/answered")), (Some("ping"), 3.0));
        assert!(number(&report, "/trip_seconds/min") >= 0.005);
    }
}

#[test]
fn what_is_lost_is_counted() {
    let test = "what_is_lost_is_counted";
    for asked in ["192.0.2.2", "192.0.2.2:80"] {
        let shell = format!("PING {asked} --json --count 3 --rate flood --timeout 50ms");
        let Some((stdout, stderr, code)) = over_link(&["--down-loss", "100%"], &shell, test) else {
            return;
        };
        assert_eq!(code, 1, "{stdout}");
        assert!(stderr.contains(&format!("cannot ping {asked}: nothing answered")), "{stderr}");
        let report = checked(&stdout);
        assert_eq!((number(&report, "/silent"), number(&report, "/loss")), (3.0, 1.0));
        assert_eq!(report["trip_seconds"], Value::Null);
    }
    // There is no other way out of the link.
    for asked in ["203.0.113.1", "203.0.113.1:80", "2001:db8:1::1", "[2001:db8:1::1]:80"] {
        let shell = format!("PING {asked} --json --count 2 --rate flood");
        let Some((stdout, stderr, code)) = over_link(&[], &shell, test) else { return };
        assert_eq!(code, 1, "{stdout}");
        assert!(stderr.contains("Network is unreachable"), "{asked}: {stderr}");
        assert_eq!(number(&checked(&stdout), "/unreachable"), 2.0);
    }
}

#[test]
fn a_report_from_the_way_names_who_says_so() {
    let test = "a_report_from_the_way_names_who_says_so";
    // The peer has a route for this address, which says no. That it listens says so.
    let serve = env!("CARGO_BIN_EXE_windlass");
    let peer = format!("ip route add unreachable 198.51.100.1; exec '{serve}' serve");
    let route = "ip route add 198.51.100.1 via 192.0.2.2";
    if !has("ip", test) {
        return;
    }
    let forward = format!("echo 1 > /proc/sys/net/ipv4/ip_forward; {peer}");
    let link = ["--rtt", "5ms", "--peer-wait", "60s", "--peer", &forward];
    let shell = format!("{route} || exit 3; PING 198.51.100.1 --json --count 1 --timeout 5s");
    let Some((stdout, stderr, code)) = over_link(&link, &shell, test) else { return };
    if stdout.is_empty() {
        return skipped(test, stderr.lines().next().unwrap_or("no route can be set"));
    }
    assert_eq!(code, 1, "{stdout}");
    assert!(stderr.contains("No route to host, says 192.0.2.2"), "{stderr}");
    assert_eq!(number(&checked(&stdout), "/unreachable"), 1.0);
}

#[test]
fn answers_that_come_after_all_are_not_the_next_ones() {
    let test = "answers_that_come_after_all_are_not_the_next_ones";
    let shell = "PING 192.0.2.2 --json --count 5 --warmup 0 --interval 20ms --timeout 30ms";
    let late = || {
        let (stdout, _, code) = over_link(&["--rtt", "50ms"], shell, test)?;
        assert_eq!(code, 1, "{stdout}");
        let report = checked(&stdout);
        assert_eq!((number(&report, "/silent"), number(&report, "/answered")), (5.0, 0.0));
        Some(number(&report, "/late"))
    };
    if late().is_none() {
        return;
    }
    in_real_time(test, || {
        // Those of the last one or two are not waited for.
        let late = late().unwrap();
        assert!((2.0..=4.0).contains(&late), "{late}");
    });
}

#[test]
fn a_syn_that_is_sent_again_is_told() {
    let test = "a_syn_that_is_sent_again_is_told";
    let serve = format!("{} serve", env!("CARGO_BIN_EXE_windlass"));
    // With this seed some of them get lost and some do not. A refusal has its
    // SYN as well. Most of the time is spent waiting, so both wait at once.
    let runs = ["5201", "80"].map(|port| {
        let serve = serve.clone();
        thread::spawn(move || {
            let link = ["--up-loss", "30%", "--seed", "3", "--peer-wait", "10s", "--peer", &serve];
            let ping = "--json --count 12 --rate flood --timeout 20s";
            over_link(&link, &format!("PING 192.0.2.2:{port} {ping}"), test)
        })
    });
    for (run, wanted) in runs.into_iter().zip([0, 1]) {
        let Some((stdout, stderr, code)) = run.join().unwrap() else { continue };
        assert_eq!(code, wanted, "{stdout}{stderr}");
        let report = checked(&stdout);
        let (answered, resent) = (number(&report, "/answered"), number(&report, "/resent"));
        assert_eq!(answered, 12.0);
        assert!(resent > 0.0 && resent < 12.0, "{report}");
        // Linux waits for a second before it sends a SYN again (RFC 6298).
        assert!(number(&report, "/trip_seconds/max") >= 1.0);
        assert!(number(&report, "/trip_seconds/min") < 1.0);
    }
}

/// The user who may do nothing.
const NOBODY: u32 = 65_534;

#[test]
fn who_may_not_ask_for_echoes_learns_how_to() {
    let test = "who_may_not_ask_for_echoes_learns_how_to";
    let folder = tempfile::tempdir().unwrap();
    // Nobody may see this folder otherwise.
    let program = folder.path().join("windlass");
    copy_program(env!("CARGO_BIN_EXE_windlass"), &program);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    let ping = Command::new(&program)
        .args(["ping", "127.0.0.1", "--count", "1"])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    let output = match ping {
        Ok(output) => output,
        Err(error) => return skipped(test, &format!("cannot become another user: {error}")),
    };
    let (stdout, stderr, code) = told(&output);
    if code == 0 {
        return skipped(test, "this system lets everybody ask for echoes");
    }
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("cannot open an ICMP socket"), "{stderr}");
    assert!(stderr.contains("net.ipv4.ping_group_range"), "{stderr}");
}

/// A report in which no two figures are alike.
fn example(kind: Kind) -> PingReport {
    let is = |of: Kind| kind == of;
    let micros = Span::from_micros;
    let bucket = |from, to: Option<i64>, count| Bucket {
        from_seconds: micros(from),
        to_seconds: to.map(micros),
        count,
    };
    let placement =
        |cpus: &[u32], moves| Placement { cpus: cpus.to_vec(), moves, ..Placement::default() };
    let measured = PingResults {
        kind,
        warmup: 11,
        sent: 1_287,
        answered: 1_241,
        refused: if is(Kind::Connect) { 29 } else { 0 },
        unreachable: 5,
        silent: 41,
        loss: 46.0 / 1_287.0,
        resent: is(Kind::Connect).then_some(17),
        altered: is(Kind::Icmp).then_some(13),
        late: (is(Kind::Icmp) || is(Kind::Udp)).then_some(19),
        repeated: (is(Kind::Icmp) || is(Kind::Udp)).then_some(23),
        seconds: micros(98_300_000),
        deviation_seconds: Some(micros(2_870)),
        trip_seconds: Some(Quantiles {
            count: 1_241,
            min: micros(20_300),
            mean: micros(21_700),
            p50: micros(21_200),
            p90: Some(micros(24_400)),
            p99: Some(micros(31_500)),
            p99_9: Some(micros(47_600)),
            max: micros(52_800),
        }),
        client: if is(Kind::Latency) { placement(&[6], 0) } else { placement(&[2, 0, 3], 331) },
        server: (is(Kind::Latency) || is(Kind::Udp)).then(|| placement(&[7, 1], 59)),
        server_asleep: is(Kind::Latency).then_some(false),
        connection: is(Kind::Latency)
            .then(|| Connection { min_rtt_seconds: Some(micros(19_900)), retransmissions: 9 }),
        socket: is(Kind::Icmp).then_some(Socket::Ping),
        interrupted: is(Kind::Icmp),
        failure: is(Kind::Latency)
            .then(|| Error::Asked("the other end closed the connection".into())),
        ..PingResults::default()
    };
    PingReport {
        ip: windlass_drive::ip::Ip::default(),
        schema: PingReport::SCHEMA,
        host: "printer".into(),
        address: if is(Kind::Icmp) { "2001:db8::2".into() } else { "192.0.2.2".into() },
        port: (!is(Kind::Icmp)).then_some(9_100),
        request_bytes: (!is(Kind::Connect)).then(|| Bytes::new(1_024)),
        response_bytes: (is(Kind::Latency) || is(Kind::Udp)).then(|| Bytes::new(16_384)),
        interval_seconds: (!is(Kind::Latency)).then(|| micros(250_000)),
        timeout_seconds: micros(1_900_000),
        measured,
        histogram: Some(vec![
            bucket(0, Some(20_900), 403),
            bucket(20_900, Some(33_000), 801),
            bucket(33_000, None, 37),
        ]),
        source: "from a test, by the monotonic clock",
        clock_seconds: Span::from_nanos(43),
        asleep: is(Kind::Icmp),
        pinned_cpu: is(Kind::Latency).then_some(6),
    }
}

#[test]
fn every_figure_of_the_text_is_in_the_json() {
    for (kind, name) in [
        (Kind::Connect, "ping_connect"),
        (Kind::Latency, "ping_latency"),
        (Kind::Udp, "ping_udp"),
        (Kind::Icmp, "ping_icmp"),
    ] {
        let report = example(kind);
        let text = printed(&report, Format::Text);
        insta::assert_snapshot!(name, text);
        let json =
            checked(&printed(&WatchedRecord::new(&report, CurrentRun::begin(None)), Format::Json));
        assert!(figures(&text).len() > 25);
        // What is lost is the sum of two.
        let lost = number(&json, "/silent") + number(&json, "/unreachable");
        let missing = missing(&text, &json, &[lost]);
        assert!(missing.is_empty(), "{missing:#?}\n{text}");
    }
}

#[test]
fn what_did_not_happen_is_not_a_figure() {
    let mut report = example(Kind::Connect);
    report.histogram = Some(Vec::new());
    report.measured = PingResults {
        warmup: 0,
        sent: 4,
        answered: 0,
        refused: 0,
        unreachable: 0,
        silent: 4,
        loss: 1.0,
        resent: Some(0),
        trip_seconds: None,
        deviation_seconds: None,
        ..report.measured
    };
    insta::assert_snapshot!("ping_without_an_answer", printed(&report, Format::Text));
    checked(&printed(&WatchedRecord::new(&report, CurrentRun::begin(None)), Format::Json));
    let times = example(Kind::Connect).measured.trip_seconds;
    report.measured.trip_seconds =
        times.map(|times| Quantiles { p90: None, p99: None, p99_9: None, ..times });
    let few = report;
    let text = printed(&few, Format::Text);
    assert!(text.contains("p50") && !text.contains("p9"), "{text}");
    checked(&printed(&WatchedRecord::new(&few, CurrentRun::begin(None)), Format::Json));
}
