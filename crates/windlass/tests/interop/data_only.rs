//! iperf 2 and ttcp: data and nothing else, both ways.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::peer::{ListeningPeer, WindlassServer, run, send, send_told};
use crate::{number, whole};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::port::free_port;
use windlass_testkit::{has, told, windlass};

/// The bytes of each connection that a server of iperf 2 printed.
fn counted(printed: &str) -> Vec<u64> {
    let lines = printed.lines().filter(|line| line.contains("sec") && !line.contains("SUM"));
    let bytes = lines.map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let place = words.iter().position(|word| *word == "Bytes").unwrap();
        // Small numbers come as `70.0`.
        words[place - 1].split('.').next().unwrap().parse().unwrap()
    });
    bytes.collect()
}

#[test]
fn an_iperf_server_counts_what_is_sent() {
    if !has("iperf", "an_iperf_server_counts_what_is_sent") {
        return;
    }
    for options in [
        "--time 1s",
        "--time 1s --streams 3",
        "--bytes 20MB",
        "--bytes 1000 --length 100",
        "--time 1s --window 64k --nodelay",
    ] {
        let server = ListeningPeer::start("iperf -s -f B -p PORT");
        let report = send(server.port, &format!("--protocol iperf {options}"));
        let printed = server.end();
        let way = &report["directions"][0];
        let sent = whole(way, "/sender/total_bytes");
        let counted = counted(&printed);
        assert_eq!(counted.iter().sum::<u64>(), sent, "{options}: {printed}\n{report:#}");
        let streams = if options.contains("streams") { 3 } else { 1 };
        assert_eq!(counted.len(), streams, "{printed}");
        // It tells nothing, and nothing is made up.
        assert_eq!((&way["receiver"], &report["latency"]), (&Value::Null, &Value::Null));
        assert!(way["verdict"].is_object());
    }
}

#[test]
fn a_client_of_iperf_is_served() {
    if !has("iperf", "a_client_of_iperf_is_served") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for options in ["-t 1", "-n 20M", "-n 1000 -l 100", "-t 1 -P 3", "-t 1 -e", "-t 1 -w 64K -N"] {
        let output = run(&format!("iperf -c 127.0.0.1 -f B -p {} {options}", serving.plain));
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{options}: {printed}");
        let mut theirs = counted(&printed);
        let mut ours: Vec<_> = theirs
            .iter()
            .map(|_| {
                let ends = serving.ends();
                assert_eq!(ends["protocol"], "iperf", "{ends:#}");
                assert_eq!(ends["failure"], Value::Null);
                whole(&ends, "/server/directions/0/bytes")
            })
            .collect();
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, theirs, "{options}: {printed}");
        assert!(ours[0] > 0);
    }
}

#[test]
fn a_client_of_iperf_gets_data_back_and_prints_what_was_sent() {
    if !has("iperf", "a_client_of_iperf_gets_data_back_and_prints_what_was_sent") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for (option, tests, ways) in [
        ("-R", 1, 1),
        ("--full-duplex", 1, 2),
        ("-d", 1, 2),
        ("-r", 1, 2),
        ("-d -P 2", 2, 2),
        ("-r -n 3M", 1, 2),
        ("-R -n 3M", 1, 1),
    ] {
        // With -d and -r it listens itself.
        let back = if option.starts_with("-d") || option.starts_with("-r") {
            format!("-L {}", free_port())
        } else {
            String::new()
        };
        let line = format!("iperf -c 127.0.0.1 -f B -p {} -t 1 {back} {option}", serving.plain);
        let output = run(&line);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{line}: {printed}");
        let mut ours = Vec::new();
        for _ in 0..tests {
            let ends = serving.ends();
            assert_eq!((&ends["protocol"], &ends["failure"]), (&"iperf".into(), &Value::Null));
            let directions = ends["server"]["directions"].as_array().unwrap();
            assert_eq!(directions.len(), ways, "{option}: {ends:#}");
            // What a client receives is counted to the end; so is what it sends.
            ours.extend(directions.iter().map(|one| whole(one, "/total_bytes")));
        }
        ours.sort_unstable();
        let mut theirs = counted(&printed);
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{option}: {printed}");
        if option.contains("-n") {
            assert!(ours.iter().all(|bytes| *bytes == 3 << 20), "{ours:?}");
        }
    }
}

#[test]
fn a_pace_that_a_client_of_iperf_asks_for_ends_with_its_time() {
    if !has("iperf", "a_pace_that_a_client_of_iperf_asks_for_ends_with_its_time") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    let line = format!("iperf -c 127.0.0.1 -f B -p {} -t 1 -R -b 8M", serving.plain);
    let began = Instant::now();
    let printed = String::from_utf8_lossy(&run(&line).stdout).into_owned();
    let ends = serving.ends();
    let took = began.elapsed().as_secs_f64();
    let sent = whole(&ends, "/server/directions/0/total_bytes");
    assert_eq!(counted(&printed), [sent], "{printed}");
    // iperf's M are 2^20 bits: 1,048,576 bytes a second, and no send buffer full of more behind a
    // first flight of ten segments.
    let most = 1_048_576.0 * took + 10.0 * 65_535.0;
    assert!(sent > 0 && (sent as f64) < most, "{sent} of {most}");
}

#[test]
fn a_client_of_iperf_that_asks_who_serves_it_is_answered() {
    if !has("iperf", "a_client_of_iperf_that_asks_who_serves_it_is_answered") {
        return;
    }
    let serving = WindlassServer::start(&[]);
    for options in ["-X -n 1M", "-X -n 1M --trip-times", "-X -R -n 1M"] {
        let output = run(&format!("iperf -c 127.0.0.1 -f B -p {} {options}", serving.plain));
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let ends = serving.ends();
        let ours = whole(&ends, "/server/directions/0/total_bytes");
        assert_eq!(counted(&printed), [ours], "{options}: {printed}");
    }
}

#[test]
fn requests_of_iperf_are_answered_when_they_are_to_be() {
    let test = "requests_of_iperf_are_answered_when_they_are_to_be";
    if !has("iperf", test) {
        return;
    }
    let serving = WindlassServer::start(&[]);
    let asked = |options: &str| {
        let line = format!("iperf -c 127.0.0.1 -p {} -t 1 --bounceback {options}", serving.plain);
        let (stdout, stderr, code) = told(&run(&line));
        assert_eq!(code, 0, "{options}: {stderr}");
        assert_eq!(serving.heeds()["event"], "echoes");
        stdout
    };
    // The least of a line such as `10=0.492/0.050/1.578/0.437 ms`.
    let least = |printed: &str| -> f64 {
        let word = printed.split_whitespace().filter(|word| word.matches('/').count() == 3);
        let mut times =
            word.filter_map(|word| word.split_once('=')?.1.split('/').nth(1)?.parse().ok());
        times.next_back().unwrap_or_else(|| panic!("{printed}"))
    };
    in_real_time(test, || {
        let plain = asked("");
        assert!(least(&plain) < 20.0, "{plain}");
    });
    // One that is to be held back by 30 ms takes as long at the least.
    let held = asked("-l 300 --bounceback-hold 30");
    assert!(least(&held) >= 30.0 && held.contains("len/hold=300/30000"), "{held}");
    // Of the server's clock it says what it is: both ends are one machine.
    let began = Instant::now();
    let timed = asked("--trip-times");
    let took = began.elapsed().as_secs_f64() * 1e3;
    let delays = timed.lines().find(|line| line.contains("OWD Delays")).unwrap();
    let to = delays.split("To=").nth(1).and_then(|rest| rest.split('/').next());
    let to: f64 = to.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{delays}"));
    assert!((0.0..took).contains(&to), "{delays} in {took} ms");
}

/// Acts as `ttcp -r`: reads one connection after the other to its end, and returns the bytes.
fn ttcp_receiver(connections: usize) -> (u16, thread::JoinHandle<Vec<u64>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let receiving = thread::spawn(move || {
        let mut counts = Vec::new();
        for stream in listener.incoming().take(connections) {
            let (mut count, mut buffer) = (0, [0; 8_192]);
            let mut stream = stream.unwrap();
            loop {
                match stream.read(&mut buffer).unwrap() {
                    0 => break,
                    bytes => count += bytes as u64,
                }
            }
            counts.push(count);
        }
        counts
    });
    (port, receiving)
}

#[test]
fn ttcp_gets_what_it_counts() {
    let (port, receiving) = ttcp_receiver(3);
    let report = send(port, "--protocol ttcp");
    let way = &report["directions"][0];
    assert_eq!(whole(way, "/sender/bytes"), 2_048 * 8_192);
    assert_eq!(report["transfer"]["length"], 8_192);
    assert!(
        (number(way, "/ttcp/kilobytes_per_second") * 1_024.0
            / number(way, "/sender/bytes_per_second")
            - 1.0)
            .abs()
            < 1e-9
    );
    send(port, "--protocol ttcp --bytes 16384x8192");
    let timed = send(port, "--protocol ttcp --time 500ms");
    let counts = receiving.join().unwrap();
    let sent = whole(&timed["directions"][0], "/sender/total_bytes");
    assert_eq!(counts, [16_777_216, 134_217_728, sent]);
}

#[test]
fn what_ttcp_sends_is_kept_as_its_receiver_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.prn");
    let data: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let serving = WindlassServer::start(&["--once", "--output", path.to_str().unwrap()]);
    TcpStream::connect(("127.0.0.1", serving.plain)).unwrap().write_all(&data).unwrap();
    assert_eq!(whole(&serving.ends(), "/server/directions/0/bytes"), 3_000_000);
    assert!(std::fs::read(&path).unwrap() == data);
    // A full disk is no good end.
    let serving = WindlassServer::start(&["--once", "--output", "/dev/full"]);
    // The server may close before all is written.
    let _ = TcpStream::connect(("127.0.0.1", serving.plain)).unwrap().write_all(&data);
    assert!(serving.ends()["server"]["directions"][0]["error"].is_string());
}

#[test]
fn ttcp_is_served_one_client_after_the_other() {
    let serving = WindlassServer::start(&[]);
    // A client whose whole data is shorter than what tells iperf apart, too.
    for (writes, length) in [(2_048, 8_192), (100, 1_000), (1, 1), (1, 40)] {
        let mut stream = TcpStream::connect(("127.0.0.1", serving.plain)).unwrap();
        // ttcp's pattern: the printable letters.
        let pattern: Vec<u8> = (b' '..0x7f).cycle().take(length).collect();
        for _ in 0..writes {
            stream.write_all(&pattern).unwrap();
        }
        drop(stream);
        let ends = serving.ends();
        assert_eq!((&ends["protocol"], &ends["failure"]), (&"ttcp".into(), &Value::Null));
        assert_eq!(whole(&ends, "/server/directions/0/bytes"), (writes * length) as u64);
    }
    // A look whether somebody listens is no test.
    drop(TcpStream::connect(("127.0.0.1", serving.plain)).unwrap());
    // windlass to windlass in this protocol.
    let report = send(serving.plain, "--protocol ttcp --bytes 1MB");
    assert_eq!(whole(&report, "/directions/0/sender/bytes"), 1_000_000);
    assert_eq!(whole(&serving.ends(), "/server/directions/0/bytes"), 1_000_000);
}

/// Tests of 100 kB each to a port, until it is interrupted.
fn continuous(port: u16, stdout: Stdio) -> Child {
    windlass()
        .args(["send", "127.0.0.1", "--protocol", "ttcp", "--continuous", "--json"])
        .args(["--port", &port.to_string(), "--bytes", "100kB"])
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}

#[test]
fn a_continuous_test_begins_anew_until_ctrl_c() {
    let serving = WindlassServer::start(&[]);
    let mut child = continuous(serving.plain, Stdio::piped());
    for _ in 0..3 {
        assert_eq!(whole(&serving.ends(), "/server/directions/0/bytes"), 100_000);
    }
    interrupt(&child);
    let mut printed = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "it was asked to end so");
    let reports = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let whole_ones = reports.filter(|report| report["interrupted"] == false);
    assert!(whole_ones.count() >= 2, "{printed}");
}

/// `ttcp -r` in a shell's loop ends behind each test, and a client that is quick stands in
/// line at the one that ends: it is reset.
#[test]
fn a_receiver_that_is_started_anew_for_each_test_may_reset_the_next() {
    let mut listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let printed = tempfile::NamedTempFile::new().unwrap();
    // A pipe that nobody reads meanwhile would be full.
    let child = continuous(address.port(), printed.reopen().unwrap().into());
    for test in 0..20 {
        let mut count = 0;
        while count == 0 {
            // What stood in line and has gone says nothing.
            count = std::io::copy(&mut listener.accept().unwrap().0, &mut std::io::sink())
                .unwrap_or_default();
        }
        assert_eq!(count, 100_000, "test {test}");
        let in_line = socket2::Socket::from(listener.accept().unwrap().0);
        in_line.set_linger(Some(Duration::ZERO)).unwrap();
        drop((in_line, listener));
        listener = again(address);
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""));
    let printed = std::fs::read_to_string(printed.path()).unwrap();
    let reports = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let whole_ones = reports.filter(|report| report["interrupted"] == false);
    assert!(whole_ones.filter(|report| report["failure"].is_null()).count() >= 19, "{printed}");
}

#[test]
fn a_receiver_that_goes_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let going = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 1_000]).unwrap();
        thread::sleep(Duration::from_millis(100));
        // With data unread this is a reset.
    });
    let (stdout, stderr, code) = send_told(port, "--protocol ttcp --time 30s --json");
    going.join().unwrap();
    assert_eq!(code, 1);
    assert!(stderr.contains("a stream failed: "), "{stderr}");
    assert!(serde_json::from_str::<Value>(&stdout).unwrap()["failure"].is_string());
    let (_, stderr, code) = send_told(port, "--protocol ttcp");
    assert_eq!(code, 1);
    assert!(stderr.contains("Start ttcp -r on the host"), "{stderr}");
}

/// Listens on an address that was free: a connection of another test may have its port for a
/// moment.
fn again(address: std::net::SocketAddr) -> TcpListener {
    let began = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                assert!(began.elapsed() < Duration::from_secs(60), "{error}");
                thread::sleep(Duration::from_millis(5));
            }
            listener => return listener.unwrap(),
        }
    }
}
