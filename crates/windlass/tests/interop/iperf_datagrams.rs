//! UDP with stock iperf 2, both ways, and with a client of before 2.0.10, made by hand.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::peer::{self, ListeningPeer, WindlassServer, run, send, send_told};
use crate::{number, whole};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::overflows::Overflows;
use windlass_testkit::port::free_port;
use windlass_testkit::schema::checked;
use windlass_testkit::{has, skipped, told, windlass};

/// iperf's report of a received flow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct IperfReport {
    bytes: u64,
    jitter_seconds: f64,
    lost: u64,
    datagrams: u64,
}

/// All of it, sorted by its bytes: `[ 1] 0.0000-1.0151 sec 267540 Bytes 2108467 bits/sec 0.002 ms
/// 0/182 (0%)`.
fn printed(text: &str) -> Vec<IperfReport> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = |what: &str| words.iter().position(|word| *word == what);
        let (bytes, jitter) = (at("Bytes")?, at("ms")?);
        let (lost, datagrams) = words.get(jitter + 1)?.split_once('/')?;
        Some(IperfReport {
            bytes: words[bytes - 1].parse().ok()?,
            jitter_seconds: words[jitter - 1].parse::<f64>().ok()? / 1e3,
            lost: lost.parse().ok()?,
            datagrams: datagrams.parse().ok()?,
        })
    };
    let mut rows: Vec<IperfReport> =
        text.lines().filter(|line| !line.starts_with("[SUM")).filter_map(row).collect();
    sort(&mut rows);
    rows
}

fn sort(rows: &mut [IperfReport]) {
    rows.sort_by(|one, other| {
        let whole = |row: &IperfReport| (row.bytes, row.datagrams);
        let by_jitter = one.jitter_seconds.total_cmp(&other.jitter_seconds);
        whole(one).cmp(&whole(other)).then(by_jitter)
    });
}

/// The direction of a test as the server saw it.
fn direction<'a>(ends: &'a Value, role: &str) -> Option<&'a Value> {
    assert_eq!((&ends["protocol"], &ends["failure"]), (&"iperf".into(), &Value::Null), "{ends:#}");
    checked("serve", &ends.to_string());
    let directions = ends["server"]["directions"].as_array().unwrap();
    directions.iter().find(|one| one["role"] == role)
}

/// Returns the report as the client prints it.
fn received(ends: &Value) -> IperfReport {
    let found = direction(ends, "receiver").unwrap();
    let datagrams = &found["datagrams"];
    IperfReport {
        bytes: whole(found, "/bytes"),
        jitter_seconds: number(datagrams, "/jitter_seconds"),
        lost: whole(datagrams, "/lost"),
        datagrams: whole(datagrams, "/sent"),
    }
}

/// Checks that both reports agree: iperf prints microseconds of jitter.
fn assert_same(ours: &[IperfReport], theirs: &[IperfReport], of: &str) {
    assert_eq!(ours.len(), theirs.len(), "{of}: {ours:?} {theirs:?}");
    for (one, other) in ours.iter().zip(theirs) {
        let jitter = (one.jitter_seconds - other.jitter_seconds).abs();
        assert!(jitter <= 1.1e-6, "{of}: {one:?} {other:?}");
        let same = IperfReport { jitter_seconds: other.jitter_seconds, ..*one };
        assert_eq!(same, *other, "{of}");
    }
}

#[test]
fn a_stock_client_prints_what_came() {
    if !has("iperf", "a_stock_client_prints_what_came") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for (options, flows) in [
        ("-t 1 -b 10M", 1),
        ("-t 1 -b 2M -l 1000 -P 3", 3),
        ("-n 200K -b 10M -l 500", 1),
        ("-t 1 -b 500pps -l 100", 1),
        ("-t 1 -b 2M -w 200K --trip-times", 1),
    ] {
        let before = Overflows::now();
        let line = format!("iperf -c 127.0.0.1 -f B -u -p {} {options}", serving.plain);
        let output = run(&line);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut ours: Vec<IperfReport> = (0..flows).map(|_| received(&serving.ends())).collect();
        sort(&mut ours);
        // A client that measures one-way times prints a report without jitter.
        if options.contains("--trip-times") {
            ours[0].jitter_seconds = 0.0;
        }
        assert_same(&ours, &printed(&text), &format!("{options}: {text}"));
        assert!(ours.iter().all(|row| row.datagrams > 0), "{options}: {ours:?}");
        // The loopback loses nothing.
        let lost: u64 = ours.iter().map(|row| row.lost).sum();
        assert!(lost <= before.since(), "{options}: {ours:?}");
        assert!(!text.contains("did not receive ack"), "{text}");
    }
}

#[test]
fn a_stock_client_gets_what_it_wants_back() {
    if !has("iperf", "a_stock_client_gets_what_it_wants_back") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for (option, ways) in [("-R", 1), ("-d", 2), ("-r", 2), ("--full-duplex", 2), ("-R -n 100K", 1)]
    {
        // With -d and -r it listens itself.
        let listens = ["-d", "-r"].contains(&option);
        let back = if listens { format!("-L {}", free_port()) } else { String::new() };
        let line = format!("-f B -u -p {} -t 1 -b 2M -l 1000 {back} {option}", serving.plain);
        let before = Overflows::now();
        let output = run(&format!("iperf -c 127.0.0.1 {line}"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ends = serving.ends();
        assert_eq!(ends["server"]["directions"].as_array().unwrap().len(), ways, "{ends:#}");
        // The last datagram of each flow counts at a receiver of iperf's.
        let sent = whole(direction(&ends, "sender").unwrap(), "/datagrams/count") + 1;
        let theirs = printed(&text);
        let overflows = before.since();
        let back = theirs.iter().find(|row| row.datagrams == sent && row.lost <= overflows);
        assert!(back.is_some(), "{option}: {sent} {overflows} {text}");
        assert!(sent > 1, "{option}: {sent}");
        // Of a full duplex only what the client received is printed, in 2.1.8.
        if direction(&ends, "receiver").is_some() && option != "--full-duplex" {
            let ours = received(&ends);
            let there = theirs.iter().find(|row| row.datagrams == ours.datagrams);
            assert!(there.is_some_and(|row| row.lost == ours.lost), "{option}: {ours:?} {text}");
        }
    }
}

#[test]
fn a_server_of_iperf_is_asked_and_heard() {
    let test = "a_server_of_iperf_is_asked_and_heard";
    let serving = WindlassServer::start(&[]);
    let is_there = has("iperf", test);
    for options in [
        "--time 1s --rate 10mbit",
        "--bytes 300x1000 --rate 20mbit",
        "--bytes 300x1000 --rate 20mbit --streams 3",
    ] {
        // A server of 2.1.8 breaks down behind several flows, also with its own client, and now
        // and then behind one: each has its own.
        let is_asked = is_there && !options.contains("--streams");
        let stock = is_asked.then(|| ListeningPeer::of_datagrams("iperf -s -u -f B -p PORT"));
        for port in stock.iter().map(|server| server.port).chain([serving.plain]) {
            let before = Overflows::now();
            let report = send(port, &format!("--protocol iperf --udp {options}"));
            let report = checked("send", &report.to_string());
            let direction = &report["directions"][0];
            let [sent, came] = ["sender", "receiver"].map(|end| &direction[end]["datagrams"]);
            let count = whole(sent, "/count");
            let lost = whole(came, "/lost");
            assert!(lost <= before.since(), "{options}: {came:#}");
            assert_eq!((whole(came, "/sent"), whole(came, "/count") + lost), (count, count));
            let [there, here] = ["receiver", "sender"].map(|end| whole(&direction[end], "/bytes"));
            // A stock server that had no room for some counts one of them as late now and then.
            if lost == 0 {
                assert_eq!((whole(came, "/out_of_order"), there), (0, here), "{options}");
            } else {
                assert!(there < here, "{options}: {there} of {here}");
            }
            assert!(came["jitter_seconds"].is_number() && came["overflowed"].is_null());
        }
    }
    let (_, stderr, code) = send_told(free_port(), "--protocol iperf --udp --time 1s");
    assert_eq!(code, 1);
    assert!(stderr.contains("Start iperf -s -u"), "{stderr}");
}

/// A client of 2.0.5 has numbers of 32 bits, and its header four bytes earlier.
#[test]
fn an_old_client_is_answered_where_it_looks() {
    let serving = WindlassServer::start(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", serving.plain)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let send = |number: i32| {
        let mut datagram = vec![0; 100];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        datagram[4..8].copy_from_slice(&1_700_000_000_u32.to_be_bytes());
        datagram[8..12].copy_from_slice(&(number.unsigned_abs() * 1_000).to_be_bytes());
        socket.send(&datagram).unwrap();
    };
    // Its first is 0. Two of twenty are lost, and one comes late.
    (0..20).filter(|number| ![5, 9, 12].contains(number)).for_each(send);
    send(12);
    send(-20);
    let mut answer = [0; 256];
    let length = peer::received(&socket, &mut answer);
    let word = |at: usize| u32::from_be_bytes(answer[at..at + 4].try_into().unwrap());
    assert_eq!((length, word(12)), (124, 0x8000_0000));
    let (bytes, lost, late, sent) = (word(20), word(32), word(36), word(40));
    assert_eq!((bytes, lost, late, sent), (1_800, 2, 1, 20));
    let ours = received(&serving.ends());
    assert_eq!((ours.lost, ours.datagrams, ours.bytes), (2, 20, 1_800));
}

/// Whoever writes many addresses on first datagrams takes half of the places, and no more.
#[test]
fn many_first_datagrams_leave_room_for_others() {
    let serving = WindlassServer::start(&["--tests", "8"]);
    let first = |number: i64| {
        let mut datagram = vec![0; 100];
        let [a, b, c, d, low @ ..] = number.to_be_bytes();
        datagram[..4].copy_from_slice(&low);
        datagram[4..8].copy_from_slice(&1_700_000_000_u32.to_be_bytes());
        datagram[12..16].copy_from_slice(&[a, b, c, d]);
        datagram[16..24].copy_from_slice(&[0x48, 1, 0, 0x98, 0, 0, 0, 1]);
        datagram
    };
    let sockets: Vec<UdpSocket> = (0..40)
        .map(|_| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(("127.0.0.1", serving.plain)).unwrap();
            socket.send(&first(1)).unwrap();
            socket
        })
        .collect();
    let mut begun = 0;
    loop {
        let event = serving.says();
        match event["event"].as_str().unwrap() {
            "begins" => begun += 1,
            "refused" => assert_eq!(event["why"], "as many tests run as may"),
            _ => {}
        }
        if begun == 4 {
            break;
        }
    }
    // Others are served meanwhile, and those that end give their places back.
    let report = send(serving.port, "--time 100ms --udp --rate 1mbit --no-latency");
    assert!(whole(&report, "/directions/0/receiver/datagrams/count") > 0);
    sockets.iter().for_each(|socket| drop(socket.send(&first(-2))));
    let mut ended = 0;
    while ended < begun {
        let event = serving.says();
        begun += u32::from(event["event"] == "begins" && event["protocol"] == "iperf");
        ended += u32::from(event["event"] == "ends" && event["protocol"] == "iperf");
    }
    assert!(ended >= 4);
}

/// Returns the output of stock clients over a link to `windlass serve`, and of the link; `None` if
/// no link can be made.
fn over(test: &str, link: &str, clients: &[&str]) -> Option<(String, Value)> {
    let program = env!("CARGO_BIN_EXE_windlass");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("link.json");
    let lines = clients.iter().map(|options| format!("iperf -c 192.0.2.2 -f B -u {options}"));
    let output = windlass()
        .args(["link", "--json", "--report", file.to_str().unwrap()])
        .args(["--peer", &format!("'{program}' serve")])
        .args(link.split_whitespace())
        .args(["--", "sh", "-c", &lines.collect::<Vec<_>>().join(" && ")])
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&output);
    if code != 0 && !stdout.contains("bits/sec") {
        skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
        return None;
    }
    Some((stdout, serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()))
}

#[test]
fn a_stock_client_prints_the_loss_of_the_link() {
    let test = "a_stock_client_prints_the_loss_of_the_link";
    if !has("iperf", test) {
        return;
    }
    in_real_time(test, || {
        for (way, options) in [("up", ""), ("down", "-R")] {
            let link = format!("--rate 100mbit --rtt 10ms --{way}-loss 2%");
            // So slow that a stock end's socket bridges a tenth of a second.
            let client = format!("-t 5 -b 10M -l 1000 {options}");
            let Some((text, link)) = over(test, &link, &[&client]) else { return };
            let gave = whole(&link[way], "/lost");
            let given = gave as f64 / (gave + whole(&link[way], "/packets")) as f64;
            let [IperfReport { lost, datagrams, .. }] = printed(&text)[..] else {
                panic!("{text}")
            };
            let share = lost as f64 / datagrams as f64;
            assert!((share - given).abs() < 0.01, "{share} {given}");
            // Beside them there are last ones that are said again, and answers.
            assert!(lost > 50 && (gave.saturating_sub(6)..=gave).contains(&lost), "{gave} {text}");
        }
    });
}

/// As of iperf3: the middle one of many smoothed ones.
#[test]
fn a_stock_client_prints_the_jitter_of_the_link() {
    let test = "a_stock_client_prints_the_jitter_of_the_link";
    if !has("iperf", test) {
        return;
    }
    in_real_time(test, || {
        let link = "--rate 100mbit --rtt 10ms --jitter 3ms";
        let clients = vec!["-n 50000 -b 1M -l 500"; 24];
        let Some((text, _)) = over(test, link, &clients) else { return };
        let rows = printed(&text);
        assert_eq!(rows.len(), clients.len(), "{text}");
        let mut jitters: Vec<f64> = rows.iter().map(|row| row.jitter_seconds).collect();
        jitters.sort_by(f64::total_cmp);
        let middle = jitters[jitters.len() / 2];
        assert!((middle / 1e-3 - 1.0).abs() < 0.1, "{middle}: {text}");
    });
}

/// The two directions of `JPerf`, each over a link that loses its own share.
#[test]
fn both_directions_lose_what_their_links_lose() {
    let test = "both_directions_lose_what_their_links_lose";
    if !has("iperf", test) {
        return;
    }
    in_real_time(test, || {
        let link = "--rate 100mbit --rtt 10ms --up-loss 5% --down-loss 1%";
        let Some((text, link)) = over(test, link, &["-d -t 5 -b 4M -l 1000"]) else { return };
        let rows = printed(&text);
        assert_eq!(rows.len(), 2, "{text}");
        let mut shares: Vec<f64> =
            rows.iter().map(|row| row.lost as f64 / row.datagrams as f64).collect();
        shares.sort_by(f64::total_cmp);
        for (share, way) in shares.into_iter().zip(["down", "up"]) {
            let gave = whole(&link[way], "/lost") as f64;
            let given = gave / (gave + whole(&link[way], "/packets") as f64);
            assert!((share - given).abs() < 0.01, "{way}: {share} {given} {text}");
        }
    });
}

/// Clients at once are flows of their own.
#[test]
fn several_clients_are_served_at_once() {
    if !has("iperf", "several_clients_are_served_at_once") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    let port = serving.plain;
    let clients: Vec<_> = (0..6)
        .map(|place| {
            thread::spawn(move || {
                let bytes = 50_000 * (place + 1);
                let line = format!("-c 127.0.0.1 -f B -u -p {port} -n {bytes} -b 2M -l 500");
                String::from_utf8_lossy(&run(&format!("iperf {line}")).stdout).into_owned()
            })
        })
        .collect();
    let mut theirs: Vec<IperfReport> =
        clients.into_iter().flat_map(|client| printed(&client.join().unwrap())).collect();
    sort(&mut theirs);
    let mut ours: Vec<IperfReport> = (0..6).map(|_| received(&serving.ends())).collect();
    sort(&mut ours);
    assert_same(&ours, &theirs, "six");
}
