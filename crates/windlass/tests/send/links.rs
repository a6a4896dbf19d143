//! Transfers over emulated links, where what holds them back is known.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{limit, number};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::linked::sent;
use windlass_testkit::schema::checked;
use windlass_testkit::{skipped, told, windlass};

/// The report of a transfer over a link; nothing where links cannot be made.
fn over(test: &str, link: &[&str], send: &str) -> Option<Value> {
    let peer = format!("'{}' serve --once", env!("CARGO_BIN_EXE_windlass"));
    sent(test, &link.join(" "), &peer, &format!("--congestion cubic {send}"))
}

#[test]
fn a_window_is_told_from_the_path() {
    let test = "a_window_is_told_from_the_path";
    in_real_time(test, || {
        let link = ["--rate", "100mbit", "--rtt", "20ms"];
        let Some(small) = over(test, &link, "--time 2s --window 32k") else { return };
        assert_eq!(limit(&small), "receiver-window / path-rtt", "{small:#}");
        let rate = number(&small, "/directions/0/receiver/bytes_per_second");
        // 32 KiB in 20 ms are 1.64 MB/s; whole segments are a little less.
        assert!((1.2e6..1.7e6).contains(&rate), "{rate}");
        let predicted = number(&small, "/directions/0/verdict/predicted_bytes_per_second");
        assert!((predicted / rate - 1.0).abs() < 0.15, "{predicted} {rate}");
        let sender = "/directions/0/sender/streams/0/sender";
        // For a moment it may be more, where the receiver says the clamp late.
        let advertised = number(&small, &format!("{sender}/mean_peer_window_bytes"));
        assert!((28_000.0..=36_000.0).contains(&advertised), "{advertised}");
        let Some(large) = over(test, &link, "--time 3s --omit 1s --window 1M") else { return };
        assert_eq!(limit(&large), "path-capacity / queue", "{large:#}");
        let rate = number(&large, "/directions/0/receiver/bytes_per_second");
        assert!((9e6..12.5e6).contains(&rate), "{rate}");
    });
}

#[test]
fn a_send_buffer_is_told_from_the_congestion_window() {
    let test = "a_send_buffer_is_told_from_the_congestion_window";
    in_real_time(test, || {
        let link = ["--rate", "100mbit", "--rtt", "20ms"];
        let Some(report) = over(test, &link, "--time 3s --omit 1s --send-buffer 8k") else {
            return;
        };
        assert_eq!(limit(&report), "send-buffer / path-rtt", "{report:#}");
        let rate = number(&report, "/directions/0/receiver/bytes_per_second");
        // One segment of the stack at a time, and the line carries 12.5 MB/s.
        assert!((0.5e6..8e6).contains(&rate), "{rate}");
        let Some(own) = over(test, &link, "--time 3s --omit 1s") else { return };
        assert_ne!(own["directions"][0]["verdict"]["limit"], "send-buffer", "{own:#}");
    });
}

#[test]
fn several_streams_carry_several_windows() {
    let test = "several_streams_carry_several_windows";
    in_real_time(test, || {
        let link = ["--rate", "100mbit", "--rtt", "40ms"];
        let Some(report) = over(test, &link, "--time 2s --window 16k --streams 4") else { return };
        let rate = number(&report, "/directions/0/receiver/bytes_per_second");
        assert!((1.2e6..1.7e6).contains(&rate), "4 × 16 KiB in 40 ms are 1.64 MB/s: {rate}");
        assert_eq!(limit(&report), "receiver-window / path-rtt");
    });
}

#[test]
fn many_streams_begin_over_a_long_path() {
    let test = "many_streams_begin_over_a_long_path";
    in_real_time(test, || {
        let link = ["--rate", "20mbit", "--rtt", "600ms", "--queue", "1M"];
        let send = "--bytes 160k --streams 16 --no-latency";
        let Some(report) = over(test, &link, send) else { return };
        let streams = report["directions"][0]["sender"]["streams"].as_array().unwrap();
        assert_eq!(streams.len(), 16);
    });
}

#[test]
fn the_server_sends_and_its_kernel_is_heard() {
    let test = "the_server_sends_and_its_kernel_is_heard";
    in_real_time(test, || {
        let link = ["--rate", "100mbit", "--rtt", "20ms"];
        let send = "--time 2s --reverse --window 32k";
        let Some(report) = over(test, &link, send) else { return };
        assert_eq!(report["directions"][0]["from"], "server");
        assert_eq!(limit(&report), "receiver-window / path-rtt", "{report:#}");
        let intervals = report["intervals"].as_array().unwrap();
        let told = intervals.iter().filter(|one| one["end"] == "server");
        assert!(told.clone().count() >= 2);
        assert!(told.clone().all(|one| one["sender"]["rtt_seconds"].is_number()));
    });
}

#[test]
fn a_queue_that_marks_is_named() {
    let test = "a_queue_that_marks_is_named";
    in_real_time(test, || {
        let (program, link) = (env!("CARGO_BIN_EXE_windlass"), "--rate 20mbit --rtt 20ms");
        // Linux asks for ECN only where it is told to (ip-sysctl, tcp_ecn).
        let send = format!(
            "echo 1 >/proc/sys/net/ipv4/tcp_ecn; exec '{program}' send 192.0.2.2 --json --time 3s \
             --congestion cubic"
        );
        let peer = format!("'{program}' serve --once");
        let mut command = windlass();
        command.args(["link", "--mark", "5ms", "--report", "/dev/null", "--peer", &peer]);
        command.args(link.split_whitespace()).args(["--", "sh", "-c", &send]);
        let (stdout, stderr, code) = told(&command.output().unwrap());
        if code != 0 && stdout.is_empty() {
            return skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
        }
        let report = checked("send", &stdout);
        assert_eq!(limit(&report), "path-capacity / marks", "{report:#}");
        assert_eq!(report["directions"][0]["verdict"]["confidence"], "medium");
        let marked = "/directions/0/sender/streams/0/sender/marked_segments";
        assert!(number(&report, marked) > 0.0, "{report:#}");
    });
}

#[test]
fn loss_is_named() {
    let test = "loss_is_named";
    in_real_time(test, || {
        let link = ["--rate", "100mbit", "--rtt", "20ms", "--up-loss", "3%"];
        let Some(report) = over(test, &link, "--time 3s") else { return };
        assert_eq!(limit(&report), "loss / fast-recovery", "{report:#}");
    });
}

#[test]
fn a_slow_pace_is_kept_from_the_start_to_the_end() {
    let test = "a_slow_pace_is_kept_from_the_start_to_the_end";
    in_real_time(test, || {
        for protocol in ["windlass", "iperf3"] {
            let began = Instant::now();
            let send = format!("--time 3s --pace 500kbit --protocol {protocol}");
            let link = ["--rate", "100mbit", "--rtt", "20ms"];
            let Some(report) = over(test, &link, &send) else { return };
            let bytes = number(&report, "/directions/0/sender/total_bytes");
            // 500 kbit/s for 3 s are 187,500 B.
            assert!((170_000.0..195_000.0).contains(&bytes), "{protocol}: {bytes}");
            let took = began.elapsed();
            assert!(took < Duration::from_secs(6), "{protocol}: {took:?}");
        }
    });
}

#[test]
fn a_pace_and_an_idle_program_are_the_applications() {
    let test = "a_pace_and_an_idle_program_are_the_applications";
    in_real_time(test, || {
        let link = ["--rate", "100mbit", "--rtt", "5ms"];
        let Some(report) = over(test, &link, "--time 2s --pace 10mbit") else { return };
        assert_eq!(limit(&report), "application / sender-idle", "{report:#}");
        let rate = number(&report, "/directions/0/receiver/bytes_per_second");
        assert!((1.0e6..1.3e6).contains(&rate), "{rate}");
    });
}

#[test]
fn latency_under_load_shows_the_queue() {
    let test = "latency_under_load_shows_the_queue";
    in_real_time(test, || {
        let link = ["--rate", "20mbit", "--rtt", "5ms", "--queue", "200k"];
        let Some(report) = over(test, &link, "--time 3s --omit 1s") else { return };
        let idle = number(&report, "/latency/idle_seconds/p50");
        let loaded = number(&report, "/latency/loaded_seconds/p50");
        // 200 kB at 2.5 MB/s are 80 ms.
        assert!(idle < 0.03 && loaded > idle + 0.02, "{idle} {loaded}");
        assert_eq!(limit(&report), "path-capacity / queue");
    });
}
