//! Connections that are over before anybody looks.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{PATIENCE, RunningTop, connection, connections, listener};

/// Number of connections, in total and at a time.
const CONNECTIONS: usize = 1_000;
const AT_ONCE: usize = 50;

/// Lifetime of each connection, and its data.
const OPEN: Duration = Duration::from_millis(5);
const BYTES: usize = 700;

#[test]
fn a_thousand_connections_of_five_milliseconds_are_all_counted() {
    let (listener, port) = listener();
    let mut running = RunningTop::start(&format!("--interval 200ms --port {port}"));
    for _ in 0..CONNECTIONS / AT_ONCE {
        let mut ends: Vec<_> = (0..AT_ONCE).map(|_| connection(&listener)).collect();
        for (near, far) in &mut ends {
            near.write_all(&[1; BYTES]).unwrap();
            far.read_exact(&mut [0; BYTES]).unwrap();
        }
        sleep(OPEN);
    }
    // Each has two ends here. What a busy machine had no room for is counted, too.
    let (mut ended, mut unheard) = (BTreeMap::<String, Value>::new(), 0);
    let since = Instant::now();
    while (ended.len() as u64 + unheard) < 2 * CONNECTIONS as u64 {
        let record = running.next();
        unheard += record["totals"]["unheard"].as_u64().unwrap();
        for connection in connections(&record).iter().filter(|it| it["closed"] == true) {
            let cookie = connection["socket"].as_str().unwrap().to_owned();
            assert!(ended.insert(cookie, connection.clone()).is_none(), "told twice: {connection}");
        }
        assert!(since.elapsed() < PATIENCE, "{} of {}, {unheard}", ended.len(), 2 * CONNECTIONS);
    }
    running.end("INT");
    if unheard == 0 {
        assert_eq!(ended.len(), 2 * CONNECTIONS);
    }
    // The last word has all that each carried, whether or not it was seen before.
    let senders: Vec<_> = ended.values().filter(|it| it["peer"] == end(port)).collect();
    assert!(unheard > 0 || senders.len() == CONNECTIONS, "{}", senders.len());
    for sender in &senders {
        // The SYN and the FIN count as a byte each.
        let bytes = sender["total_acknowledged_bytes"].as_u64().unwrap();
        assert!((BYTES as u64..=BYTES as u64 + 2).contains(&bytes), "{sender:#}");
        assert!(sender["rtt_seconds"].is_number() && sender["state"] == "closed", "{sender:#}");
    }
    // Most were never looked at.
    let short = ended.values().filter(|it| it["opened"] == true).count();
    assert!(short > ended.len() / 2, "{short} of {}", ended.len());
}

fn end(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

#[test]
fn what_was_seen_is_told_when_it_is_to_end() {
    for signal in ["INT", "TERM"] {
        let (listener, port) = listener();
        // It would last for an hour.
        let mut running = RunningTop::start(&format!("--interval 300ms --port {port}"));
        let (mut near, mut far) = connection(&listener);
        near.write_all(b"a page").unwrap();
        far.read_exact(&mut [0; 6]).unwrap();
        running.until("the connection is seen", |record| {
            let mut all = connections(record).iter();
            all.any(|it| it["peer"] == end(port) && it["sent_bytes"] == 6)
        });
        // It ends in order, with what it saw since then.
        // What goes on, and what is left of it; and what came while a busy machine kept this test
        // from its processors.
        let began = Instant::now();
        let told = running.end(signal).len() as f64;
        let intervals = began.elapsed().as_secs_f64() / 0.3;
        assert!(told <= 2.0 + intervals, "{told} in {intervals}");
    }
}
