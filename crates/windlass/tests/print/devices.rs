//! Emulated devices, in networks that the runs make.

use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use super::judged;
use super::support::{clock, skipped, told, windlass};

fn in_device(profile: &str, line: &str) -> Output {
    windlass()
        .args(["device", "run", "--json", "--report", "/dev/null", profile, "--"])
        .arg(env!("CARGO_BIN_EXE_windlass"))
        .args(["print", "--json"])
        .args(line.split_whitespace())
        .output()
        .unwrap()
}

/// Whether a device can run here. Where not, the test says that it is skipped.
fn devices(test: &str) -> bool {
    let output = windlass().args(["device", "run", "healthy", "--", "true"]).output().unwrap();
    let (_, stderr, code) = told(&output);
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no network can be made"));
    }
    code == 0
}

fn cause(verdict: &Value) -> String {
    let word = |name: &str| verdict[name].as_str().unwrap_or("-").to_owned();
    format!("{} / {}", word("limit"), word("because"))
}

#[test]
fn each_protocol_finds_the_devices_limit() {
    let test = "each_protocol_finds_the_devices_limit";
    if !devices(test) {
        return;
    }
    clock::in_real_time(test, || {
        for to in ["192.0.2.2 --protocol raw", "lpd://192.0.2.2/lp"] {
            // The kernel's smoothed round trip takes seconds to be that of the device.
            let line = format!("{to} --payload zeros --bytes 120000 --explain --interval 500ms");
            let printed = judged(&in_device("hawking-h-ps1u", &line), Duration::ZERO);
            assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{to}");
            let report = &printed.report;
            // The document: 24,801 B/s.
            let rate = report["transfer"]["bytes_per_second"].as_f64().unwrap();
            assert!((22e3..27e3).contains(&rate), "{to}: {rate}");
            assert_eq!(cause(&report["verdict"]), "receiver-window / ack-latency", "{to}");
            let connection = &report["packets"]["connection"];
            assert_eq!(cause(&connection["verdict"]), "receiver-window / ack-latency", "{to}");
            assert_eq!(report["transfer"]["connection"]["sender"]["most_peer_window_bytes"], 2_920);
            assert_eq!(report["transfer"]["acknowledged_bytes"], 120_000);
        }
    });
}

#[test]
fn a_small_send_buffer_is_told_by_the_packets() {
    let test = "a_small_send_buffer_is_told_by_the_packets";
    if !devices(test) {
        return;
    }
    clock::in_real_time(test, || {
        let line = "socket://192.0.2.2:35 --payload zeros --bytes 60000 --send-buffer 2k --explain";
        let printed = judged(&in_device("imagen-v2", line), Duration::ZERO);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
        let report = &printed.report;
        assert_eq!(report["transfer"]["asked_send_buffer_bytes"], 2_048);
        let verdict = &report["packets"]["connection"]["verdict"];
        assert_eq!(verdict["limit"], "send-buffer", "{verdict:#}");
        // The document's cure: a buffer as large as the printer's window.
        assert_eq!(verdict["remedies"][0]["value"], 6_144.0, "{verdict:#}");
    });
}
