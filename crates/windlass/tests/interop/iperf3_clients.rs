//! Stock iperf3 clients of `windlass serve`.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::peer::{WindlassServer, run};
use crate::{number, whole};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::{has, skipped, told, windlass};

/// Returns iperf3's report of a test.
fn asked(serving: &WindlassServer, options: &str) -> Value {
    let output = run(&format!("iperf3 -c 127.0.0.1 -p {} -J {options}", serving.port));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success() && report["error"].is_null(), "{options}: {report:#}");
    report
}

/// The directions of a test as the server saw it.
fn directions(ends: &Value) -> &Vec<Value> {
    assert_eq!((&ends["protocol"], &ends["failure"]), (&"iperf3".into(), &Value::Null), "{ends:#}");
    ends["server"]["directions"].as_array().unwrap()
}

fn direction<'a>(ends: &'a Value, role: &str) -> &'a Value {
    directions(ends).iter().find(|one| one["role"] == role).unwrap_or_else(|| panic!("{ends:#}"))
}

/// Returns the bytes that a sender reports, which are those on the wire of each stream, each byte
/// once. Data still in the send buffer is not sent; data at the client has arrived, even if the
/// kernel was asked earlier.
fn on_the_wire(sender: &Value, client: &Value) -> u64 {
    let streams = sender["streams"].as_array().unwrap();
    let theirs = client["end"]["streams"].as_array().unwrap().iter().map(|one| &one["receiver"]);
    let back = theirs.filter(|one| one["sender"] == false);
    let came: Vec<u64> = back.map(|one| whole(one, "/bytes")).collect();
    assert_eq!(streams.len(), came.len(), "{client:#}");
    let wire = streams.iter().zip(came).map(|(stream, came)| {
        let of = |what: &str| whole(stream, &format!("/sender/{what}_bytes"));
        (of("sent") - of("retransmitted")).max(came)
    });
    wire.sum()
}

#[test]
fn what_a_client_sends_is_counted_to_the_byte() {
    if !has("iperf3", "what_a_client_sends_is_counted_to_the_byte") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for options in [
        "-t 1",
        "-t 1 -P 4",
        "-n 20M",
        "-n 3333333 -P 3",
        "-k 50",
        "-t 1 -w 64K",
        "-t 1 -l 4K",
        "-t 1 -C cubic -M 1000 -N",
        "-t 1 -b 40M",
    ] {
        let theirs = asked(&serving, options);
        let ends = serving.ends();
        let ours = direction(&ends, "receiver");
        let sent = whole(&theirs, "/end/sum_sent/bytes");
        assert!(sent > 0, "{options}");
        assert_eq!(whole(&theirs, "/end/sum_received/bytes"), sent, "{options}");
        assert_eq!(whole(ours, "/total_bytes"), sent, "{options}: {ends:#}");
        let client = &ends["client_report"]["directions"][0];
        assert_eq!(whole(client, "/bytes"), sent, "{options}: {ends:#}");
        // The rate of the receiver is that of the bytes in its time.
        let seconds = number(&theirs, "/end/sum_received/seconds");
        let rate = number(&theirs, "/end/sum_received/bits_per_second");
        assert!((rate * seconds / 8.0 / sent as f64 - 1.0).abs() < 0.01, "{options}");
        // One stream after the other, by its number.
        for stream in theirs["end"]["streams"].as_array().unwrap() {
            let [sent, received] =
                ["sender", "receiver"].map(|end| whole(stream, &format!("/{end}/bytes")));
            assert_eq!(sent, received, "{options}: {stream:#}");
        }
        let shares = &theirs["end"]["cpu_utilization_percent"];
        assert!((0.0..1_000.0).contains(&number(shares, "/remote_total")), "{shares:#}");
        assert!(theirs["end"]["receiver_tcp_congestion"].is_string(), "{options}");
    }
}

#[test]
fn a_client_prints_what_the_server_says_where_it_asks() {
    if !has("iperf3", "a_client_prints_what_the_server_says_where_it_asks") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for (options, did) in [("-t 1 -P 2", "received"), ("-t 1 -R", "acknowledged")] {
        let theirs = asked(&serving, &format!("{options} --get-server-output"));
        let ends = serving.ends();
        let said = theirs["server_output_text"].as_str().unwrap();
        let ours = &ends["server"]["directions"][0];
        for stream in ours["streams"].as_array().unwrap() {
            let ends = ["local", "remote"].map(|end| stream[end].as_str().unwrap());
            assert!(ends.iter().all(|end| said.contains(end)), "{ends:?} {said}");
        }
        assert!(said.starts_with("windlass serve ") && said.contains(did), "{said}");
        assert!(asked(&serving, options)["server_output_text"].is_null());
        serving.ends();
    }
}

#[test]
fn a_client_that_is_slow_by_choice_has_its_time() {
    if !has("iperf3", "a_client_that_is_slow_by_choice_has_its_time") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    // One block at once, and the next two seconds later.
    let began = Instant::now();
    let theirs = asked(&serving, "-t 1 -b 4M -l 1M");
    let ends = serving.ends();
    let took = began.elapsed().as_secs_f64();
    let seconds = number(&theirs, "/end/sum_received/seconds");
    assert!((0.95..took).contains(&seconds), "{seconds} of {took}");
    let ours = direction(&ends, "receiver");
    assert!((number(ours, "/seconds") - seconds).abs() < 0.01, "{ours:#}");
    let rate = number(ours, "/bytes") / number(ours, "/seconds");
    assert!((number(ours, "/bytes_per_second") / rate - 1.0).abs() < 1e-6, "{ours:#}");
}

/// A sender's kernel takes megabytes at once that a slow path carries for half a minute.
#[test]
fn a_test_of_a_time_ends_soon_after_it() {
    let test = "a_test_of_a_time_ends_soon_after_it";
    if !has("iperf3", test) {
        return;
    }
    in_real_time(test, || {
        let program = env!("CARGO_BIN_EXE_windlass");
        let output = windlass()
            .args(["link", "--report", "/dev/null", "--rate", "1mbit", "--rtt", "20ms"])
            .args(["--queue", "4M", "--peer", &format!("'{program}' serve --once")])
            .args(["--", "iperf3", "-c", "192.0.2.2", "-J", "-t", "2", "-C", "cubic"])
            .output()
            .unwrap();
        let (stdout, stderr, code) = told(&output);
        if code != 0 && !stdout.contains("iperf3") && !stdout.contains("sum_sent") {
            return skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
        }
        let from = stdout.find('{').unwrap();
        let report = serde_json::Deserializer::from_str(&stdout[from..]).into_iter::<Value>();
        let report = report.take(1).next().unwrap().unwrap();
        let seconds = number(&report, "/end/sum_received/seconds");
        assert!((1.9..3.6).contains(&seconds), "{seconds}");
        let rate = number(&report, "/end/sum_received/bits_per_second");
        assert!((0.8e6..1.05e6).contains(&rate), "{rate}");
    });
}

#[test]
fn what_a_client_asks_for_comes() {
    if !has("iperf3", "what_a_client_asks_for_comes") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for options in ["-R -t 1", "-R -t 1 -P 3", "-R -t 1 -w 64K", "-R -t 1 -b 40M -l 8K"] {
        let theirs = asked(&serving, options);
        let ends = serving.ends();
        let ours = direction(&ends, "sender");
        let [sent, received] =
            ["sent", "received"].map(|end| whole(&theirs, &format!("/end/sum_{end}/bytes")));
        // A client counts up to the end of its time, and reads on.
        assert!(0 < received && received <= sent, "{options}: {received} of {sent}");
        assert!(theirs.pointer("/end/sum_sent/retransmits").is_some(), "{options}");
        let streams = ours["streams"].as_array().unwrap();
        assert!(streams.iter().all(|stream| stream["sender"].is_object()), "the kernel is ours");
        assert_eq!(on_the_wire(ours, &theirs), sent, "{options}");
        assert!(sent <= whole(ours, "/total_bytes"), "{options}");
    }
    // A second at 1 MB/s after a first flight of ten segments, as Linux paces: the send buffer
    // would hold megabytes more.
    let begin = Instant::now();
    let theirs = asked(&serving, "-R -t 1 -b 8M -l 1M");
    let most = 1e6 * begin.elapsed().as_secs_f64() + 10.0 * 65_535.0;
    let ends = serving.ends();
    let sent = whole(&theirs, "/end/sum_sent/bytes");
    assert_eq!(on_the_wire(direction(&ends, "sender"), &theirs), sent);
    assert!((sent as f64) < most, "{sent} of {most}");
    // A number of bytes is that number.
    for options in ["-R -n 20M", "-R -n 3333333 -P 3"] {
        let theirs = asked(&serving, options);
        let ends = serving.ends();
        let wanted = if options.contains("20M") { 20 << 20 } else { 3_333_333 };
        for end in ["sent", "received"] {
            assert_eq!(whole(&theirs, &format!("/end/sum_{end}/bytes")), wanted, "{options}");
        }
        assert_eq!(whole(direction(&ends, "sender"), "/bytes"), wanted, "{ends:#}");
    }
}

#[test]
fn both_ways_at_once_are_told_apart() {
    if !has("iperf3", "both_ways_at_once_are_told_apart") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for options in ["--bidir -t 1", "--bidir -t 1 -P 3"] {
        let theirs = asked(&serving, options);
        let ends = serving.ends();
        assert_eq!(directions(&ends).len(), 2);
        let there = whole(&theirs, "/end/sum_sent/bytes");
        assert_eq!(whole(&theirs, "/end/sum_received/bytes"), there, "{options}");
        assert_eq!(whole(direction(&ends, "receiver"), "/total_bytes"), there, "{options}");
        let back = whole(&theirs, "/end/sum_sent_bidir_reverse/bytes");
        let came = whole(&theirs, "/end/sum_received_bidir_reverse/bytes");
        assert!(0 < came && came <= back, "{options}: {came} of {back}");
        assert_eq!(on_the_wire(direction(&ends, "sender"), &theirs), back, "{options}");
        // Each stream goes its own way.
        let streams = theirs["end"]["streams"].as_array().unwrap();
        assert_eq!(streams.len(), if options.contains("-P") { 6 } else { 2 });
        for stream in streams {
            let [sent, received] =
                ["sender", "receiver"].map(|end| whole(stream, &format!("/{end}/bytes")));
            assert!(0 < received && received <= sent, "{options}: {stream:#}");
        }
    }
}

/// Tests of two seconds, of which the second counts.
const OMITTING: [&str; 2] = ["-O 1 -t 1 -b 80M", "-O 1 -t 1 -b 80M -R"];

#[test]
fn a_start_that_does_not_count_is_left_out() {
    let test = "a_start_that_does_not_count_is_left_out";
    if !has("iperf3", test) {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for options in OMITTING {
        asked(&serving, options);
        let ends = serving.ends();
        let role = if options.contains("-R") { "sender" } else { "receiver" };
        let ours = direction(&ends, role);
        assert!(whole(ours, "/bytes") < whole(ours, "/total_bytes"), "{ends:#}");
    }
    in_real_time(test, || {
        for options in OMITTING {
            let theirs = asked(&serving, options);
            serving.ends();
            for end in ["sent", "received"] {
                let seconds = number(&theirs, &format!("/end/sum_{end}/seconds"));
                assert!((0.8..1.8).contains(&seconds), "{options}: {seconds}");
                // Both ends left out one of two seconds at 10 MB/s.
                let bytes = number(&theirs, &format!("/end/sum_{end}/bytes"));
                assert!((5e6..16e6).contains(&bytes), "{options}: {bytes}");
            }
        }
    });
}

#[test]
fn several_clients_are_served_at_once() {
    if !has("iperf3", "several_clients_are_served_at_once") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    let port = serving.port;
    let options = ["-t 1 -P 2", "-t 1 -R", "-t 1 --bidir", "-t 1"];
    let clients = options.map(|options| {
        thread::spawn(move || run(&format!("iperf3 -c 127.0.0.1 -p {port} -J {options}")))
    });
    for client in clients {
        let output = client.join().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report["error"].is_null(), "{report:#}");
        assert!(whole(&report, "/end/sum_received/bytes") > 0);
    }
    for _ in options {
        directions(&serving.ends());
    }
}

#[test]
fn what_is_not_served_is_refused_in_iperf3s_words() {
    if !has("iperf3", "what_is_not_served_is_refused_in_iperf3s_words") {
        return;
    }
    let serving = WindlassServer::start(&["--tests", "1"]);
    let refused = |options: &str| {
        let output = run(&format!("iperf3 -c 127.0.0.1 -p {} -J {options}", serving.port));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        // With -J it ends with 0 all the same.
        report["error"].as_str().unwrap().to_owned()
    };
    let error = refused("-t 1 -A 0,0");
    assert!(error.contains("affinity"), "{error}");
    assert_eq!(serving.refuses(), "it asks this server to keep to a processor");
    let error = refused("-t 1 -C no_such_control");
    assert!(error.contains("TCP_CONGESTION"), "{error}");
    assert!(serving.refuses().contains("no_such_control"));
    // The one place is taken, for as long as this takes.
    let line = format!("-c 127.0.0.1 -p {} -t 600", serving.port);
    let mut taking = Command::new("iperf3");
    let mut taking = taking.args(line.split(' ')).stdout(Stdio::null()).spawn().unwrap();
    assert_eq!(serving.says()["event"], "begins");
    let error = refused("-t 1");
    taking.kill().unwrap();
    taking.wait().unwrap();
    assert!(error.contains("busy"), "{error}");
}
