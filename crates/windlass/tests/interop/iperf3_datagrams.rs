//! UDP with stock iperf3, both ways: what each end prints, and what the link between them did.

use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::peer::{ListeningPeer, WindlassServer, run, send};
use crate::{number, whole};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::overflows::Overflows;
use windlass_testkit::schema::checked;
use windlass_testkit::{has, skipped, told, windlass};

/// Returns a stock client's report of a test.
fn asked(serving: &WindlassServer, options: &str) -> Value {
    let output = run(&format!("iperf3 -c 127.0.0.1 -p {} -u -J {options}", serving.port));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success() && report["error"].is_null(), "{options}: {report:#}");
    report
}

/// The flows of the direction that the server received, or sent.
fn flows<'a>(ends: &'a Value, role: &str) -> &'a Vec<Value> {
    assert_eq!((&ends["protocol"], &ends["failure"]), (&"iperf3".into(), &Value::Null), "{ends:#}");
    checked("serve", &ends.to_string());
    let directions = ends["server"]["directions"].as_array().unwrap();
    let found = directions.iter().find(|one| one["role"] == role);
    found.unwrap_or_else(|| panic!("{ends:#}"))["datagrams"]["flows"].as_array().unwrap()
}

#[test]
fn a_stock_client_prints_what_came() {
    if !has("iperf3", "a_stock_client_prints_what_came") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for options in [
        "-t 1 -b 20M",
        "-t 1 -b 20M -l 1000 -P 3",
        "-n 2M -b 40M -l 1400",
        "-k 200 -b 40M -l 1000 -Z",
        "-t 1 -b 20M --udp-counters-64bit",
        "-t 1 -b 20M -w 200K -M 1000 -C cubic",
    ] {
        let theirs = asked(&serving, options);
        let ends = serving.ends();
        for (place, flow) in flows(&ends, "receiver").iter().enumerate() {
            let said = &theirs["end"]["streams"][place]["udp"];
            let sent = whole(said, "/packets");
            assert!(sent > 0, "{options}");
            let [came, lost, here] = ["count", "lost", "overflowed"]
                .map(|count| whole(flow, &format!("/datagrams/{count}")));
            assert_eq!((came + lost, whole(said, "/lost_packets")), (sent, lost), "{options}");
            // The loopback loses nothing.
            assert_eq!(lost, here, "{options}: {flow:#}");
            assert_eq!(whole(said, "/out_of_order"), 0, "{options}");
            let jitter = number(flow, "/datagrams/jitter_seconds");
            let printed = number(said, "/jitter_ms") / 1e3;
            assert!((printed - jitter).abs() <= 1e-6, "{options}: {printed} {jitter}");
        }
        // Its own count of what it sent came over, too.
        let client = &ends["client_report"]["directions"][0];
        let sent = whole(&theirs, "/end/sum/packets");
        assert_eq!(whole(client, "/datagrams/count"), sent, "{options}");
        assert_eq!(whole(client, "/bytes"), whole(&theirs, "/end/sum/bytes"), "{options}");
    }
    let theirs = asked(&serving, "-t 1 -b 8M --get-server-output");
    let said = theirs["server_output_text"].as_str().unwrap();
    let [sent, lost] =
        ["packets", "lost_packets"].map(|count| whole(&theirs, &format!("/end/sum/{count}")));
    assert!(said.contains(&format!("datagrams of {sent}, {lost} lost")), "{said}");
}

#[test]
fn what_a_stock_client_leaves_out_does_not_count_here() {
    let test = "what_a_stock_client_leaves_out_does_not_count_here";
    if !has("iperf3", test) {
        return;
    }
    let serving = WindlassServer::start(&[]);
    // So slow that the socket of a stock client bridges some hundred milliseconds.
    let tests = [
        ("-O 1 -t 1 -b 2M -l 1000", "receiver"),
        ("-O 1 -k 250 -b 2M -l 1000", "receiver"),
        ("-R -O 1 -t 1 -b 2M -l 1000", "sender"),
    ];
    let counts = |options: &str, role: &str| {
        let before = Overflows::now();
        let theirs = asked(&serving, options);
        let ends = serving.ends();
        let [flow] = &flows(&ends, role)[..] else { panic!("{ends:#}") };
        let said = &theirs["end"]["streams"][0]["udp"];
        let [counted, omitted] = ["/datagrams/count", "/omitted"].map(|field| whole(flow, field));
        assert_eq!(whole(flow, "/bytes"), counted * 1_000, "{options}: {flow:#}");
        let lost = whole(said, "/lost_packets") + whole(flow, "/omitted_lost");
        assert!(lost <= before.since(), "{options}: {theirs:#} {flow:#}");
        (counted, omitted, whole(said, "/bytes") / 1_000)
    };
    for (options, role) in tests {
        counts(options, role);
    }
    // 250 a second, and as many before they count: each end begins by its own clock.
    in_real_time(test, || {
        for (options, role) in tests {
            let (counted, omitted, printed) = counts(options, role);
            assert!((125..300).contains(&counted), "{options}: {counted}");
            assert!((125..300).contains(&omitted), "{options}: {omitted}");
            // Its bytes are those that count, by each end's clock; its packets are so since 3.13
            // only.
            assert!(printed.abs_diff(counted) < 75, "{options}: {printed} {counted}");
        }
    });
}

#[test]
fn a_stock_client_gets_what_it_asks_for() {
    if !has("iperf3", "a_stock_client_gets_what_it_asks_for") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    // So slow that the socket of a stock client bridges some hundred milliseconds.
    for options in ["-R -t 1 -b 4M", "-R -t 1 -b 2M -P 3 -l 1000", "-R -n 200K -b 2M -l 1000"] {
        let (before, began) = (Overflows::now(), Instant::now());
        let theirs = asked(&serving, options);
        let ends = serving.ends();
        let took = began.elapsed().as_secs_f64();
        let (flows, mut lost) = (flows(&ends, "sender"), 0);
        for (place, flow) in flows.iter().enumerate() {
            let said = &theirs["end"]["streams"][place]["udp"];
            // Of those that were lost behind the last one that came a stock client knows nothing.
            let sent = whole(flow, "/datagrams/count");
            lost += sent - (whole(said, "/packets") - whole(said, "/lost_packets"));
            // No faster than it was asked to, and the first at once.
            let rate = if options.contains("4M") { 4e6 } else { 2e6 };
            let bytes = whole(flow, "/bytes") as f64;
            let most = 1.03 * rate / 8.0 * took + bytes / sent as f64;
            assert!(bytes <= most, "{options}: {most} {flow:#}");
        }
        assert!(lost <= before.since(), "{options}: {theirs:#} {ends:#}");
        assert!(number(&theirs, "/end/sum/bits_per_second") > 0.0, "{options}");
    }
    let theirs = asked(&serving, "--bidir -t 1 -b 2M -l 1000 -P 2");
    let ends = serving.ends();
    let [there, back] = ["receiver", "sender"].map(|role| flows(&ends, role));
    assert_eq!((there.len(), back.len()), (2, 2));
    for (place, flow) in there.iter().chain(back).enumerate() {
        let said = &theirs["end"]["streams"][place]["udp"];
        let lost = flow["datagrams"]["lost"].as_u64().unwrap_or(0);
        assert_eq!(whole(said, "/lost_packets"), lost, "{place}: {theirs:#}");
        assert!(whole(said, "/packets") > 0);
    }
}

/// Datagrams say nothing of their test, so the flows of a host's tests come one after the other.
#[test]
fn clients_of_one_host_are_told_apart() {
    if !has("iperf3", "clients_of_one_host_are_told_apart") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    let port = serving.port;
    let counts = [100, 200, 300, 400];
    let (before, mut lost) = (Overflows::now(), 0);
    let clients = counts.map(|count| {
        thread::spawn(move || {
            let options = format!("-u -J -k {count} -b 2M -l 500 -P 2");
            run(&format!("iperf3 -c 127.0.0.1 -p {port} {options}"))
        })
    });
    for (client, count) in clients.into_iter().zip(counts) {
        let report: Value = serde_json::from_slice(&client.join().unwrap().stdout).unwrap();
        assert!(report["error"].is_null(), "{report:#}");
        let sent = whole(&report, "/end/sum/packets");
        assert!((count..count + 10).contains(&sent), "{count}: {sent}");
        lost += whole(&report, "/end/sum/lost_packets");
    }
    // The loopback loses nothing.
    assert!(lost <= before.since(), "{lost}");
    let mut came: Vec<u64> = (0..counts.len())
        .map(|_| {
            let ends = serving.ends();
            let sent =
                |flow: &Value| whole(flow, "/datagrams/count") + whole(flow, "/datagrams/lost");
            flows(&ends, "receiver").iter().map(sent).sum()
        })
        .collect();
    came.sort_unstable();
    for (came, count) in came.into_iter().zip(counts) {
        assert!((count..count + 10).contains(&came), "{count}: {came}");
    }
}

#[test]
fn a_stock_server_is_asked_and_heard() {
    if !has("iperf3", "a_stock_server_is_asked_and_heard") {
        return;
    }
    let server = ListeningPeer::start("iperf3 -s -p PORT");
    for options in [
        "--time 1s --rate 20mbit",
        "--time 1s --rate 6mbit --streams 3 --length 1000",
        "--bytes 1000x1000 --rate 40mbit",
        "--time 1s --rate 20mbit --reverse",
        "--bytes 1000x1000 --rate 40mbit --reverse",
        "--time 1s --rate 4mbit --bidirectional --streams 2",
        "--omit 1s --time 1s --rate 4mbit",
        "--omit 1s --bytes 500x1000 --rate 4mbit --length 1000",
        "--omit 1s --time 1s --rate 4mbit --reverse",
    ] {
        let report = send(server.port, &format!("--protocol iperf3 --udp {options}"));
        let report = checked("send", &report.to_string());
        for direction in report["directions"].as_array().unwrap() {
            let [sent, came] = ["sender", "receiver"].map(|end| &direction[end]["datagrams"]);
            let count = whole(sent, "/count");
            assert!(count > 0, "{options}");
            let omits = options.contains("--omit");
            if came["lost"].is_null() {
                // A server that lost some does not say when, before iperf3 3.13.
                let flow = &came["flows"][0];
                assert!(omits && flow["omitted"].is_null(), "{options}: {direction:#}");
                continue;
            }
            assert_eq!(whole(came, "/count") + whole(came, "/lost"), whole(came, "/sent"));
            // Each end leaves out by its own clock, and both together have them all.
            let all = |end: &Value| -> u64 {
                end["flows"].as_array().unwrap().iter().map(|flow| whole(flow, "/omitted")).sum()
            };
            let [left_out, missed] = [sent, came].map(all);
            assert_eq!((left_out > 0, missed > 0), (omits, omits), "{options}: {direction:#}");
            let known = whole(came, "/sent") + missed;
            assert_eq!(known, count + left_out, "{options}: {direction:#}");
            assert!(came["jitter_seconds"].is_number(), "{options}: {came:#}");
            // Of its socket a stock server does not tell.
            let is_here = direction["from"] == "server";
            assert_eq!(came["overflowed"].is_number(), is_here, "{options}: {came:#}");
            for flow in came["flows"].as_array().unwrap() {
                let [local, remote] = ["local", "remote"].map(|end| flow[end].as_str().unwrap());
                let server = if is_here { remote } else { local };
                assert!(server.ends_with(&format!(":{}", server_port(&report))), "{flow:#}");
                assert_ne!(local, remote);
            }
        }
    }
}

fn server_port(report: &Value) -> &str {
    report["address"].as_str().unwrap().rsplit(':').next().unwrap()
}

/// Returns the reports of stock clients over a link to `windlass serve`, and of the link; `None` if
/// no link can be made.
fn over(test: &str, link: &str, clients: &[&str]) -> Option<(Vec<Value>, Value)> {
    let program = env!("CARGO_BIN_EXE_windlass");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("link.json");
    let lines = clients.iter().map(|options| format!("iperf3 -c 192.0.2.2 -J -u {options}"));
    let output = windlass()
        .args(["link", "--json", "--report", file.to_str().unwrap()])
        .args(["--peer", &format!("'{program}' serve --json")])
        .args(link.split_whitespace())
        .args(["--", "sh", "-c", &lines.collect::<Vec<_>>().join(" && ")])
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&output);
    if code != 0 && !stdout.contains("\"end\"") {
        skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
        return None;
    }
    let link: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let reports = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>().flatten();
    let reports: Vec<Value> = reports.filter(|one| one["end"]["sum"].is_object()).collect();
    assert_eq!(reports.len(), clients.len(), "{stdout} {stderr}");
    Some((reports, link))
}

#[test]
fn a_stock_client_prints_the_loss_of_the_link() {
    let test = "a_stock_client_prints_the_loss_of_the_link";
    if !has("iperf3", test) {
        return;
    }
    in_real_time(test, || {
        for (way, options) in [("up", ""), ("down", "-R")] {
            let link = format!("--rate 100mbit --rtt 10ms --{way}-loss 2%");
            // So slow that a stock end's socket bridges a tenth of a second.
            let client = format!("-t 5 -b 10M -l 1000 {options}");
            let Some((reports, link)) = over(test, &link, &[&client]) else { return };
            let gave = whole(&link[way], "/lost");
            let given = gave as f64 / (gave + whole(&link[way], "/packets")) as f64;
            let printed = number(&reports[0], "/end/sum/lost_percent") / 100.0;
            let lost = whole(&reports[0], "/end/sum/lost_packets");
            assert!((printed - given).abs() < 0.01, "{printed} {given}");
            // Only the few words about the test are beside the datagrams.
            assert!(lost > 50 && (gave.saturating_sub(6)..=gave).contains(&lost), "{lost} {gave}");
        }
    });
}

/// Two draws from 0 to 3 ms differ by a third of that in the mean. A smoothed jitter swings about
/// it by some 14 %, so the middle one of many is looked at: it swings by 4 %, and no moment at which
/// the machine was away is in it.
#[test]
fn a_stock_client_prints_the_jitter_of_the_link() {
    let test = "a_stock_client_prints_the_jitter_of_the_link";
    if !has("iperf3", test) {
        return;
    }
    in_real_time(test, || {
        let middle = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        // What the server says at the end, and what the client finds of the server's datagrams.
        // They are further apart than chance moves them: each has a delay of its own.
        let link = "--rate 100mbit --rtt 10ms --jitter 3ms";
        let mut clients = vec!["-k 100 -b 1M -l 500"; 24];
        clients.push("-R -t 5 -i 0.1 -b 1M -l 500");
        let Some((reports, _)) = over(test, link, &clients) else { return };
        let (back, there) = reports.split_last().unwrap();
        let there: Vec<f64> =
            there.iter().map(|report| number(report, "/end/sum/jitter_ms")).collect();
        assert!((middle(&there) - 1.0).abs() < 0.1, "{there:?}");
        let intervals = back["intervals"].as_array().unwrap();
        let back: Vec<f64> =
            intervals.iter().map(|one| number(one, "/sum/jitter_ms")).skip(3).collect();
        assert!((middle(&back) - 1.0).abs() < 0.1, "{back:?}");
    });
}
