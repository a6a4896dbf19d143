//! Emulated devices, in networks that the runs make.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use super::{PrintResult, judged};
use windlass_testkit::{clock, devices, has, repository, windlass};

/// A system that gives a send buffer of 4 KiB, as 4.2BSD gave 2: there is one in
/// each network namespace.
const SMALL: &str = r#"echo 4096 4096 4096 > /proc/sys/net/ipv4/tcp_wmem && exec "$@""#;

/// The IMAGEN printer as one whose ACK is for more than three fifths of its
/// window: the document does not say for how much, and Linux has no buffer that
/// holds less than half.
fn imagen(folder: &Path) -> String {
    let profile = repository("crates/windlass-lab/profiles/imagen-v2.toml");
    let profile = fs::read_to_string(profile).unwrap();
    assert!(profile.contains(r#"share = "35 %""#), "{profile}");
    let path = folder.join("imagen.toml");
    fs::write(&path, profile.replace(r#"share = "35 %""#, r#"share = "60 %""#)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Prints so many zeros from such a system to a device. `before` is what the
/// command is run by, `device` what is said to the device.
fn from_small(profile: &str, device: &[&str], before: &[&str], line: &str) -> PrintResult {
    let output = windlass()
        .args(["device", "run", "--json", "--report", "/dev/null", profile])
        .args(device)
        .args(["--", "sh", "-c", SMALL, "sh"])
        .args(before)
        .arg(env!("CARGO_BIN_EXE_windlass"))
        .args(["print", "--json", "socket://192.0.2.2:35", "--payload", "zeros"])
        .args(line.split_whitespace())
        .output()
        .unwrap();
    judged(&output, Duration::ZERO)
}

fn in_device(profile: &str, line: &str) -> Output {
    windlass()
        .args(["device", "run", "--json", "--report", "/dev/null", profile, "--"])
        .arg(env!("CARGO_BIN_EXE_windlass"))
        .args(["print", "--json"])
        .args(line.split_whitespace())
        .output()
        .unwrap()
}

pub(super) fn cause(verdict: &Value) -> String {
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
            assert_eq!(report["transfer"]["connection"]["sender"]["max_peer_window_bytes"], 2_920);
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

#[test]
fn a_job_learns_what_send_buffer_the_printer_needs() {
    let test = "a_job_learns_what_send_buffer_the_printer_needs";
    if !devices(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let printer = imagen(folder.path());
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value}"));
    clock::in_real_time(test, || {
        let printed = from_small(&printer, &[], &[], "--bytes 150000 --send-buffer auto");
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
        let (choice, transfer) = (&printed.report["send_buffer"], &printed.report["transfer"]);
        assert_eq!(choice["outcome"], "raised", "{choice:#}");
        assert_eq!(choice["by"], "packets", "{choice:#}");
        assert_eq!(choice["limit"], "send-buffer", "{choice:#}");
        // The document's cure, N >= M; Linux doubles it.
        assert_eq!(choice["needed_bytes"], 6_144);
        assert_eq!(
            (&choice["before_bytes"], &choice["granted_bytes"]),
            (&4_096.into(), &12_288.into())
        );
        assert_eq!(transfer["asked_send_buffer_bytes"], 6_144);
        assert_eq!(transfer["connection"]["granted_send_buffer_bytes"], 12_288);
        // What Linux holds in 4 KiB, half of the window, for each half second; then
        // a window for each round trip.
        let before = number(&choice["bytes_per_second_before"]);
        let after = number(&choice["bytes_per_second_after"]);
        assert!((5e3..8e3).contains(&before), "{choice:#}");
        assert!(after > 10.0 * before, "{choice:#}");
        // Each byte once.
        assert_eq!(transfer["acknowledged_bytes"], 150_000);
        assert_eq!(printed.report["document"]["read_bytes"], 150_000);
    });
}

#[test]
fn the_next_job_is_told_what_the_last_one_learned() {
    let test = "the_next_job_is_told_what_the_last_one_learned";
    if !devices(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let printer = imagen(folder.path());
    let keep = folder.path().join("first.pcapng").to_str().unwrap().to_owned();
    clock::in_real_time(test, || {
        // Over before it can be judged, and so for the next one.
        let keeping = ["--keep", keep.as_str()];
        let line = "--bytes 24000 --send-buffer auto --explain";
        let first = from_small(&printer, &keeping, &[], line);
        assert_eq!(first.code, 0, "{}", first.stderr);
        let choice = &first.report["send_buffer"];
        assert_eq!(choice["outcome"], "too-late", "{choice:#}");
        assert_eq!(choice["needed_bytes"], 6_144, "{choice:#}");
        let rate = first.report["transfer"]["bytes_per_second"].as_f64().unwrap();
        let report = folder.path().join("first.json");
        fs::write(&report, first.report.to_string()).unwrap();
        for told in [keep.as_str(), report.to_str().unwrap()] {
            let line = format!("--bytes 24000 --send-buffer auto:{told}");
            let next = from_small(&printer, &[], &[], &line);
            assert_eq!((next.code, next.stderr.as_str()), (0, ""), "{told}");
            let choice = &next.report["send_buffer"];
            assert_eq!((&choice["outcome"], &choice["by"]), (&"set".into(), &"file".into()));
            assert_eq!(choice["file"], told);
            assert_eq!(choice["granted_bytes"], 12_288, "{choice:#}");
            let fast = next.report["transfer"]["bytes_per_second"].as_f64().unwrap();
            assert!(fast > 10.0 * rate, "{told}: {rate} and then {fast}");
        }
    });
}

#[test]
fn where_no_packets_may_be_captured_the_kernel_tells() {
    let test = "where_no_packets_may_be_captured_the_kernel_tells";
    if !devices(test) || !has("setpriv", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let printer = imagen(folder.path());
    clock::in_real_time(test, || {
        let without = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"];
        let line = "--bytes 150000 --send-buffer auto";
        let printed = from_small(&printer, &[], &without, line);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
        let choice = &printed.report["send_buffer"];
        let why = choice["without_packets"].as_str().unwrap();
        assert!(why.contains("CAP_NET_RAW"), "{why}");
        assert_eq!((&choice["outcome"], &choice["by"]), (&"raised".into(), &"kernel".into()));
        assert_eq!(choice["needed_bytes"], 6_144, "{choice:#}");
        assert_eq!(choice["granted_bytes"], 12_288, "{choice:#}");
        let report = &printed.report;
        assert_eq!((&report["verdict_by"], &report["packets"]), (&"kernel".into(), &Value::Null));
        let why = report["without_packets"].as_str().unwrap();
        assert!(why.contains("CAP_NET_RAW"), "{why}");
        assert_eq!(report["verdict"], report["kernel_verdict"]);
        // Who wants no capture has none, and no reason is given.
        let printed = judged(
            &in_device(
                "hawking-h-ps1u",
                "192.0.2.2 --protocol raw --payload zeros --bytes 30000 --no-packets",
            ),
            Duration::ZERO,
        );
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
        let report = &printed.report;
        assert_eq!((&report["verdict_by"], &report["packets"]), (&"kernel".into(), &Value::Null));
        assert_eq!(report["without_packets"], Value::Null);
    });
}

#[test]
fn a_buffer_that_is_not_the_limit_is_left_alone() {
    let test = "a_buffer_that_is_not_the_limit_is_left_alone";
    if !devices(test) {
        return;
    }
    clock::in_real_time(test, || {
        let line = "socket://192.0.2.2 --payload zeros --bytes 60000 --send-buffer auto";
        let printed = judged(&in_device("hawking-h-ps1u", line), Duration::ZERO);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
        let choice = &printed.report["send_buffer"];
        assert_eq!(choice["outcome"], "not-the-limit", "{choice:#}");
        assert_eq!(choice["limit"], "receiver-window", "{choice:#}");
        assert_eq!(choice["needed_bytes"], Value::Null);
        assert_eq!(printed.report["transfer"]["asked_send_buffer_bytes"], Value::Null);
    });
}
