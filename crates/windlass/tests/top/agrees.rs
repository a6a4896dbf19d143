//! A thousand connections that rest, beside what `ss -tin` says of each.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use windlass_base::whole_part;
use windlass_sys::limits::raise_open_files;
use windlass_sys::tcp_info::tcp_info;

use crate::{PATIENCE, checked, connection, connections, listener};
use windlass_testkit::{has, run, skipped, told};

/// Connections, each with two ends on this host.
const CONNECTIONS: usize = 1_000;

/// Figures of `ss` for a socket.
#[derive(Debug, PartialEq)]
struct ReportedConnection {
    acknowledged: u64,
    received: u64,
    /// In microseconds.
    rtt: u64,
    least_rtt: Option<u64>,
    window: u64,
    mss: u64,
    congestion: String,
    cookie: String,
}

/// The value behind a word of a line.
fn behind<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|part| part.strip_prefix(word))
}

/// The sockets of a port, by their two addresses.
fn ss(port: u16) -> BTreeMap<(String, String), ReportedConnection> {
    let filter = format!("sport = :{port} or dport = :{port}");
    let output = Command::new("ss").args(["-tineHO", "state", "established", &filter]).output();
    let (stdout, stderr, code) = told(&output.unwrap());
    assert_eq!((stderr.as_str(), code), ("", 0));
    let line = |line: &str| {
        let number = |word: &str| behind(line, word).map_or(0, |text| text.parse().unwrap());
        let micros = |text: &str| whole_part((text.parse::<f64>().unwrap() * 1e3).round());
        let words: Vec<&str> = line.split_whitespace().collect();
        let said = ReportedConnection {
            acknowledged: number("bytes_acked:"),
            received: number("bytes_received:"),
            rtt: behind(line, "rtt:").map_or(0, |text| micros(text.split('/').next().unwrap())),
            least_rtt: behind(line, "minrtt:").map(micros),
            window: number("cwnd:"),
            mss: number("mss:"),
            congestion: known(&words),
            cookie: behind(line, "sk:").unwrap().to_owned(),
        };
        ((words[2].to_owned(), words[3].to_owned()), said)
    };
    stdout.lines().map(line).collect()
}

/// The congestion control, which stands there as a word by itself.
fn known(words: &[&str]) -> String {
    let all = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let all = all.unwrap_or_default();
    let is_one = |word: &&&str| all.split_whitespace().any(|one| one == **word);
    words.iter().find(is_one).copied().unwrap_or_default().to_owned()
}

fn ours(connection: &Value) -> ((String, String), ReportedConnection) {
    let text = |name: &str| connection[name].as_str().unwrap().to_owned();
    let number = |name: &str| connection[name].as_u64().unwrap();
    let micros = |name: &str| connection[name].as_f64().map(|it| whole_part((it * 1e6).round()));
    let said = ReportedConnection {
        acknowledged: number("total_acknowledged_bytes"),
        received: number("total_received_bytes"),
        rtt: micros("rtt_seconds").unwrap_or(0),
        least_rtt: micros("min_rtt_seconds"),
        window: number("congestion_window_segments"),
        mss: number("mss_bytes"),
        congestion: text("congestion"),
        cookie: text("socket"),
    };
    ((text("local"), text("peer")), said)
}

#[test]
fn each_of_a_thousand_agrees_with_ss() {
    let test = "each_of_a_thousand_agrees_with_ss";
    if !has("ss", test) {
        return;
    }
    let files = raise_open_files();
    if files < 2 * CONNECTIONS as u64 + 200 {
        return skipped(test, &format!("a process may have {files} files open"));
    }
    let (listener, port) = listener();
    let mut ends: Vec<_> = (0..CONNECTIONS).map(|_| connection(&listener)).collect();
    for (place, (near, far)) in ends.iter_mut().enumerate() {
        // Each carries something else, and every third nothing.
        let bytes = vec![7; place % 3 * (place + 1)];
        near.write_all(&bytes).unwrap();
        far.read_exact(&mut vec![0; bytes.len()]).unwrap();
    }
    // Once all is acknowledged, and so are the answers, nothing moves any more.
    let since = Instant::now();
    for stream in ends.iter().flat_map(|(near, far)| [near, far]) {
        while tcp_info(stream).unwrap().unacknowledged > 0 {
            assert!(since.elapsed() < PATIENCE, "something is never acknowledged");
            std::thread::yield_now();
        }
    }
    let line = format!("top --once --interval 100ms --all --json --port {port}");
    let (stdout, stderr, code) = told(&run(&line));
    assert_eq!((stderr.as_str(), code), ("", 0));
    let theirs = ss(port);
    let record = checked("top", &stdout);
    let all: BTreeMap<_, _> = connections(&record).iter().map(ours).collect();
    assert_eq!((all.len(), theirs.len()), (2 * CONNECTIONS, 2 * CONNECTIONS));
    let wrong: Vec<_> = all.iter().filter(|(ends, said)| theirs.get(ends) != Some(said)).collect();
    let other = wrong.first().map(|(ends, _)| &theirs[ends]);
    assert!(wrong.is_empty(), "{} differ: {:#?} {other:#?}", wrong.len(), wrong[0]);
    // They rest, and all are this process's.
    let own = std::process::id();
    for connection in connections(&record) {
        assert_eq!(connection["process"]["pid"], own, "{connection:#}");
        assert!(connection["now"].is_null() && connection["sent_bytes"] == 0, "{connection:#}");
    }
    drop(ends);
}
